import { describe, expect, test } from '@jest/globals'
import { writeRateKey } from '#shared/imports/limit-rate.ts'
import { backloggedTenantsKey } from '#shared/platform/idempotency/backlog.ts'
import { blockedTenantsKey } from '#shared/platform/identity/blocked-tenants.ts'
import { entities, keyOf, type PartitionKind, pendingKeyOf } from '#shared/platform/table/keys.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import type { TableCall, TableUse } from '#shared/platform/table/table.ts'
import { subscribedTenantsKey } from '#shared/subscribers/subscribed-tenants.ts'
import { declaredUses } from './declared-uses.ts'
import { allows, policyOf, statementsOnTable } from './role-policies.ts'
import { templatesOf } from './synthesis.ts'

const { template, settings } = await templatesOf('prod')

/** AWS limits the inline policies of a role to this number of characters, without white space. */
const maxPolicyCharacters = 10_240

const actionOf: Record<Exclude<TableCall, 'find'>, string> = {
  get: 'dynamodb:GetItem',
  getMany: 'dynamodb:BatchGetItem',
  query: 'dynamodb:Query',
  put: 'dynamodb:PutItem',
  update: 'dynamodb:UpdateItem',
  delete: 'dynamodb:DeleteItem',
  check: 'dynamodb:ConditionCheckItem',
  insert: 'dynamodb:PartiQLInsert',
}
const calls = Object.keys(actionOf) as (keyof typeof actionOf)[]
const changes = ['put', 'update', 'delete', 'check', 'insert'] as const

const declared = [...declaredUses(settings)]
  .filter(([, { table }]) => Object.keys(table).length > 0)
  .map(([name, { table }]) => ({ name, table, statements: statementsOnTable(template, name) }))

/** A partition key of each kind of items. */
const samples = new Map<PartitionKind, string>([
  ...declared.flatMap(({ table }) => Object.values(table).flat()).map((kind) => [kind, `${kind}#x`] as const),
  ...Object.keys(entities).map((name) => {
    const entity = name as keyof typeof entities
    return [entity, keyOf('acme', entity, 'x').pk] as const
  }),
  ['pending-saga', pendingKeyOf('pending-saga', 'x').pk],
  ['backlogged-tenants', backloggedTenantsKey.pk],
  ['blocked-tenants', blockedTenantsKey.pk],
  ['import_rate', writeRateKey.pk],
  ['restored', restoredKey.pk],
  ['subscribed-tenants', subscribedTenantsKey.pk],
])

test('a function may read sessions, whatever auth.sessionOperations names: earlier releases have its role', () => {
  const { table } = declaredUses({ ...settings, 'auth.sessionOperations': [] }).get('discount.verify') ?? {}
  expect(table?.get).toContain('session')
})

describe.each(declared)('$name', ({ name, table, statements }) => {
  test.each(calls)('may %s the items that it declares, and no others', (call) => {
    const permitted = [...samples].filter(([, pk]) => allows(statements, actionOf[call], [pk]))
    expect(permitted.map(([kind]) => kind).sort()).toEqual(permittedKinds(table, call))
  })

  test('may not access an item of another kind together with its own', () => {
    const mixed = calls.filter((call) => {
      const kinds = permittedKinds(table, call)
      const keys = [kinds, [...samples.keys()].filter((kind) => !kinds.includes(kind))].flatMap(
        ([kind]) => samples.get(kind as PartitionKind) ?? [],
      )
      return allows(statements, actionOf[call], keys)
    })
    expect(mixed).toEqual([])
  })

  test('may make no call that names no item', () => {
    const withoutKey = calls.filter((call) => allows(statements, actionOf[call], []))
    expect(withoutKey).toEqual([])
  })

  test('may never scan', () => {
    expect(statements.flatMap(({ Action }) => Action)).not.toContain('dynamodb:Scan')
  })

  test('has policies of a size that AWS accepts', () => {
    expect(JSON.stringify(policyOf(template, name)).length).toBeLessThan(maxPolicyCharacters)
  })
})

test('a call without credentials writes neither API keys nor the items of customers', () => {
  const { statements = [] } = declared.find(({ name }) => name === 'otp.request') ?? {}
  const written = [...samples].filter(([, pk]) => allows(statements, 'dynamodb:PutItem', [pk]))
  expect(written.map(([kind]) => kind).sort()).toEqual(['idempotency', 'mail', 'otp', 'rate'])
})

/** All changes have one list, because they may be parts of one transaction. */
function permittedKinds(table: TableUse, call: TableCall): PartitionKind[] {
  const own = table[call] ?? []
  const isChange = changes.some((one) => one === call)
  const kinds = isChange && own.length > 0 ? changes.flatMap((one) => table[one] ?? []) : own
  return [...new Set(kinds)].sort()
}
