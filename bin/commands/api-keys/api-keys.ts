import { type Clock, newId, timestamp } from '#shared/platform/base/clock.ts'
import { type ApiKeyItem, hasExpired, makeApiKey, type NewApiKey } from '#shared/platform/identity/api-key.ts'
import { itemsOf } from '#shared/platform/listing/merge.ts'
import { keyOf, tenantPattern } from '#shared/platform/table/keys.ts'
import { type Change, inState, type Table } from '#shared/platform/table/table.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'

/** The public fields of a key: everything but its secret. */
type ApiKeyLine = Omit<ApiKeyItem, 'pk' | 'sk' | 'secret_hash' | 'state'> & {
  state: ApiKeyItem['state'] | 'expired'
}

/** A new key, which cannot be read again, and its public fields. */
type CreatedKey = ApiKeyLine & { key: string }

const inactive = 'there is no such key, or it is not active: `api-keys list` shows the states of all keys'

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

/** Creates a key with the role Service in a tenant. */
export async function createApiKey(
  operator: Operator,
  { tenant, name, scopes }: { tenant: string; name: string; scopes: string[] },
): Promise<CreatedKey> {
  if (!tenantPattern.test(tenant)) throw new Error(`the tenant does not match ${tenantPattern.source}`)
  const created = newKey({ tenant, name, scopes }, operator.clock)
  const audited = { action: 'api_key.create', target: `api_key/${created.item.key_id}`, after: { scopes } }
  return commitKey(operator, created, [auditOfOperator(operator, tenant, audited)])
}

/** Yields the keys of a tenant, oldest first. */
export async function* listApiKeys(table: Table, tenant: string, clock: Clock): AsyncGenerator<ApiKeyLine> {
  for await (const item of itemsOf(table, tenant, 'api_key')) {
    const line = lineOf(item as unknown as ApiKeyItem)
    const isOver = line.state !== 'revoked' && hasExpired(line, clock.now())
    yield isOver ? { ...line, state: 'expired' } : line
  }
}

/**
 * Replaces an active key by one with its name, scopes and principal.
 * @param overlapSeconds how long the old key stays valid; it does not expire if undefined
 * @throws Error if the key is revoked or expired, or ends already: a second rotation cannot prolong it
 */
export async function rotateApiKey(
  operator: Operator,
  { tenant, id, overlapSeconds }: { tenant: string; id: string; overlapSeconds: number | undefined },
): Promise<CreatedKey> {
  const { table, clock } = operator
  const old = (await table.get(keyOf(tenant, 'api_key', id))) as ApiKeyItem | undefined
  if (old?.state !== 'active') throw new Error(inactive)
  const { name, scopes, principal_id } = old
  const created = newKey({ tenant, name, scopes, principal_id }, clock)
  const set =
    overlapSeconds === undefined
      ? { state: 'active' }
      : { state: 'ending', valid_until: timestamp(clock.now() + overlapSeconds * 1000) }
  const ending: Change = { update: keyOf(tenant, 'api_key', id), set, condition: inState(['active']) }
  const audited = {
    action: 'api_key.rotate',
    target: `api_key/${id}`,
    before: { key_id: id },
    after: { key_id: created.item.key_id, scopes, overlap_seconds: overlapSeconds ?? null },
  }
  return commitKey(operator, created, [ending, auditOfOperator(operator, tenant, audited)])
}

/** Revokes a key that is active or ends later. @throws Error if there is no such key */
export async function revokeApiKey(operator: Operator, tenant: string, id: string): Promise<void> {
  const revoked: Change = {
    update: keyOf(tenant, 'api_key', id),
    set: { state: 'revoked' },
    condition: inState(['active', 'ending']),
  }
  const audit = auditOfOperator(operator, tenant, { action: 'api_key.revoke', target: `api_key/${id}` })
  if (await operator.table.transact([revoked, audit])) throw new Error(inactive)
}

function newKey(key: Omit<NewApiKey, 'key_id' | 'created_at'>, clock: Clock) {
  const named = { ...key, key_id: newId(clock), created_at: timestamp(clock.now()) }
  return makeApiKey(named, clock.randomBytes(32))
}

/** Stores a new key with the changes that belong to it. @throws Error if another process has ended the old key */
async function commitKey(
  { table }: Operator,
  { text, item }: ReturnType<typeof newKey>,
  changes: readonly Change[],
): Promise<CreatedKey> {
  if (await table.transact([{ item, condition: { absent: true } }, ...changes])) throw new Error(inactive)
  return { key: text, ...lineOf(item) }
}

function lineOf({ pk: _pk, sk: _sk, secret_hash: _hash, ...line }: ApiKeyItem): ApiKeyLine {
  return line
}
