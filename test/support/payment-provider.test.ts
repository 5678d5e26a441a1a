import { once } from 'node:events'
import { get } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type FakePaymentProvider, startPaymentProvider } from './payment-provider/payment-provider.ts'
import { serverError } from './payment-provider/stripe-wire.ts'

let provider: FakePaymentProvider

beforeEach(async () => {
  provider = await startPaymentProvider()
})
afterEach(() => provider.stop())

interface Ask {
  account?: string
  key?: string
  signal?: AbortSignal
  headers?: Record<string, string>
}

/** The response fields that the tests read: of refunds, lists of refunds and errors. */
interface Body {
  id: string
  amount: number
  status: string
  data: Body[]
  has_more: boolean
  error: { code: string; type: string }
}

async function ask(
  method: string,
  path: string,
  { account, key, signal, headers, ...form }: Ask & Record<string, unknown>,
) {
  const response = await fetch(`${provider.endpoint}${path}`, {
    method,
    headers: {
      Authorization: 'Bearer sk_test_1',
      ...(account && { 'Stripe-Account': account }),
      ...(key && { 'Idempotency-Key': key }),
      ...headers,
    },
    ...(method === 'POST' && { body: new URLSearchParams(form as Record<string, string>) }),
    ...(signal && { signal }),
  })
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed'),
    headers: response.headers,
    body: (await response.json()) as Body,
  }
}

const refund = (form: Ask & Record<string, unknown>) =>
  ask('POST', '/v1/refunds', { account: 'acct_a', ...form })
const read = (path: string, options: Ask = {}) => ask('GET', path, { ...options })

describe('a caller', () => {
  /** Sends a request with headers that `fetch` does not allow. */
  async function statusFor(headers: Record<string, string>): Promise<number | undefined> {
    const [answer] = await once(get(`${provider.endpoint}/refunds`, { headers }), 'response')
    answer.resume()
    return answer.statusCode
  }

  test('is served', async () => {
    expect(await statusFor({})).toBe(200)
  })

  test.each([
    ['under another name of the machine', { Host: 'rebound.example' }],
    ['from a web page', { Origin: 'http://localhost:5173' }],
  ])('%s is refused', async (_, headers) => {
    expect(await statusFor(headers)).toBe(403)
  })
})

describe('refunds', () => {
  test('a refund has Stripe’s fields', async () => {
    const { status, headers, body } = await refund({
      charge: 'ch_1',
      amount: 500,
      'metadata[order]': 'o1',
      key: 'k',
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      id: expect.stringMatching(/^re_\w{24}$/),
      object: 'refund',
      charge: 'ch_1',
      amount: 500,
      currency: 'eur',
      status: 'succeeded',
      metadata: { order: 'o1' },
    })
    expect(headers.get('request-id')).toMatch(/^req_/)
    expect(headers.get('stripe-account')).toBe('acct_a')
    expect(headers.get('idempotency-key')).toBe('k')
  })

  test('without an amount it is the remaining amount', async () => {
    await refund({ charge: 'ch_1', amount: 1 })
    expect((await refund({ charge: 'ch_1' })).body.amount).toBe(99_999)
  })

  test.each([
    [{ charge: 'py_1', amount: 1 }, 404, 'resource_missing'],
    [{ charge: 'ch_1', amount: 100_001 }, 400, 'amount_too_large'],
    [{ charge: 'ch_1', amount: 0 }, 400, 'parameter_invalid_integer'],
    [{ charge: 'ch_1', amount: '1.5' }, 400, 'parameter_invalid_integer'],
    [{ amount: 1 }, 400, 'parameter_missing'],
    [{ charge: 'ch_1', amonut: 1 }, 400, 'parameter_unknown'],
    [{ charge: 'ch_declined_1', amount: 1 }, 402, 'charge_not_refundable'],
    [{ charge: 'ch_1', amount: 1, account: 'nobody' }, 403, 'account_invalid'],
  ])('%j is rejected: %d %s', async (form, status, code) => {
    const answer = await refund(form)
    expect(answer).toMatchObject({ status, body: { error: { code } } })
    expect(answer.body.error).toMatchObject({ type: 'invalid_request_error', message: expect.any(String) })
    expect(provider.refunds()).toEqual([])
  })

  test('nothing remains of a charge that was refunded in full', async () => {
    await refund({ charge: 'ch_1' })
    expect((await refund({ charge: 'ch_1', amount: 1 })).body.error.code).toBe('charge_already_refunded')
    expect((await refund({ charge: 'ch_1', amount: 1, account: 'acct_b' })).status).toBe(200)
  })

  test('a request without an API key is rejected', async () => {
    const answer = await refund({ charge: 'ch_1', headers: { Authorization: '' } })
    expect(answer.status).toBe(401)
  })

  test('paid refunds are listed, with and without a version, for one account or all', async () => {
    await refund({ charge: 'ch_1', amount: 1 })
    await refund({ charge: 'ch_2', amount: 2 })
    await refund({ charge: 'ch_1', amount: 3, account: 'acct_b' })
    const amounts = async (path: string, options?: Ask) =>
      (await read(path, options)).body.data.map(({ amount }) => amount)
    expect(await amounts('/refunds')).toEqual([3, 2, 1])
    expect(await amounts('/refunds?charge=ch_1')).toEqual([3, 1])
    expect(await amounts('/v1/refunds?charge=ch_1', { account: 'acct_b' })).toEqual([3])
    expect((await read('/refunds?charge=ch_2')).body.data).toEqual(
      provider.refunds().filter(({ charge }) => charge === 'ch_2'),
    )
  })

  describe('a list', () => {
    const listed = async (query: string) => {
      const { status, body } = await read(`/v1/refunds?${query}`, { account: 'acct_a' })
      return { status, amounts: body.data?.map(({ amount }) => amount), more: body.has_more }
    }
    let ids: string[]
    beforeEach(async () => {
      ids = []
      for (let amount = 1; amount <= 12; amount += 1)
        ids.push((await refund({ charge: 'ch_1', amount })).body.id)
    })

    test('has the ten newest refunds unless it says otherwise', async () => {
      expect(await listed('')).toEqual({
        status: 200,
        amounts: [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
        more: true,
      })
    })

    test('continues after an object, and ends', async () => {
      expect(await listed(`limit=3&starting_after=${ids[3]}`)).toEqual({
        status: 200,
        amounts: [3, 2, 1],
        more: false,
      })
      expect(await listed(`limit=2&starting_after=${ids[3]}`)).toEqual({
        status: 200,
        amounts: [3, 2],
        more: true,
      })
      expect(await listed(`starting_after=${ids[0]}`)).toEqual({ status: 200, amounts: [], more: false })
    })

    test('goes back before an object', async () => {
      expect(await listed(`limit=2&ending_before=${ids[8]}`)).toEqual({
        status: 200,
        amounts: [11, 10],
        more: true,
      })
      expect(await listed(`limit=3&ending_before=${ids[8]}`)).toEqual({
        status: 200,
        amounts: [12, 11, 10],
        more: false,
      })
    })

    test('is limited to a time range', async () => {
      const created = provider.refunds()
      for (const [index, one] of created.entries()) one.created = 100 + index
      expect((await listed('created[gte]=102&created[lt]=105')).amounts).toEqual([5, 4, 3])
      expect((await listed('created[gt]=102&created[lte]=105')).amounts).toEqual([6, 5, 4])
      expect((await listed('created=103')).amounts).toEqual([4])
      expect(await listed(`limit=1&created[gte]=102&starting_after=${ids[3]}`)).toMatchObject({
        amounts: [3],
        more: false,
      })
    })

    test.each(['limit=0', 'limit=101', 'limit=x', 'starting_after=re_none', 'page=2'])(
      'rejects %s',
      async (query) => {
        expect((await listed(query)).status).toBe(400)
      },
    )

    test('rejects two cursors', async () => {
      expect((await listed(`starting_after=${ids[1]}&ending_before=${ids[2]}`)).status).toBe(400)
    })
  })

  test('a refund and its charge are returned', async () => {
    const { body } = await refund({ charge: 'ch_1', amount: 500 })
    expect((await read(`/v1/refunds/${body.id}`)).body).toEqual(body)
    expect((await read(`/v1/refunds/${body.id}`, { account: 'acct_b' })).status).toBe(404)
    const charge = { id: 'ch_1', amount: 100_000, currency: 'eur', refunded: false }
    expect((await read('/v1/charges/ch_1', { account: 'acct_a' })).body).toMatchObject({
      ...charge,
      amount_refunded: 500,
    })
    expect((await read('/v1/charges/ch_1', { account: 'acct_b' })).body).toMatchObject({
      ...charge,
      amount_refunded: 0,
    })
    expect((await read('/v1/charges/other')).status).toBe(404)
    expect((await read('/v1/customers')).status).toBe(404)
  })
})

describe('keys', () => {
  test('the same parameters get the first response, errors included', async () => {
    for (const form of [
      { charge: 'ch_1', amount: 1 },
      { charge: 'ch_1', amount: 200_000 },
    ]) {
      const key = `key-${form.amount}`
      const first = await refund({ ...form, key })
      const again = await refund({ ...form, key })
      expect(first.replayed).toBeNull()
      expect(again).toMatchObject({ status: first.status, replayed: 'true', body: first.body })
    }
    expect(provider.refunds()).toHaveLength(1)
  })

  test('other parameters are rejected; each account has its own keys', async () => {
    await refund({ charge: 'ch_1', amount: 1, key: 'k' })
    const other = await refund({ charge: 'ch_1', amount: 2, key: 'k' })
    expect(other).toMatchObject({ status: 400, body: { error: { type: 'idempotency_error' } } })
    expect((await refund({ charge: 'ch_1', amount: 2, key: 'k', account: 'acct_b' })).status).toBe(200)
  })

  test('a key is in use while its request is in progress', async () => {
    const work = Promise.withResolvers<void>()
    provider.faults = ({ number }) => (number === 1 ? { until: work.promise } : undefined)
    const first = refund({ charge: 'ch_1', amount: 1, key: 'k' })
    while (provider.calls.length === 0) await new Promise((wake) => setTimeout(wake, 5))
    const second = await refund({ charge: 'ch_1', amount: 1, key: 'k' })
    expect(second).toMatchObject({ status: 409, body: { error: { code: 'idempotency_key_in_use' } } })
    work.resolve()
    expect((await first).status).toBe(200)
  })
})

describe('names with effects', () => {
  test('ch_slow_…: paid, with a response after the first request of a key gave up', async () => {
    const form = { charge: 'ch_slow_1', amount: 1, key: 'k' }
    await expect(refund({ ...form, signal: AbortSignal.timeout(200) })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    expect(provider.refunds()).toHaveLength(1)
    expect(await refund(form)).toMatchObject({
      status: 200,
      replayed: 'true',
      body: { id: provider.refunds()[0]?.id },
    })
  })

  test('ch_down_…: two failures for each key', async () => {
    const statuses = async (key: string) => {
      const answers = []
      for (let n = 0; n < 4; n += 1)
        answers.push((await refund({ charge: 'ch_down_1', amount: 1, key })).status)
      return answers
    }
    expect(await statuses('k')).toEqual([503, 503, 200, 200])
    expect(await statuses('l')).toEqual([503, 503, 200, 200])
    expect(provider.refunds()).toHaveLength(2)
  })

  test('ch_pending_…: accepted, and counted as paid', async () => {
    expect((await refund({ charge: 'ch_pending_1' })).body.status).toBe('pending')
    expect((await refund({ charge: 'ch_pending_1' })).body.error.code).toBe('charge_already_refunded')
  })
})

describe('faults', () => {
  test.each(['before', 'after'] as const)('%s the execution', async (when) => {
    const signal = () => AbortSignal.timeout(200)
    const form = { charge: 'ch_1', amount: 1 }
    provider.faults = ({ number }) =>
      [
        { when, how: serverError() },
        { when, how: 'reset' as const },
        { when, how: 'lose' as const },
      ][number - 1]
    expect((await refund({ ...form, key: '1' })).status).toBe(500)
    await expect(refund({ ...form, key: '2' })).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/) },
    })
    await expect(refund({ ...form, key: '3', signal: signal() })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    expect(provider.refunds()).toHaveLength(when === 'after' ? 3 : 0)
    for (const key of ['1', '2', '3'])
      expect((await refund({ ...form, key })).replayed).toBe(when === 'after' ? 'true' : null)
    expect(provider.refunds()).toHaveLength(3)
  })

  test('a fault that throws is reported', async () => {
    provider.faults = () => {
      throw new Error('mistaken')
    }
    expect(await refund({ charge: 'ch_1' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('mistaken') } },
    })
  })
})
