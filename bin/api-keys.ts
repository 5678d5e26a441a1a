import { type Clock, newId, timestamp } from '#shared/platform/base/clock.ts'
import { type ApiKeyItem, makeApiKey } from '#shared/platform/identity/api-key.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Change, Table } from '#shared/platform/table/table.ts'
import { tenantPattern } from '#shared/settings/tenant-pattern.ts'
import { auditOfOperator, itemsOf } from './tenant-records.ts'

/** The public fields of a key: everything but its secret. */
export type ApiKeyLine = Omit<ApiKeyItem, 'pk' | 'sk' | 'secret_hash'>

/** A new key, which cannot be read again, and its public fields. */
type CreatedKey = ApiKeyLine & { key: string }

const inactive = 'there is no such key, or it is not active'

/**
 * Returns the scopes of a command line.
 * @param known the scopes of the deployment, separated by spaces
 * @throws Error for no scopes, or for one that the deployment does not know
 */
export function scopesOf(text: string | undefined, known: string): string[] {
  const scopes = [...new Set((text ?? '').split(' ').filter(Boolean))]
  const unknown = scopes.filter((scope) => !known.split(' ').includes(scope))
  if (scopes.length === 0) throw new Error(`--scope is required. The scopes are: ${known}`)
  if (unknown.length > 0) throw new Error(`unknown scope: ${unknown.join(' ')}. The scopes are: ${known}`)
  return scopes
}

/**
 * Creates a key with the role Service in a tenant.
 * @param changes written in the same transaction
 */
export async function make(
  table: Table,
  clock: Clock,
  { tenant, name, scopes }: { tenant: string; name: string; scopes: string[] },
  { action = 'api_key.make', changes = [] }: { action?: string; changes?: readonly Change[] } = {},
): Promise<CreatedKey> {
  if (!tenantPattern.test(tenant)) throw new Error(`the tenant does not match ${tenantPattern.source}`)
  const key = { tenant, key_id: newId(clock), name, scopes, created_at: timestamp(clock.now()) }
  const { text, item } = makeApiKey(key, clock.randomBytes(32))
  const entry = { action, target: `api_key/${item.key_id}`, after: { scopes } }
  const audit = auditOfOperator(tenant, entry, clock)
  const rejection = await table.transact([{ item, condition: { absent: true } }, ...changes, audit])
  if (rejection) throw new Error(inactive)
  return { key: text, ...lineOf(item) }
}

/** Yields the keys of a tenant, oldest first. */
export async function* list(table: Table, tenant: string): AsyncGenerator<ApiKeyLine> {
  for await (const item of itemsOf(table, tenant, 'api_key')) yield lineOf(item as unknown as ApiKeyItem)
}

/**
 * Creates a key with the name and scopes of an active one.
 * @param overlapSeconds how long the old key stays valid; it does not expire if undefined
 */
export async function rotate(
  table: Table,
  clock: Clock,
  { tenant, id, overlapSeconds }: { tenant: string; id: string; overlapSeconds: number | undefined },
): Promise<CreatedKey> {
  const old = (await table.get(keyOf(tenant, 'api_key', id))) as ApiKeyItem | undefined
  if (old?.state !== 'active') throw new Error(inactive)
  const end =
    overlapSeconds === undefined ? {} : { valid_until: timestamp(clock.now() + overlapSeconds * 1000) }
  const ending = changeOfActive(tenant, id, { ...end, state: 'active' })
  const { name, scopes } = old
  return make(table, clock, { tenant, name, scopes }, { action: 'api_key.rotate', changes: [ending] })
}

/** Revokes a key. @throws Error if no such key is active */
export async function revoke(table: Table, clock: Clock, tenant: string, id: string): Promise<void> {
  const audit = auditOfOperator(tenant, { action: 'api_key.revoke', target: `api_key/${id}` }, clock)
  if (await table.transact([changeOfActive(tenant, id, { state: 'revoked' }), audit]))
    throw new Error(inactive)
}

function changeOfActive(tenant: string, id: string, set: Record<string, string>): Change {
  return { update: keyOf(tenant, 'api_key', id), set, condition: { matches: { state: 'active' } } }
}

function lineOf({ pk: _pk, sk: _sk, secret_hash: _hash, ...line }: ApiKeyItem): ApiKeyLine {
  return line
}
