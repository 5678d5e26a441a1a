import { expect, test } from '@jest/globals'
import { newOperation } from '#shared/operations/operation.ts'
import { createOperation } from '#shared/operations/operation-store.ts'
import { orderWrites, placeOrder } from '#shared/orders/order.ts'
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
const writes = [
  ...orderWrites({ ...order, status: later }),
  createdRefund({ ...refund, status: later }),
  ...createOperation({ ...operation, state: later }, 'imports', localSettings),
]
await service.table.transact(writes.map(({ onFailure: _, ...change }) => change))

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
