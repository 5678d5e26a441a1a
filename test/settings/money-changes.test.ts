import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import type { Entity, Item } from '#shared/platform/table/keys.ts'
import { checkRefunds } from '#shared/refunds/check-refunds.ts'
import type { Settings } from '#shared/settings/register.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { outcome } from '#test/support/outcome.ts'
import {
  type FakePaymentProvider,
  startPaymentProvider,
} from '#test/support/payment-provider/payment-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { eventOf, webhookSecret } from '#test/support/signed-events.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */

let services: Service[]
const providers = [await startPaymentProvider(), await startPaymentProvider()]
beforeAll(async () => {
  const deployed = [localSettings, otherSettings].map((settings, index) => at(settings, providers[index]))
  services = await Promise.all(deployed.map((settings) => startService({ settings })))
})
afterAll(() => Promise.all(providers.map((provider) => provider.stop())))

function at(settings: Settings, provider: FakePaymentProvider | undefined): Settings {
  const endpoint = provider?.endpoint ?? ''
  return { ...settings, 'refunds.provider': { ...settings['refunds.provider'], endpoint } }
}

/** Returns the outcomes of both deployments, the local one first. */
const both = <T>(ask: (service: Service, index: number) => Promise<T>) => Promise.all(services.map(ask))
let made = 0
const nonce = { 'X-Nonce': 'n' }
const as = (tenant: string, role: string, sub = `u${made++}`) => ({
  tenant,
  role,
  sub,
  scope: 'codes:write',
  claims: { nonce: 'n' },
})
const who = (service: Service, tenant: string, role: string, sub?: string) => {
  const { claims, ...rest } = as(tenant, role, sub)
  return service.settings['auth.nonce'].mode === 'required' ? { ...rest, claims } : rest
}
const refund = (service: Service, charge_id: string, tenant = 'acme') =>
  service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: who(service, tenant, 'Editor'),
    headers: { ...nonce, 'Idempotency-Key': `r${made++}` },
    body: { charge_id, amount: 10 },
  })

describe('refunds', () => {
  test('refunds.provider', async () => {
    await both((service) => refund(service, 'ch_provider'))
    for (const provider of providers) {
      expect(provider.refunds().filter(({ charge }) => charge === 'ch_provider')).toHaveLength(1)
    }
  })
  test('refunds.account', async () => {
    await both((service) => refund(service, 'ch_account'))
    await both((service) => refund(service, 'ch_account', 'rival'))
    const accounts = providers.map((provider) =>
      provider.refunds().flatMap(({ charge, account }) => (charge === 'ch_account' ? [account] : [])),
    )
    expect(accounts).toEqual([
      ['acct_acme', 'acct_rival'],
      ['acct_special', 'acct_shop_rival'],
    ])
  })
  test('refunds.fields', async () =>
    expect(await both(async (service) => Object.keys((await refund(service, 'ch_fields')).json))).toEqual([
      ['id', 'charge_id', 'amount', 'status', 'created_at', 'currency'],
      ['id', 'status'],
    ]))
  test('refunds.pendingMinutes', async () => {
    // The setting of one deployment is 15 minutes, of the other 60.
    await both((service) => refund(service, 'ch_pending_minutes'))
    const asked = await both(async ({ runtime }) => {
      let count = 0
      const find = async () => {
        count += 1
        return undefined
      }
      const clock = { ...runtime.clock, now: () => Date.now() + 30 * 60_000 }
      await checkRefunds({ ...runtime, clock }, async () => ({ find }), clock.now() + 60_000)
      return count
    })
    expect(asked).toEqual([1, 0])
  })
  test('refunds.policy', async () => {
    await both((service) => refund(service, 'ch_policy'))
    expect(await both(async (service) => outcome(await refund(service, 'ch_policy')))).toEqual([
      '201',
      '409 POLICY.refund.repeated',
    ])
    const declined = async (service: Service) => outcome(await refund(service, 'ch_declined_policy'))
    // A rejected refund no longer reserves part of the charge.
    await both(declined)
    expect(await both(declined)).toEqual(['409 POLICY.refund.declined', '409 POLICY.refund.declined'])
  })
})

/** Signs an event with the scheme of its deployment. */
function signedFor(settings: Settings, body: string, secondsAgo = 0): Record<string, string> {
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
const receive = (service: Service, event: object, scheme = service.settings, secondsAgo = 0) => {
  const body = JSON.stringify(event)
  return service.call({
    method: 'POST',
    path: '/v1/webhooks/events',
    headers: signedFor(scheme, body, secondsAgo),
    body,
  })
}
const receiveAndHandle = async (service: Service, event: ReturnType<typeof eventOf>) => {
  await receive(service, event)
  await handleEvent(event.event_id, { ...service.runtime, table: service.table })
}

describe('webhooks', () => {
  test('webhooks.scheme', async () => {
    const bySchemeOf = (settings: Settings) =>
      both(async (service) => (await receive(service, eventOf('a.b', { id: 'x' }), settings)).status)
    expect([await bySchemeOf(localSettings), await bySchemeOf(otherSettings)]).toEqual([
      [202, 401],
      [401, 200],
    ])
  })
  test('webhooks.windowSeconds', async () =>
    expect(
      await both(
        async (service) => (await receive(service, eventOf('a.b', { id: 'x' }), service.settings, 90)).status,
      ),
    ).toEqual([202, 401]))
  test('webhooks.futureSeconds', async () => {
    const occurred_at = new Date(Date.now() + 90_000).toISOString()
    const dated = (service: Service) => receive(service, eventOf('a.b', { id: 'x' }, { occurred_at }))
    expect(await both(async (service) => outcome(await dated(service)))).toEqual([
      '202',
      '400 VALIDATION.date.range',
    ])
  })
  test('webhooks.status', async () =>
    expect(
      await both(async (service) => (await receive(service, eventOf('a.b', { id: 'x' }))).status),
    ).toEqual([202, 200]))
  test('webhooks.maxBytes', async () =>
    expect(
      await both(async (service) => {
        const event = eventOf('a.b', { id: 'x', note: 'x'.repeat(3000) })
        return (await receive(service, event)).status
      }),
    ).toEqual([202, 413]))
  test('webhooks.inboxDays', async () => {
    const days = await both(async (service) => {
      const event = eventOf('a.b', { id: 'x' })
      await receive(service, event)
      const item = await service.table.get(inboxKey(event.event_id))
      return Math.round((Number(item?.expires_at) - Date.now() / 1000) / 86_400)
    })
    expect(days).toEqual([30, 7])
  })
})

describe('events.payloads', () => {
  const fieldsOf = async (service: Service, entity: Entity) => {
    const [item] = (await service.items('subscribed', entity)).slice(-1)
    return eventsOf(item as Item).map(({ type, data }) => [type, Object.keys(data).sort()])
  }
  const place = (service: Service) =>
    service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { ...who(service, 'subscribed', 'Editor'), scope: 'orders:write' },
      headers: { ...nonce, 'Idempotency-Key': `o${made++}` },
      body: { cart_id: 'cart-1', amount_minor: 100, currency: 'EUR' },
    })
  const placed = ['amount_minor', 'currency', 'id', 'order_id', 'tenant_id']
  const order = ['amount_minor', 'cart_id', 'created_at', 'currency', 'id', 'status', 'tenant_id']

  test('decides the data of order.created, but not of order.placed', async () => {
    await both(place)
    expect(await both((service) => fieldsOf(service, 'order'))).toEqual([
      [
        ['order.created', ['id', 'tenant_id']],
        ['order.placed', placed],
      ],
      [
        ['order.created', order],
        ['order.placed', placed],
      ],
    ])
  })

  test('decides the data of order.paid', async () => {
    const paid = await both(async (service) => {
      const { json } = await place(service)
      await receiveAndHandle(service, eventOf('order.paid', { id: json.id, tenant_id: 'subscribed' }))
      return fieldsOf(service, 'order')
    })
    const created = (data: string[]) => [
      ['order.created', data],
      ['order.placed', placed],
    ]
    const small = ['id', 'tenant_id']
    expect(paid).toEqual([
      [...created(small), ['order.paid', small]],
      [...created(order), ['order.paid', order]],
    ])
  })

  test('decides the data of refund.succeeded', async () => {
    await both((service) => refund(service, 'ch_subscribed', 'subscribed'))
    const resource = ['amount', 'charge_id', 'created_at', 'currency', 'id', 'status', 'tenant_id']
    expect(await both((service) => fieldsOf(service, 'refund'))).toEqual([
      [['refund.succeeded', resource]],
      [['refund.succeeded', ['id', 'tenant_id']]],
    ])
  })
})

describe('discounts', () => {
  const verify = (service: Service, text: string, basket?: string, sub?: string, role = 'Editor') =>
    service.call({
      method: 'POST',
      path: '/discount/verify',
      as: who(service, 'acme', role, sub),
      headers: {
        ...nonce,
        'Idempotency-Key': `v${made++}`,
        ...(basket && { [service.settings['discount.cart'].header]: basket }),
      },
      body: { code: text },
    })
  const cart = (minor: number, id: string) =>
    eventOf('cart.updated', {
      id,
      tenant_id: 'acme',
      amount_minor: minor,
      currency: 'EUR',
      total: { minor: minor + 1, currency: 'EUR' },
      user_id: 'ada',
      customer: { id: 'bob' },
    })

  test('discount.cart and discount.cartFields', async () => {
    const carts = await both(async (service) => {
      await receiveAndHandle(service, cart(1000, 'basket'))
      const found = await findCart(service.table, 'acme', 'basket')
      return [found?.amount_minor, found?.owner?.subject]
    })
    expect(carts).toEqual([
      [1000, 'ada'],
      [1001, 'bob'],
    ])
    const [local, other] = services as [Service, Service]
    expect(outcome(await verify(local, 'NONE', 'nowhere'))).toBe('404 NOT_FOUND.cart')
    expect(outcome(await verify(other, 'NONE', 'nowhere'))).toBe('404 NOT_FOUND.cart')
    const byOldName = await other.call({
      method: 'POST',
      path: '/discount/verify',
      as: who(other, 'acme', 'Viewer'),
      headers: { ...nonce, 'Idempotency-Key': `v${made++}`, 'X-Cart-Id': 'nowhere' },
      body: { code: 'NONE' },
    })
    expect(outcome(byOldName)).toBe('404 NOT_FOUND.code')
  })
  test('discount.rejection', async () =>
    expect(await both(async (service) => outcome(await verify(service, 'UNKNOWN')))).toEqual([
      '200',
      '404 NOT_FOUND.code',
    ]))
  test('discount.amount', async () => {
    const amounts = await both(async (service) => {
      const types = Object.entries(service.settings['codes.types'])
      const percent = types.find(([, { kind }]) => kind === 'percentage')
      if (!percent) throw new Error('the profile has no percentage')
      const [type, { value }] = percent
      // The remainder is 0.75 minor units: one deployment rounds up, the other down.
      const minor = Math.round((1.75 * 100) / value)
      await receiveAndHandle(service, cart(service === services[1] ? minor - 1 : minor, `rounded-${type}`))
      await makeLive(service, type, 'ROUNDED')
      const exact =
        (((await findCart(service.table, 'acme', `rounded-${type}`))?.amount_minor ?? 0) * value) / 100
      const { json } = await verify(service, 'ROUNDED', `rounded-${type}`)
      return json.amount - Math.trunc(exact)
    })
    expect(amounts).toEqual([1, 0])
  })
  test('discount.mayApply', async () => {
    const applied = async (service: Service) => {
      await receiveAndHandle(
        service,
        eventOf('cart.updated', { ...cart(1000, 'shared').data, user_id: null, customer: null }),
      )
      return outcome(await verify(service, 'UNKNOWN', 'shared', undefined, 'Viewer'))
    }
    expect(await both(applied)).toEqual(['200', '403 AUTHZ.role.denied'])
  })
  test('discount.combination', async () => {
    const second = async (service: Service) => {
      const type = Object.entries(service.settings['codes.types']).find(
        ([, { kind }]) => kind === 'percentage',
      )
      await receiveAndHandle(service, cart(1000, 'stacked'))
      for (const text of ['FIRST', 'SECOND']) await makeLive(service, type?.[0] ?? '', text)
      await verify(service, 'FIRST', 'stacked')
      return outcome(await verify(service, 'SECOND', 'stacked'))
    }
    expect(await both(second)).toEqual(['200', '409 CONFLICT.code.not_combinable'])
  })
  test('discount.amount permits the sum of several codes to exceed the cart only if configured', async () => {
    const sumOn = async (cappedAtCart: boolean) => {
      const [service] = services as [Service]
      const amount = { ...service.settings['discount.amount'], cappedAtCart }
      const settings = { ...service.settings, 'discount.amount': amount }
      const other = await startService({ settings })
      await receiveAndHandle(other, cart(700, 'capped'))
      for (const text of ['FIRST', 'SECOND']) await makeLive(other, 'fixed-500', text)
      const [first, second] = [
        await verify(other, 'FIRST', 'capped'),
        await verify(other, 'SECOND', 'capped'),
      ]
      return first.json.amount + second.json.amount
    }
    expect([await sumOn(true), await sumOn(false)]).toEqual([700, 1000])
  })
  test('limits.other', async () =>
    expect(
      await both(async (service) => {
        const answers = []
        for (let n = 0; n < 3; n += 1)
          answers.push((await verify(service, 'UNKNOWN', undefined, 'guesser')).status)
        return answers.at(-1)
      }),
    ).toEqual([200, 429]))

  /** Creates an active code, regardless of the deployment's initial state. */
  async function makeLive(service: Service, type: string, text: string) {
    const { json, headers } = await service.call({
      method: 'POST',
      path: '/codes',
      as: who(service, 'acme', 'Admin'),
      headers: { ...nonce, 'Idempotency-Key': `c${made++}` },
      body: { code: text, type, name: text, expiry_at: '2099-01-01T00:00:00Z' },
    })
    if (json.state === 'active') return
    await service.call({
      method: 'PATCH',
      path: `/codes/${json.id}`,
      as: who(service, 'acme', 'Admin'),
      headers: { ...nonce, 'If-Match': headers.ETag ?? '' },
      body: { state: 'active' },
    })
  }
})
