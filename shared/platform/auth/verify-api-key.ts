import { timingSafeEqual } from 'node:crypto'
import { type Failure, fail } from '../errors/failure.ts'
import { keyOf } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import { type ApiKeyItem, hashOfApiKey, readApiKey } from './api-key.ts'
import type { Caller } from './caller.ts'

/** The issuer of this service's API keys, in addition to the issuers of its tokens. */
export const apiKeyIssuer = 'urn:commerce-api:api-keys'

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
  const over = found?.valid_until !== undefined && now > Date.parse(found.valid_until)
  if (!found || !equal || over || found.state !== 'active') throw invalidKey()
  const sub = `api-key:${key_id}`
  return {
    sub,
    tenant,
    role: 'Service',
    scopes: new Set(found.scopes),
    apiKey: true,
    claims: { iss: apiKeyIssuer, sub },
  }
}

function invalidKey(): Failure {
  const headers = { 'WWW-Authenticate': 'ApiKey realm="commerce-api"' }
  return fail('AUTH.invalid_credentials', { headers })
}
