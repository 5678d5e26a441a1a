import { createHmac } from 'node:crypto'
import { afterAll, describe, expect, test } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import type { Entity, Item } from '#shared/platform/table/keys.ts'
import { checkRefunds } from '#shared/refunds/check-refunds.ts'
import type { Settings } from '#shared/settings/register.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { outcome } from '#test/support/outcome.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { eventOf, webhookSecret } from '#test/support/signed-events.ts'
import { type Options, type Row, type Tenant, tenantOf, twoDeployments } from './two-deployments.ts'

const providers = [await startPaymentProvider(), await startPaymentProvider()] as const
afterAll(() => Promise.all(providers.map((provider) => provider.stop())))
const { local, expectChanges } = await twoDeployments((settings, index) => {
  const endpoint = providers[index]?.endpoint ?? ''
  return { settings: { ...settings, 'refunds.provider': { ...settings['refunds.provider'], endpoint } } }
})
const providerOf = (service: Service) => providers[service === local ? 0 : 1]

const refund = ({ call }: Tenant, charge_id: string) =>
  call('POST', '/v1/refunds', { body: { charge_id, amount: 10 } })

describe('refunds', () =>
  expectChanges([
    [
      'refunds.provider',
      async (tenant, service) => {
        await refund(tenant, 'ch_provider')
        const paid = providers.map((one) => one.refunds().some(({ charge }) => charge === 'ch_provider'))
        return [paid, providerOf(service).refunds().length]
      },
      // The local deployment refunds first.
      [[true, false], 1],
      [[true, true], 1],
    ],
    [
      'refunds.account',
      async (_, service) => {
        for (const name of ['acme', 'rival']) await refund(tenantOf(service, name), 'ch_account')
        const paid = providerOf(service).refunds()
        return paid.flatMap(({ charge, account }) => (charge === 'ch_account' ? [account] : []))
      },
      ['acct_acme', 'acct_rival'],
      ['acct_special', 'acct_shop_rival'],
    ],
    [
      'refunds.fields',
      async (tenant) => Object.keys((await refund(tenant, 'ch_fields')).json),
      ['id', 'charge_id', 'amount', 'status', 'created_at', 'currency'],
      ['id', 'status'],
    ],
    [
      'refunds.pendingMinutes',
      async (tenant, { runtime }) => {
        await refund(tenant, 'ch_pending_minutes')
        let asked = 0
        const find = async () => {
          asked += 1
          return undefined
        }
        const clock = { ...runtime.clock, now: () => Date.now() + 30 * 60_000 }
        await checkRefunds({ ...runtime, clock }, async () => ({ find }), clock.now() + 60_000)
        return asked
      },
      // The setting of one deployment is 15 minutes, of the other 60.
      1,
      0,
    ],
    [
      'refunds.policy',
      async (tenant) => [
        outcome(await refund(tenant, 'ch_policy')),
        outcome(await refund(tenant, 'ch_policy')),
        // A rejected refund no longer reserves part of the charge.
        outcome(await refund(tenant, 'ch_declined_policy')),
        outcome(await refund(tenant, 'ch_declined_policy')),
      ],
      ['201', '201', ...Array(2).fill('409 POLICY.refund.declined')],
      ['201', '409 POLICY.refund.repeated', ...Array(2).fill('409 POLICY.refund.declined')],
    ],
  ]))

/** Signs an event with the scheme of a deployment. */
function signedFor(settings: Settings, body: string, secondsAgo: number): Record<string, string> {
  const { idHeader, timestampHeader, signatureHeader, digest, prefix } = settings['webhooks.scheme']
  const id = JSON.parse(body).event_id
  const seconds = Math.floor(Date.now() / 1000) - secondsAgo
  const key = Buffer.from(webhookSecret.slice('whsec_'.length), 'base64')
  const mac = createHmac(digest, key).update(`${id}.${seconds}.${body}`).digest('base64')
  return {
    [idHeader]: id,
    [timestampHeader]: String(seconds),
    [signatureHeader]: `${prefix}${mac}`,
    'Content-Type': 'application/json',
  }
}
function receive(service: Service, event: object = eventOf('a.b', { id: 'x' }), how: Received = {}) {
  const body = JSON.stringify(event)
  const headers = signedFor(how.settings ?? service.settings, body, how.secondsAgo ?? 0)
  return service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body })
}
interface Received {
  settings?: Settings
  secondsAgo?: number
}
async function receiveAndHandle(service: Service, event: ReturnType<typeof eventOf>): Promise<void> {
  await receive(service, event)
  await handleEvent(event.event_id, {
    ...service.runtime,
    table: declaredTable('webhooks.handle', service.table),
  })
}

describe('webhooks', () =>
  expectChanges([
    [
      'webhooks.scheme',
      async (_, service) => {
        const bySchemes = [localSettings, otherSettings].map((settings) =>
          receive(service, undefined, { settings }),
        )
        return (await Promise.all(bySchemes)).map(({ status }) => status)
      },
      [202, 401],
      [401, 200],
    ],
    [
      'webhooks.windowSeconds',
      async (_, service) => (await receive(service, undefined, { secondsAgo: 90 })).status,
      202,
      401,
    ],
    [
      'webhooks.futureSeconds',
      async (_, service) => {
        const occurred_at = new Date(Date.now() + 90_000).toISOString()
        return outcome(await receive(service, eventOf('a.b', { id: 'x' }, { occurred_at })))
      },
      '202',
      '400 VALIDATION.date.range',
    ],
    ['webhooks.status', async (_, service) => (await receive(service)).status, 202, 200],
    [
      'webhooks.maxBytes',
      async (_, service) =>
        (await receive(service, eventOf('a.b', { id: 'x', note: 'x'.repeat(3000) }))).status,
      202,
      413,
    ],
    [
      'webhooks.inboxDays',
      async (_, service) => {
        const event = eventOf('a.b', { id: 'x' })
        await receive(service, event)
        const item = await service.table.get(inboxKey(event.event_id))
        return Math.round((Number(item?.expires_at) - Date.now() / 1000) / 86_400)
      },
      30,
      7,
    ],
  ]))

describe('the data of events', () => {
  const fieldsOf = async ({ tenant }: Tenant, service: Service, entity: Entity) => {
    const [item] = await service.items(tenant, entity)
    return eventsOf(item as Item).map(({ type, data }) => [type, Object.keys(data).sort()])
  }
  const small = ['id', 'tenant_id']
  const placed = ['order.placed', ['amount_minor', 'currency', 'id', 'order_id', 'tenant_id']]
  const order = ['amount_minor', 'cart_id', 'created_at', 'currency', 'id', 'status', 'tenant_id']
  const resource = ['amount', 'charge_id', 'created_at', 'currency', 'id', 'status', 'tenant_id']
  expectChanges([
    [
      'events.payloads decides the data of order.created and order.paid, but not of order.placed',
      async (tenant, service) => {
        const { id } = (await tenant.place()).json
        await receiveAndHandle(service, eventOf('order.paid', { id, tenant_id: tenant.tenant }))
        return fieldsOf(tenant, service, 'order')
      },
      [['order.created', small], placed, ['order.paid', small]],
      [['order.created', order], placed, ['order.paid', order]],
    ],
    [
      'events.payloads decides the data of refund.succeeded',
      async (tenant, service) => {
        await refund(tenant, 'ch_subscribed')
        return fieldsOf(tenant, service, 'refund')
      },
      [['refund.succeeded', resource]],
      [['refund.succeeded', small]],
    ],
  ])
})

describe('discounts', () => {
  const verify = (tenant: Tenant, service: Service, text: string, cart?: string, options: Options = {}) => {
    const headers = cart ? { [service.settings['discount.cart'].header]: cart } : {}
    return tenant.call('POST', '/discount/verify', { body: { code: text }, headers, ...options })
  }
  const receiveCart = ({ tenant }: Tenant, service: Service, minor: number, changes: object = {}) =>
    receiveAndHandle(
      service,
      eventOf('cart.updated', {
        id: 'cart',
        tenant_id: tenant,
        amount_minor: minor,
        currency: 'EUR',
        total: { minor: minor + 1, currency: 'EUR' },
        user_id: 'Editor-1',
        customer: { id: 'Editor-1' },
        ...changes,
      }),
    )
  /** Creates an active code, regardless of the deployment's initial state. */
  const makeLive = async ({ create, update, admin }: Tenant, type: string, text: string) => {
    const { json } = await create(admin, { code: text, type, name: text, expiry_at: '2099-01-01T00:00:00Z' })
    if (json.state !== 'active') await update(admin, json.id, '*', { state: 'active' })
  }
  const percentageOf = ({ settings }: Service) => {
    const [found] = Object.entries(settings['codes.types']).filter(([, { kind }]) => kind === 'percentage')
    if (!found) throw new Error('the profile has no percentage')
    return { type: found[0], share: found[1].value / 100 }
  }
  const rows: Row[] = [
    [
      'discount.cart',
      async (tenant, service) => [
        outcome(await verify(tenant, service, 'NONE', 'nowhere')),
        outcome(await verify(tenant, service, 'NONE', undefined, { headers: { 'X-Cart-Id': 'nowhere' } })),
      ],
      ['404 NOT_FOUND.cart', '404 NOT_FOUND.cart'],
      ['404 NOT_FOUND.cart', '404 NOT_FOUND.code'],
    ],
    [
      'discount.cartFields',
      async (tenant, service) => {
        await receiveCart(tenant, service, 1000, { user_id: 'ada', customer: { id: 'bob' } })
        const found = await findCart(service.table, tenant.tenant, 'cart')
        return [found?.amount_minor, found?.owner]
      },
      [1000, 'ada'],
      [1001, 'bob'],
    ],
    [
      'discount.rejection',
      async (tenant, service) => outcome(await verify(tenant, service, 'UNKNOWN')),
      '200',
      '404 NOT_FOUND.code',
    ],
    [
      'discount.amount',
      async (tenant, service) => {
        const { type, share } = percentageOf(service)
        // The remainder is 0.75 minor units: one deployment rounds up, the other down.
        const minor = Math.round(1.75 / share)
        await receiveCart(tenant, service, service === local ? minor : minor - 1)
        await makeLive(tenant, type, 'ROUNDED')
        const exact = ((await findCart(service.table, tenant.tenant, 'cart'))?.amount_minor ?? 0) * share
        return (await verify(tenant, service, 'ROUNDED', 'cart')).json.amount - Math.trunc(exact)
      },
      1,
      0,
    ],
    [
      'discount.mayApply',
      async (tenant, service) => {
        await receiveCart(tenant, service, 1000, { user_id: null, customer: null })
        return outcome(await verify(tenant, service, 'UNKNOWN', 'cart', viewing(service)))
      },
      '200',
      '403 AUTHZ.role.denied',
    ],
    [
      'discount.combination',
      async (tenant, service) => {
        await receiveCart(tenant, service, 1000)
        for (const text of ['FIRST', 'SECOND']) await makeLive(tenant, percentageOf(service).type, text)
        await verify(tenant, service, 'FIRST', 'cart')
        return outcome(await verify(tenant, service, 'SECOND', 'cart'))
      },
      '200',
      '409 CONFLICT.code.not_combinable',
    ],
    [
      'limits.other',
      async (tenant, service) => {
        const statuses: number[] = []
        for (let n = 0; n < 3; n += 1) statuses.push((await verify(tenant, service, 'UNKNOWN')).status)
        return statuses.at(-1)
      },
      200,
      429,
    ],
  ]
  const viewing = ({ settings }: Service): Options => ({
    role: 'Viewer',
    headers: { [settings['discount.cart'].header]: 'cart' },
  })
  expectChanges(rows)

  test('discount.amount permits the sum of several codes to exceed the cart only if configured', async () => {
    const sums = [true, false].map(async (cappedAtCart) => {
      const amount = { ...local.settings['discount.amount'], cappedAtCart }
      const service = await startService({ settings: { ...local.settings, 'discount.amount': amount } })
      const tenant = tenantOf(service)
      await receiveCart(tenant, service, 700)
      for (const text of ['FIRST', 'SECOND']) await makeLive(tenant, 'fixed-500', text)
      const first = await verify(tenant, service, 'FIRST', 'cart')
      return first.json.amount + (await verify(tenant, service, 'SECOND', 'cart')).json.amount
    })
    expect(await Promise.all(sums)).toEqual([700, 1000])
  })
})
