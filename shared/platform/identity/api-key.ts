import { createHash, timingSafeEqual } from 'node:crypto'
import { isId } from '../base/clock.ts'
import { type Failure, fail } from '../base/failure.ts'
import { type Item, type Key, keyOf, tenantPattern } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Caller } from './caller.ts'

/** The stored form of a tenant's API key. The caller's credential cannot be derived from it. */
export interface ApiKeyItem extends Key {
  key_id: string
  tenant_id: string
  /** The id of the first key of a series of rotations. What a key did is repeated and owned by its successors. */
  principal_id: string
  /** Its purpose, as described by its creator. */
  name: string
  scopes: string[]
  secret_hash: string
  /** The last four characters, by which its holder recognizes the key. */
  last4: string
  /** An ending key was rotated and is valid until `valid_until`. */
  state: 'active' | 'ending' | 'revoked'
  created_at: string
  /** RFC 3339; absent if the key does not expire. */
  valid_until?: string
}

/** The credential that a caller sends. Secret scanners find its prefix. It names the item's key: one read suffices. */
interface ApiKeyCredential {
  tenant: string
  key_id: string
  secret: string
}

const prefix = 'ck_'
const secretPattern = /^[\w-]{43}$/

export function apiKeyText({ tenant, key_id, secret }: ApiKeyCredential): string {
  return `${prefix}${tenant}.${key_id}.${secret}`
}

/** Returns the parts of a key; undefined if the text is malformed. */
export function readApiKey(text: string): ApiKeyCredential | undefined {
  if (!text.startsWith(prefix)) return undefined
  // The name of a tenant may contain dots.
  const parts = text.slice(prefix.length).split('.')
  const [key_id = '', secret = ''] = parts.slice(-2)
  const tenant = parts.slice(0, -2).join('.')
  const wellFormed = tenantPattern.test(tenant) && isId(key_id) && secretPattern.test(secret)
  return wellFormed ? { tenant, key_id, secret } : undefined
}

/**
 * Returns the stored hash of a key. A fast hash suffices, and it is computed for every request. Slow hashes protect
 * guessable passwords, but 256 random bits cannot be guessed.
 */
function hashOfApiKey(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/**
 * Returns a new key, which is shown only once, and its item.
 * @param secret 32 random bytes
 */
export function makeApiKey(
  { tenant, key_id, principal_id = key_id, name, scopes, created_at }: NewApiKey,
  secret: Uint8Array,
): { text: string; item: ApiKeyItem & Item } {
  const text = apiKeyText({ tenant, key_id, secret: Buffer.from(secret).toString('base64url') })
  const item = {
    ...keyOf(tenant, 'api_key', key_id),
    ...{ key_id, tenant_id: tenant, principal_id, name, scopes, created_at },
    secret_hash: hashOfApiKey(text),
    last4: text.slice(-4),
    state: 'active' as const,
  }
  return { text, item }
}

export interface NewApiKey {
  tenant: string
  key_id: string
  /** That of the key it replaces; by default its own id. */
  principal_id?: string
  name: string
  scopes: string[]
  created_at: string
}

/** The issuer of this service's API keys, in addition to the issuers of its tokens. */
const apiKeyIssuer = 'urn:commerce-api:api-keys'

/**
 * Returns the caller of an API key: the role Service in the key's tenant.
 * @param now milliseconds since 1970
 * @throws AUTH.invalid_credentials if it is unknown, wrong, revoked or expired, after the same read
 */
export async function verifyApiKey(text: string, table: Table, now: number): Promise<Caller> {
  const credential = readApiKey(text)
  if (!credential) throw invalidKey()
  const { tenant, key_id } = credential
  const found = (await table.get(keyOf(tenant, 'api_key', key_id))) as ApiKeyItem | undefined
  const given = Buffer.from(hashOfApiKey(text))
  const stored = Buffer.from(found?.secret_hash ?? '-'.repeat(given.length))
  const equal = stored.length === given.length && timingSafeEqual(given, stored)
  if (!found || !equal || found.state === 'revoked' || hasExpired(found, now)) throw invalidKey()
  const sub = `api-key:${found.principal_id}`
  return {
    sub,
    tenant,
    role: 'Service',
    scopes: new Set(found.scopes),
    apiKey: key_id,
    claims: { iss: apiKeyIssuer, sub },
  }
}

/** @param now milliseconds since 1970 */
export function hasExpired({ valid_until }: Pick<ApiKeyItem, 'valid_until'>, now: number): boolean {
  return valid_until !== undefined && now > Date.parse(valid_until)
}

function invalidKey(): Failure {
  return fail('AUTH.invalid_credentials', { challenge: 'ApiKey realm="commerce-api"' })
}
