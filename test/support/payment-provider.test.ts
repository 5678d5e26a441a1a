import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import Stripe from 'stripe'
import { createWebhookEndpoint } from '#bin/local/payment-provider.ts'
import { startHttpServer } from './http-server.ts'
import { type FakePaymentProvider, startPaymentProvider } from './payment-provider/payment-provider.ts'

/**
 * What the fake checks and the tests of refunds do not: `stripe-provider`, `stripe-retries` and `list-stripe-refunds` use its
 * keys, lists, faults and names with effects.
 */
let provider: FakePaymentProvider
beforeEach(async () => {
  provider = await startPaymentProvider()
})
afterEach(() => provider.stop())

interface Body {
  error: { message: string }
}

const account = { Authorization: 'Bearer sk_test_1', 'Stripe-Account': 'acct_a' }

async function send(path: string, form?: object, headers: Record<string, string> = account) {
  const body = form && new URLSearchParams(form as Record<string, string>)
  const response = await fetch(`${provider.endpoint}/v1${path}`, {
    headers,
    ...(body && { method: 'POST', body }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body }
}

test.each([
  ['is served', {}, 200],
  ['under another name of the machine is refused', { Host: 'rebound.example' }, 403],
  ['from a web page is refused', { Origin: 'http://localhost:5173' }, 403],
])('a caller %s', async (_, headers, status) => {
  // `fetch` does not allow these headers.
  const [answer] = await once(get(`${provider.endpoint}/refunds`, { headers }), 'response')
  answer.resume()
  expect(answer.statusCode).toBe(status)
})

describe('a refund', () => {
  test('has Stripe’s fields and headers', async () => {
    const form = { charge: 'ch_1', amount: 500, 'metadata[order]': 'o1' }
    const { status, headers, body } = await send('/refunds', form, { ...account, 'Idempotency-Key': 'k' })
    expect([status, body]).toMatchObject([
      200,
      {
        id: expect.stringMatching(/^re_\w{24}$/),
        ...{ object: 'refund', charge: 'ch_1', amount: 500, currency: 'eur', status: 'succeeded' },
        metadata: { order: 'o1' },
      },
    ])
    const names = ['request-id', 'stripe-account', 'idempotency-key']
    expect(names.map((name) => headers.get(name))).toEqual([expect.stringMatching(/^req_/), 'acct_a', 'k'])
  })

  test.each([
    [{ charge: 'py_1', amount: 1 }, account, 404, 'resource_missing'],
    [{ charge: 'ch_1', amount: 100_001 }, account, 400, 'amount_too_large'],
    [{ charge: 'ch_1', amount: 0 }, account, 400, 'parameter_invalid_integer'],
    [{ charge: 'ch_1', amount: '1.5' }, account, 400, 'parameter_invalid_integer'],
    [{ amount: 1 }, account, 400, 'parameter_missing'],
    [{ charge: 'ch_1', amonut: 1 }, account, 400, 'parameter_unknown'],
    [{ charge: 'ch_declined_1', amount: 1 }, account, 402, 'charge_not_refundable'],
    [{ charge: 'ch_1', amount: 1 }, { ...account, 'Stripe-Account': 'nobody' }, 403, 'account_invalid'],
    [{ charge: 'ch_1', amount: 1 }, {}, 401, undefined],
  ])('of %j is rejected with the headers %j: %d %s', async (form, headers, status, code) => {
    const answer = await send('/refunds', form, headers as Record<string, string>)
    const error = { type: 'invalid_request_error', message: expect.any(String), ...(code && { code }) }
    expect(answer).toMatchObject({ status, body: { error } })
    expect(provider.refunds()).toEqual([])
  })
})

test.each(['limit=0', 'limit=101', 'limit=x', 'starting_after=re_none', 'page=2'])(
  'a list rejects %s',
  async (query) => expect((await send(`/refunds?${query}`)).status).toBe(400),
)

test('a fault that throws is reported', async () => {
  provider.faults = () => {
    throw new Error('mistaken')
  }
  const { status, body } = await send('/refunds', { charge: 'ch_1' })
  expect([status, body.error.message]).toEqual([400, expect.stringContaining('mistaken')])
})

describe('a webhook endpoint', () => {
  /** Starts an endpoint that refuses the first `refusals` requests, and returns the events that it acknowledges. */
  async function startEndpoint(refusals = 0) {
    const events: Stripe.Event[] = []
    let received = 0
    const endpoint = await startHttpServer(async (request, response) => {
      const payload = Buffer.concat(await request.toArray())
      received += 1
      if (received <= refusals) return void response.writeHead(500).end()
      const signature = request.headers['stripe-signature'] ?? ''
      events.push(Stripe.webhooks.constructEvent(payload, signature, secret))
      response.writeHead(202).end()
    })
    const secret = await createWebhookEndpoint(provider.endpoint, endpoint.url)
    const sent = async (count: number) => {
      while (events.length < count) await sleep(20)
      await endpoint.stop()
      return events
    }
    return { sent }
  }

  test('gets a signed event of each refund in its account, until it acknowledges it', async () => {
    const { sent } = await startEndpoint(1)
    await send('/refunds', { charge: 'ch_1', amount: 500, 'metadata[order]': 'o1' })
    expect(await sent(1)).toMatchObject([
      {
        ...{ object: 'event', type: 'refund.created', account: 'acct_a', livemode: false },
        data: {
          object: { object: 'refund', charge: 'ch_1', status: 'succeeded', metadata: { order: 'o1' } },
        },
      },
    ])
  })

  test('learns that a pending refund is paid, which happens once', async () => {
    const { sent } = await startEndpoint()
    await send('/refunds', { charge: 'ch_pending_1', amount: 500 })
    const pay = async () => (await send('/charges/ch_pending_1/pay', {})).body
    expect([await pay(), await pay()]).toEqual([{ paid: 1 }, { paid: 0 }])
    const [, updated] = (await sent(2)).toSorted((a, b) => a.type.localeCompare(b.type))
    expect(updated).toMatchObject({ type: 'refund.updated', data: { object: { status: 'succeeded' } } })
  })

  test('learns that a bank has returned a refund', async () => {
    const { sent } = await startEndpoint()
    await send('/refunds', { charge: 'ch_returned_1', amount: 500 })
    const events = await sent(3)
    const statuses = events.map(({ type, data }) => `${type} ${(data.object as Stripe.Refund).status}`)
    expect(statuses.toSorted()).toEqual([
      'refund.created succeeded',
      'refund.failed failed',
      'refund.updated failed',
    ])
  })
})
