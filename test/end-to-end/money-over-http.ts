import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from '@jest/globals'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import type { listen } from './bus-listener.ts'
import type { Deployment, Send } from './deployment.ts'
import { until } from './until.ts'

interface Running {
  service: Deployment
  listener: Awaited<ReturnType<typeof listen>>
}

const tenant = 'paid'
const editor = { tenant, sub: 'cashier', scope: 'codes:read codes:write' }

/** Refunds with the fake provider, signed events through their queue, and discounts on the received carts. */
export function moneyOverHttp(running: () => Running): void {
  const post = (path: string, key: string, body: unknown, options: Send = {}) =>
    running().service.send(path, {
      method: 'POST',
      as: editor,
      body,
      ...options,
      headers: { 'Idempotency-Key': key, ...options.headers },
    })
  const refund = (key: string, charge_id: string, amount: number) =>
    post('/v1/refunds', key, { charge_id, amount })
  const paidOut = async (charge: string) => {
    const answer = await fetch(`${running().service.paymentProvider}/refunds?charge=${charge}&limit=100`)
    const { data } = (await answer.json()) as { data: { amount: number }[] }
    return data.map(({ amount }) => amount)
  }
  const refunds = (charge: string) =>
    running().service.run('refunds', 'list', '--tenant', tenant, '--charge', charge)
  const sendEvent = async (type: string, id: string, data: object = {}, ...more: string[]) => {
    const { service } = running()
    const about = ['webhook', 'send', type, '--id', id, '--tenant', tenant, '--data', JSON.stringify(data)]
    const [line] = await service.run(...about, '--url', service.base_url, ...more)
    return line
  }
  test('a refund is paid once, replayed, and in the ledger', async () => {
    const charge = 'ch_plain'
    const first = await refund(charge, charge, 700)
    expect([first.status, first.json.amount]).toEqual([201, 700])
    const again = await refund(charge, charge, 700)
    expect([again.status, again.text, again.headers.get('idempotency-status')]).toEqual([
      201,
      first.text,
      'replayed',
    ])
    expect(await paidOut(charge)).toEqual([700])
    expect(await refunds(charge)).toMatchObject([
      { id: first.json.id, currency: 'EUR', ledger: [{ kind: 'payout', amount: 700 }] },
    ])
  })

  describe('the comparison with the provider', () => {
    const reconciled = 'reconciled'
    const pay = (charge: string, amount: number, more: Record<string, string> = {}) =>
      fetch(`${running().service.paymentProvider}/v1/refunds`, {
        method: 'POST',
        headers: { Authorization: 'Bearer sk_test', 'Stripe-Account': `acct_${reconciled}` },
        body: new URLSearchParams({ charge, amount: String(amount), ...more }),
      })
    /** Compares the last hour. */
    const compare = async (...options: string[]) => {
      const { service } = running()
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const command = service.start(
        ...['refunds', 'reconcile', '--tenant', reconciled, '--from', from, '--settings', service.settings],
        ...options,
      )
      const closed = once(command, 'close')
      const [output, [code]] = await Promise.all([text(command.stdout), closed])
      const lines = output.trim().split('\n')
      return { code, records: lines.map((line) => JSON.parse(line)) }
    }

    test('finds nothing after refunds of the service, and lists those that are pending', async () => {
      const as = { ...editor, tenant: reconciled }
      await post('/v1/refunds', 'one', { charge_id: 'ch_one', amount: 700 }, { as })
      const { json: pending } = await post(
        '/v1/refunds',
        'two',
        { charge_id: 'ch_pending_1', amount: 50 },
        { as },
      )
      await post('/v1/refunds', 'three', { charge_id: 'ch_three', amount: 300 }, { as })
      expect(await compare()).toEqual({
        code: 0,
        records: [
          expect.objectContaining({
            tenant: reconciled,
            compared: 3,
            differences: 0,
            unrelated: 0,
            totals: [{ currency: 'EUR', provider: 1000, ledger: 1000 }],
          }),
        ],
      })
      const listed = await running().service.run(
        'refunds',
        'list',
        '--tenant',
        reconciled,
        '--status',
        'pending',
      )
      expect(listed).toEqual([expect.objectContaining({ id: pending.id, charge_id: 'ch_pending_1' })])
    })

    test('finds a payout that the ledger does not have, and ends with exit code 1', async () => {
      const refund_id = newId(systemClock)
      await pay('ch_one', 10, {
        'metadata[refund_id]': refund_id,
        'metadata[tenant_id]': reconciled,
        'metadata[request]': 'request-1',
      })
      await pay('ch_one', 20)
      const { code, records } = await compare()
      expect(code).toBe(1)
      expect(records).toEqual([
        expect.objectContaining({ finding: 'not_in_ledger', refund_id, provider_amount: 10 }),
        expect.objectContaining({ finding: 'unrelated', provider_amount: 20 }),
        expect.objectContaining({
          differences: 1,
          unrelated: 1,
          totals: [{ currency: 'EUR', provider: 1010, ledger: 1000 }],
        }),
      ])
    })

    test('books such a payout with --adopt, and once', async () => {
      const unrelated = expect.objectContaining({ finding: 'unrelated', provider_amount: 20 })
      const totals = [{ currency: 'EUR', provider: 1010, ledger: 1010 }]
      const compared = expect.objectContaining({ differences: 0, totals })
      const adopted = expect.objectContaining({ finding: 'adopted', amount: 10, status: 'succeeded' })
      expect(await compare('--adopt', '--yes')).toEqual({ code: 0, records: [adopted, unrelated, compared] })
      expect(await compare('--adopt', '--yes')).toEqual({ code: 0, records: [unrelated, compared] })
    })

    test('a refund that stays pending ends by what an operator found out', async () => {
      const { service } = running()
      const of = ['--tenant', reconciled]
      const pending = (await service.run('refunds', 'list')).find(({ tenant_id }) => tenant_id === reconciled)
      const accepted = ['--provider-refund-id', String(pending?.provider_refund_id)]
      const found = ['--outcome', 'failed', ...accepted, '--yes', '--settings', service.settings]
      const [ended] = await service.run('refunds', 'settle', String(pending?.id), ...of, ...found)
      expect(ended).toMatchObject({ id: pending?.id, status: 'failed' })
      expect(await service.run('refunds', 'list', ...of, '--status', 'pending')).toEqual([])
    })
  })

  test('an order is paid once by repeated signed events', async () => {
    const { service } = running()
    const placed = await post('/v1/orders', 'paid', { cart_id: 'c', amount_minor: 5, currency: 'EUR' })
    const { id } = placed.json
    for (let times = 0; times < 3; times += 1)
      expect(await sendEvent('order.paid', id, {}, '--event-id', 'paid-1')).toMatchObject({ status: 202 })
    const status = async () => (await service.send(`/v1/orders/${id}`, { as: editor })).json.status
    await until(async () => (await status()) === 'paid', Boolean)
    const { listener } = running()
    const ours = () =>
      listener.received.filter(
        ({ type, version, data }) => type === 'order.paid' && version === 1 && data.id === id,
      )
    await listener.until(() => ours().length > 0)
    expect(new Set(ours().map(({ event_id }) => event_id)).size).toBe(1)
  })

  test('an event that cannot be handled becomes a dead letter, and is handled after a redrive', async () => {
    const { service } = running()
    const unknown = '01a1fd42-cae3-848a-b36e-b4be13e97000'
    expect(await sendEvent('order.paid', unknown, {}, '--event-id', 'unknown-1')).toMatchObject({
      status: 202,
    })
    const redriven = async () => (await service.run('dead-letters', 'redrive', 'webhooks'))[0]?.messages === 1
    await until(redriven, Boolean)
    await until(redriven, Boolean)
    const listed = () => service.run('dead-letters', 'list', 'webhooks')
    const [letter] = await until(listed, ({ length }) => length === 1)
    await service.run('dead-letters', 'discard', 'webhooks', String(letter?.message_id), '--yes')
  })

  test('a discount is verified for the received cart, and promo.applied is published', async () => {
    const { listener } = running()
    const code = { code: 'TEN', type: 'percent-10', name: 'Ten', expiry_at: '2099-01-01T00:00:00Z' }
    expect((await post('/codes', 'ten', code)).status).toBe(201)
    await sendEvent('cart.updated', 'cart-7', { amount_minor: 2005, currency: 'EUR' })
    const verify = (key: string, text: string, cart = 'cart-7') =>
      post('/discount/verify', key, { code: text }, { headers: { 'X-Cart-Id': cart } })
    await until(async () => (await verify('known', 'NONE')).status === 200, Boolean)

    const applied = await verify('ten-off', 'ten')
    expect([applied.status, applied.json]).toEqual([200, { applied: true, amount: 200 }])
    const ours = () =>
      listener.received.filter(
        ({ type, version, data }) => type === 'promo.applied' && version === 1 && data.tenant_id === tenant,
      )
    await listener.until(() => ours().length > 0)
    expect(ours().map(({ data }) => [data.cart_id, data.code, data.amount])).toEqual([['cart-7', 'TEN', 200]])

    await sendEvent('cart.updated', 'cart-7', {
      amount_minor: 1000,
      currency: 'EUR',
      correlation_id: 'shrunk',
    })
    await listener.until(() => ours().length > 1)
    expect(ours().at(-1)).toMatchObject({
      correlation_id: 'shrunk',
      data: { cart_id: 'cart-7', code: 'TEN', amount: 100 },
    })
    const versions = ours().map(({ data }) => Number(data.version))
    expect(versions[1]).toBeGreaterThan(Number(versions[0]))
  })
}
