import { describe, expect, test } from '@jest/globals'
import { newOperation, type Operation } from '#shared/operations/operation.ts'
import { createOperation } from '#shared/operations/operation-store.ts'
import { orderWrites, placeOrder } from '#shared/orders/order.ts'
import type { Write } from '#shared/platform/table/table.ts'
import { makeRefund } from '#shared/refunds/refund.ts'
import { createdRefund } from '#shared/refunds/refund-store.ts'
import { codeOf, storeCodes } from '#test/codes/code-calls.ts'
import { idAt } from '#test/support/ids.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

// Another release or other settings have stored values that these do not know.
const service = await startService()
const tenant = 'later'
const admin = { tenant, role: 'Admin', scope: 'codes:read' }
const id = idAt(Date.now())
const later = 'later' as never
const code = codeOf(tenant, { state: later })
const order = placeOrder({ cart_id: 'c', amount_minor: 1, currency: 'EUR' }, id, tenant, localSettings)
const refund = makeRefund(
  { charge_id: 'ch_1', amount: 1 },
  { id, tenant_id: tenant, account: 'acct_1', request_name: 'r' },
)
const operation = newOperation(
  { id, tenant_id: tenant, correlation_id: 'c', source: { kind: 'inline' }, file_hash: '' },
  localSettings,
)
await storeCodes(service, [code])
const store = (writes: Write[]) => service.table.transact(writes.map(({ onFailure: _, ...change }) => change))
await store([
  ...orderWrites({ ...order, status: later }),
  createdRefund({ ...refund, status: later }),
  ...createOperation({ ...operation, state: later }, 'imports', localSettings),
])

test.each([
  [`/v1/orders/${id}`, 'status'],
  [`/v1/refunds/${id}`, 'status'],
  [`/codes/${code.id}`, 'state'],
  [`/operations/${id}`, 'state'],
])('%s shows a %s that the release does not know', async (path, field) => {
  const { status, json } = await service.call({ path, as: admin })
  expect([status, json[field]]).toEqual([200, 'later'])
})

test.each([
  ['/v1/orders', 'status'],
  ['/codes', 'state'],
])('so does the list %s', async (path, field) => {
  const { status, json } = await service.call({ path, as: admin })
  expect([status, json.data.map((item: object) => Reflect.get(item, field))]).toEqual([200, ['later']])
})

describe('an operation that has ended', () => {
  const added = { later: 1 }
  const counts = { total: 3, succeeded: 0, failed: 3 }
  const rejects = [1, 2, 3].map((row) => ({ row, code: 'VALIDATION.email', field: 'email' }))
  const result = { outcome: 'FAILED' as const, counts, rejects }
  const error = {
    ...{ code: 'DEPENDENCY.timeout', message_id: 'error.dependency.timeout', http: 504 },
    ...{ retryable: true, correlation_id: 'c', details: {} },
  }

  /** Reads an operation that ended, under settings that show two rejects. */
  async function read(ending: Partial<Operation>) {
    const { tableName } = service
    const shown = { ...localSettings['imports.result'], rejectsShown: 2 }
    const settings = { ...localSettings, 'imports.result': shown }
    const ended = { ...operation, ...ending, id: idAt(Date.now()) }
    await store(createOperation(ended, 'imports', settings))
    const reader = await startService({ settings, tableName })
    const { json } = await reader.call({ path: `/operations/${ended.id}`, as: admin })
    return json
  }

  test('shows as many rejects as the settings say', async () => {
    const shown = { ...result, rejects: rejects.slice(0, 2), schema_version: 1 }
    expect((await read({ state: 'succeeded', result })).result).toEqual(shown)
  })

  test.each<[string, Partial<Operation>]>([
    [
      'result',
      {
        result: {
          ...{ ...result, ...added, counts: { ...counts, ...added } },
          rejects: rejects.slice(0, 1).map((one) => ({ ...one, ...added })),
        },
      },
    ],
    ['error', { error: { ...error, ...added } }],
  ])('shows its %s without what another release has added', async (name, ending) => {
    const json = await read({ state: 'succeeded', ...ending })
    expect(json).toHaveProperty(name)
    expect(JSON.stringify(json)).not.toContain('later')
  })
})
