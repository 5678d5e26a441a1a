import { once } from 'node:events'
import { get } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type FakePaymentProvider, startPaymentProvider } from './payment-provider/payment-provider.ts'

/**
 * What the fake checks and the tests of refunds do not: `stripe-provider`, `stripe-retries` and `stripe-records` use its
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
