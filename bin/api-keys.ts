import { parseArgs } from 'node:util'
import { type Clock, newId, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import { type ApiKeyItem, makeApiKey } from '#shared/platform/identity/api-key.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Change, Table } from '#shared/platform/table/table.ts'
import { tenantPattern } from '#shared/settings/register/authentication.ts'
import { needed, run } from './command.ts'
import { deployedStack, openTable, outputOf, stackUsage } from './deployment.ts'
import { itemsOf } from './entity-records.ts'
import { auditOfOperator } from './operator.ts'

const usage = `usage: npm run -s api-keys -- COMMAND --tenant T [--stack NAME]
  make --name PURPOSE --scope "SCOPE ..."   prints a new key, this once; it may do only what its scopes name
  list                                      prints one JSON line a key, never the key itself
  rotate --id KEY_ID [--overlap SECONDS]    prints a new key with the same scopes; the old one ends after the
                                            overlap, or stays valid until it is revoked
  revoke --id KEY_ID                        ends a key at once
${stackUsage}`

/** The public fields of a key: everything but its secret. */
export type ApiKeyLine = Omit<ApiKeyItem, 'pk' | 'sk' | 'secret_hash'>

/**
 * Returns the scopes of a command line.
 * @param known the scopes of the deployment, separated by spaces
 * @throws Error for no scopes, or for one that the deployment does not know
 */
export function scopesOf(text: string | undefined, known: string): string[] {
  const scopes = [...new Set((text ?? '').split(' ').filter(Boolean))]
  const unknown = scopes.filter((scope) => !known.split(' ').includes(scope))
  const advice = `The scopes are: ${known}`
  if (scopes.length === 0)
    throw new Error(`--scope is needed, as a key may do only what its scopes name. ${advice}`)
  if (unknown.length > 0) throw new Error(`unknown scope: ${unknown.join(' ')}. ${advice}`)
  return scopes
}

/** Creates a key with the role Service in a tenant. @returns the key, which cannot be read again */
export async function make(
  table: Table,
  clock: Clock,
  { tenant, name, scopes }: { tenant: string; name: string; scopes: string[] },
  along: readonly Change[] = [],
  action = 'api_key.make',
): Promise<{ key: string; line: ApiKeyLine }> {
  if (!tenantPattern.test(tenant)) throw new Error(`a tenant is called like ${tenantPattern.source}`)
  const made = { tenant, key_id: newId(clock), name, scopes, created_at: timestamp(clock.now()) }
  const { text, item } = makeApiKey(made, clock.randomBytes(32))
  const entry = { action, target: `api_key/${item.key_id}`, after: { scopes } }
  const refusal = await table.transact([
    { item, condition: { absent: true } },
    ...along,
    auditOfOperator(tenant, entry, clock),
  ])
  if (refusal) throw new Error('there is no such key, or it is not active')
  return { key: text, line: lineOf(item) }
}

/** Yields the keys of a tenant, oldest first. */
export async function* list(table: Table, tenant: string): AsyncGenerator<ApiKeyLine> {
  for await (const item of itemsOf(table, tenant, 'api_key')) yield lineOf(item as unknown as ApiKeyItem)
}

/**
 * Creates a key with the settings of an active one. @param overlapSeconds how long the old key stays valid, if it
 * expires
 */
export async function rotate(
  table: Table,
  clock: Clock,
  { tenant, id, overlapSeconds }: { tenant: string; id: string; overlapSeconds: number | undefined },
): Promise<{ key: string; line: ApiKeyLine }> {
  const old = (await table.get(keyOf(tenant, 'api_key', id))) as ApiKeyItem | undefined
  if (old?.state !== 'active') throw new Error('there is no such key, or it is not active')
  const end =
    overlapSeconds === undefined ? {} : { valid_until: timestamp(clock.now() + overlapSeconds * 1000) }
  const ending: Change = {
    update: keyOf(tenant, 'api_key', id),
    set: { ...end, state: 'active' },
    condition: { matches: { state: 'active' } },
  }
  return make(table, clock, { tenant, name: old.name, scopes: old.scopes }, [ending], 'api_key.rotate')
}

/** Revokes a key. @throws Error if no such key is active */
export async function revoke(table: Table, clock: Clock, tenant: string, id: string): Promise<void> {
  const ended: Change = {
    update: keyOf(tenant, 'api_key', id),
    set: { state: 'revoked' },
    condition: { matches: { state: 'active' } },
  }
  const entry = { action: 'api_key.revoke', target: `api_key/${id}` }
  const refusal = await table.transact([ended, auditOfOperator(tenant, entry, clock)])
  if (refusal) throw new Error('there is no such key, or it is not active')
}

function lineOf({ pk: _pk, sk: _sk, secret_hash: _hash, ...line }: ApiKeyItem): ApiKeyLine {
  return line
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const options = { tenant: text, stack: text, name: text, scope: text, id: text, overlap: text }
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const tenant = needed(values.tenant, 'tenant')
  const stack = await deployedStack(values.stack)
  const table = openTable(stack)
  const commands: Record<string, () => Promise<void>> = {
    make: async () => {
      const scopes = scopesOf(values.scope, outputOf(stack, 'ApiKeyScopes'))
      const asked = { tenant, name: needed(values.name, 'name'), scopes }
      print(await make(table, systemClock, asked))
    },
    list: async () => {
      for await (const line of list(table, tenant)) console.log(JSON.stringify(line))
    },
    rotate: async () => {
      const asked = { tenant, id: needed(values.id, 'id'), overlapSeconds: secondsOf(values.overlap) }
      print(await rotate(table, systemClock, asked))
    },
    revoke: async () => revoke(table, systemClock, tenant, needed(values.id, 'id')),
  }
  const command = commands[positionals[0] ?? '']
  if (!command) throw new Error('which command?')
  await command()
}

function print({ key, line }: { key: string; line: ApiKeyLine }): void {
  console.log(JSON.stringify({ key, ...line }))
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new Error('--overlap takes a whole number of seconds')
  return Number(text)
}

if (import.meta.main) await run(usage, main)
