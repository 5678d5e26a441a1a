import { createHash } from 'node:crypto'
import { isUuidV7 } from '../ids/uuid-v7.ts'
import { type Item, type Key, keyOf } from '../table/keys.ts'
import { tenantPattern } from './tenant.ts'

/** An API key of a tenant, as it is stored: what the caller sends cannot be made from it. */
export interface ApiKeyItem extends Key {
  key_id: string
  tenant_id: string
  /** What it is for, in the words of who made it. */
  name: string
  scopes: string[]
  secret_hash: string
  /** The end of the key, by which its holder recognises it. */
  last4: string
  state: 'active' | 'revoked'
  created_at: string
  /** RFC 3339; absent when it does not end by itself. */
  valid_until?: string
}

/** What a caller sends. It begins so that a scanner of sources finds it, and names where it lies: one read finds it. */
export interface ApiKeyCredential {
  tenant: string
  key_id: string
  secret: string
}

const prefix = 'ck_'
const secretPattern = /^[\w-]{43}$/
const longest = 160

export function apiKeyText({ tenant, key_id, secret }: ApiKeyCredential): string {
  return `${prefix}${tenant}.${key_id}.${secret}`
}

/** The parts of a key; undefined of a text that cannot be one. */
export function readApiKey(text: string): ApiKeyCredential | undefined {
  if (!text.startsWith(prefix) || text.length > longest) return undefined
  // The name of a tenant may hold dots.
  const parts = text.slice(prefix.length).split('.')
  const [key_id = '', secret = ''] = parts.slice(-2)
  const tenant = parts.slice(0, -2).join('.')
  const wellFormed = tenantPattern.test(tenant) && isUuidV7(key_id) && secretPattern.test(secret)
  return wellFormed ? { tenant, key_id, secret } : undefined
}

/**
 * What is stored of a key. A fast hash is right here: a slow one protects what people choose and can be guessed, while
 * 256 random bits cannot, and this one is made for every request.
 */
export function hashOfApiKey(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/**
 * A new key, which is seen this once, and what is stored of it.
 * @param secret 32 random bytes
 */
export function makeApiKey(
  { tenant, key_id, name, scopes, created_at }: NewApiKey,
  secret: Uint8Array,
): { text: string; item: ApiKeyItem & Item } {
  const text = apiKeyText({ tenant, key_id, secret: Buffer.from(secret).toString('base64url') })
  const item = {
    ...keyOf(tenant, 'api_key', key_id),
    ...{ key_id, tenant_id: tenant, name, scopes, created_at },
    secret_hash: hashOfApiKey(text),
    last4: text.slice(-4),
    state: 'active' as const,
  }
  return { text, item }
}

export interface NewApiKey {
  tenant: string
  key_id: string
  name: string
  scopes: string[]
  created_at: string
}
