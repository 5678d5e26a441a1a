import { afterAll } from '@jest/globals'
import { checkRefunds } from '#shared/refunds/check-refunds.ts'
import { announcedStatuses } from '#shared/settings/order-moves.ts'
import type { Settings } from '#shared/settings/register.ts'
import { outcome } from '#test/support/outcome.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { receiveEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { each, newTenantOf, type Row, type Tenant, testChanges } from './changes.ts'

const [provider, another] = [await startPaymentProvider(), await startPaymentProvider()]
afterAll(() => Promise.all([provider.stop(), another.stop()]))

const refund = ({ call }: Tenant, charge_id: string) =>
  call('POST', '/v1/refunds', { body: { charge_id, amount: 10 } })

/** Returns the status of an order after the event that it was paid. */
async function paid({ service, tenant, place, call }: Tenant): Promise<string> {
  const { id } = (await place()).json
  await receiveEvent(service, eventOf('order.paid', { id, tenant_id: tenant }))
  return (await call('GET', `/v1/orders/${id}`)).json.status
}

/** Places three orders, the first of them in yen. @returns their ids */
async function three({ place }: Tenant): Promise<string[]> {
  return each([{ currency: 'JPY' }, {}, {}], async (changes) => (await place(changes)).json.id)
}

const list = (query: string) => async (tenant: Tenant) => outcome(await tenant.orders(query))
const invalid = '400 VALIDATION.filter.value_invalid'
type Transitions = Settings['orders.statuses']['transitions']
const unmoved = Object.keys(localSettings['orders.statuses'].transitions).map((type) => [type, { from: [] }])
/** No received event moves an order, but for some. */
const moves = (some: Partial<Transitions>): Transitions => ({ ...Object.fromEntries(unmoved), ...some })
const statuses = {
  all: ['open', ...Object.values(announcedStatuses)],
  first: 'open',
  transitions: moves({ 'order.paid': { from: ['open'] } }),
}

// biome-ignore format: a table of rows
const rows: Row[] = [
  ['orders.createStatus', 200, async ({ place }) => (await place()).status, 200],
  ['orders.statuses', statuses, async ({ place }) => (await place()).json.status, 'open'],
  ['orders.statuses', statuses, list('?status=active'), invalid],
  ['orders.statuses', { transitions: moves({}) }, paid, 'active'],
  ['orders.fields', ['id', 'cart_id', 'amount_minor', 'currency', 'status', 'created_at'],
    async ({ place }) => Object.keys((await place()).json),
    ['id', 'cart_id', 'amount_minor', 'currency', 'status', 'created_at']],
  ['orders.currencies', ['EUR', 'JPY'], async ({ place }) => outcome(await place({ currency: 'USD' })),
    '400 VALIDATION.field.enum'],
  ['orders.gone', 'never', async ({ service, tenant, place, call }) => {
    const { json } = await place()
    const [item] = await service.items(tenant, 'order')
    const condition = { matches: { version: 1 } }
    await service.table.put({ item: { ...item, erased_at: 'x' } as never, condition })
    return outcome(await call('GET', `/v1/orders/${json.id}`))
  }, '404 NOT_FOUND.order'],

  ['refunds.provider', { endpoint: another.endpoint }, async (tenant) => {
    await refund(tenant, 'ch_provider')
    return [provider, another].map((one) => one.refunds().length > 0)
  }, [false, true]],
  ['refunds.account', { prefix: 'acct_other_' }, async ({ settings }) => {
    await refund(await newTenantOf(settings, { tenant: 'acme' }), 'ch_account')
    const { account } = provider.refunds().findLast(({ charge }) => charge === 'ch_account') ?? {}
    return account
  }, 'acct_other_acme'],
  ['refunds.account', 'connected', async (tenant) => outcome(await refund(tenant, 'ch_1')),
    '409 POLICY.refund.no_account'],
  ['refunds.fields', ['status'], async (tenant) => Object.keys((await refund(tenant, 'ch_fields')).json),
    ['id', 'status']],
  ['refunds.pendingMinutes', 60, async ({ settings }) => {
    const tenant = await newTenantOf(settings, { tableName: (await startService()).tableName })
    await refund(tenant, 'ch_pending_minutes')
    let asked = 0
    const find = async () => {
      asked += 1
      return undefined
    }
    const { runtime } = tenant.service
    const clock = { ...runtime.clock, now: () => Date.now() + 30 * 60_000 }
    await checkRefunds({ ...runtime, clock }, async () => ({ find }), clock.now() + 60_000)
    return asked
  }, 0],
  ['refunds.policy', 'once_per_charge', // A rejected refund no longer reserves part of the charge.
    (tenant) =>
      each(['ch_policy', 'ch_policy', 'ch_declined_policy', 'ch_declined_policy'], async (charge) =>
        outcome(await refund(tenant, charge)),
      ), ['201', '409 POLICY.refund.repeated', '409 POLICY.refund.declined', '409 POLICY.refund.declined']],

  ['lists.maxFilterValues', 2, list('?currency.in=EUR,USD,JPY'), invalid],
  ['lists.maxFilterLength', 64, list(`?cart_id=${'x'.repeat(65)}`), invalid],
  ['lists.maxSearchLength', 40, list(`?q=${'x'.repeat(41)}`), invalid],
  ['lists.pageSizeZero', 'one', async ({ orders }) => {
    const { json } = await orders('?page_size=0')
    return json.error?.code ?? json.page_size
  }, 1],
  ['lists.defaultSort', 'created_at.asc,id.asc', async ({ orders }) => (await orders()).json.sort,
    'created_at.asc,id.asc'],
  ['lists.offsetPaging', ['orders.list'], async (tenant) => {
    const ids = await three(tenant)
    const { json } = await tenant.orders('?limit=2&offset=1')
    const ofCodes = await tenant.list(tenant.viewer, { limit: '1', offset: '1' })
    return [
      json.error?.code ?? json.data.map(({ id }: { id: string }) => ids.indexOf(id)),
      outcome(ofCodes),
    ]
  }, [[1, 0], '400 VALIDATION.filter.unknown_key']],
  ['lists.searchFields', { orders: ['currency'], codes: ['id'] }, async (tenant) => {
    await three(tenant)
    const { id, code } = await tenant.make()
    const ofCodes = await each(
      [code, id],
      async (q) => (await tenant.list(tenant.viewer, { q })).json.data.length,
    )
    return [(await tenant.orders('?q=jpy')).json.data.length, ...ofCodes]
  }, [1, 0, 1]],
  ['lists.count', 'exact', async (tenant) => {
    await three(tenant)
    const { count, count_strategy: strategy } = (await tenant.orders()).json
    return [count, strategy]
  }, [3, 'exact']],
  ['lists.readBudget', 101, async ({ place, orders }) => {
    await each(Array(11).fill(10), (count) => Promise.all(Array.from({ length: count }, () => place())))
    const { data, next_cursor: cursor } = (await orders('?status=paid')).json
    return [data.length, cursor === null]
  }, [0, false]],
]

testChanges(rows, (changes) =>
  newTenantOf({ 'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 2000 }, ...changes }),
)
