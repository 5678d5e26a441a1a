import { Session } from 'node:inspector/promises'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Middleware } from 'openapi-fetch'
import { freePort } from '#test/support/free-port.ts'
import { runs } from '#test/support/runs.ts'
import {
  BareAnswerError,
  CallError,
  CanceledError,
  CommerceError,
  ConnectionError,
  commerceClient,
  TimeoutError,
} from '../../client/commerce-client.ts'
import { type ScriptedServer, type Step, scriptedServer } from './scripted-server.ts'
import { testTime } from './test-time.ts'

const order = { cart_id: 'cart-1', amount_minor: 1999, currency: 'EUR' } as const
const ranges = [
  [100, 200],
  [200, 400],
  [400, 800],
  [800, 1600],
] as const
const placed: Step = { status: 201, body: { id: 'o1' } }
const refused = (http: number, code: string, retryable: boolean, headers = {}): Step => ({
  status: http,
  headers,
  body: {
    error: { code, message_id: 'error.x', http, retryable, correlation_id: 'c1', details: {} },
  },
})
const busy = (headers = {}) => refused(503, 'DEPENDENCY.unavailable', true, headers)

const thrown = (reason: unknown): never => {
  throw reason
}
const page = async () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } })

let server: ScriptedServer
beforeAll(async () => {
  server = await scriptedServer()
})
afterAll(() => server?.stop())

/** Places an order while the server performs these steps. */
async function place(steps: Step[], random: () => number = () => 0.5) {
  const time = testTime()
  server.play(steps, time)
  const { clock, waits, fetch } = time
  const startedAt = clock.now()
  const client = commerceClient({ baseUrl: server.base_url, token: 't', clock, fetch, random })
  const outcome = await client.POST('/v1/orders', { body: order }).catch((error) => error)
  return { outcome, waits: [...waits], elapsed: clock.now() - startedAt, received: [...server.received] }
}

test.each(['', '/v1', 'api.example.com/prod'])(
  'a base URL that is not absolute is refused: %s',
  (baseUrl) => {
    expect(() => commerceClient({ baseUrl })).toThrow(TypeError)
  },
)

describe('attempts', () => {
  test('are at most five within 10 s, with delays in their ranges, the same key and the same body', async () => {
    const failing: fc.Arbitrary<Step> = fc
      .record({
        takes: fc.integer({ min: 0, max: 4000 }),
        how: fc.constantFrom<Step>(
          busy(),
          refused(500, 'TRANSIENT.error', true),
          refused(429, 'RATE_LIMIT.exceeded', true),
          { status: 502, body: { message: 'Bad gateway' } },
          { cut: 'at once' },
          { cut: 'half way' },
          { hangs: true },
        ),
      })
      .map(({ takes, how }) => ({ ...how, takes }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(failing, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
          minLength: 4,
          maxLength: 4,
        }),
        async (steps, ends, randoms) => {
          const drawn = [...randoms]
          const last: Step[] = ends ? [placed] : []
          const { outcome, waits, elapsed, received } = await place(
            [...steps, ...last],
            () => drawn.shift() ?? 0,
          )
          expect(received.length).toBeLessThanOrEqual(5)
          expect(waits).toHaveLength(received.length - 1)
          for (const [n, wait] of waits.entries()) {
            expect(wait).toBeGreaterThanOrEqual(ranges[n]?.[0] ?? Number.NaN)
            expect(wait).toBeLessThanOrEqual(ranges[n]?.[1] ?? Number.NaN)
          }
          // The clock counts in fractions of a millisecond.
          expect(elapsed).toBeLessThanOrEqual(10_000.01)
          expect(new Set(received.map(({ key }) => key)).size).toBe(1)
          expect(received[0]?.key).toMatch(/^[0-9a-f-]{36}$/)
          expect(new Set(received.map(({ body }) => body))).toEqual(new Set([JSON.stringify(order)]))
          if (outcome instanceof Error) expect(outcome).toHaveProperty('idempotency_key', received[0]?.key)
          else expect(outcome.data).toEqual({ id: 'o1' })
        },
      ),
      { ...runs(60) },
    )
  })

  test.each([
    [0, [100, 200, 400, 800]],
    [0.5, [150, 300, 600, 1200]],
    [0.999, [199.9, 399.8, 799.6, 1599.2]],
  ])('have delays spread over their ranges: a draw of %d waits %j', async (draw, expected) => {
    const { outcome, waits } = await place([busy()], () => draw)
    expect(outcome).toMatchObject({ name: 'CommerceError', code: 'DEPENDENCY.unavailable', retryable: true })
    expect(waits.map((wait) => Math.round(wait * 10) / 10)).toEqual(expected)
  })

  test('end at the first other status; a 4xx is never retried, even if it is marked retryable', async () => {
    await fc.assert(
      fc.asyncProperty(
        // fetch itself repeats a misdirected request (421), and reports a proxy's 407 as a network error.
        fc.integer({ min: 400, max: 499 }).filter((status) => ![407, 421, 429].includes(status)),
        fc.boolean(),
        async (status, retryable) => {
          const { outcome, received } = await place([refused(status, 'CONFLICT.any', retryable), placed])
          expect([received.length, outcome.http]).toEqual([1, status])
        },
      ),
      { ...runs(40) },
    )
  })

  test('end at a 500 that is marked not retryable', async () => {
    const { outcome, received } = await place([refused(500, 'INTERNAL.unexpected', false), placed])
    expect([received.length, outcome.code]).toEqual([1, 'INTERNAL.unexpected'])
  })

  test('do not start after 10 s, and the last one gets the remaining time', async () => {
    const slow = await place([{ ...busy(), takes: 4950 }])
    expect(slow.received).toHaveLength(2)
    const hanging = await place([{ ...busy(), takes: 4000 }, { hangs: true }])
    expect(hanging.elapsed).toBeLessThanOrEqual(10_000)
    expect(hanging.outcome).toBeInstanceOf(TimeoutError)
  })
})

describe('Retry-After', () => {
  test.each([
    ['seconds', { 'Retry-After': '3' }, [3375]],
    [
      'a date, relative to the clock of the service',
      { Date: 'Thu, 01 Jan 2026 07:00:00 GMT', 'Retry-After': 'Thu, 01 Jan 2026 07:00:04 GMT' },
      [4500],
    ],
    ['less than the schedule', { 'Retry-After': '0' }, [150]],
    ['a malformed value', { 'Retry-After': 'soon' }, [150]],
  ])('is honored as %s', async (_, headers, expected) => {
    const { outcome, waits } = await place([busy(headers), placed])
    expect([outcome.status, waits]).toEqual([201, expected])
  })

  test.each([
    ['never shortened', '4', 0, 4000],
    ['prolonged by up to a quarter', '4', 0.999, 4999],
    ['prolonged within the 10 s of the call', '9', 0.999, 9999],
  ])('is %s', async (_, seconds, random, expected) => {
    const { waits } = await place([busy({ 'Retry-After': seconds }), placed], () => random)
    expect(waits.map(Math.round)).toEqual([expected])
  })

  test('that exceeds the rest of the 10 s ends the call at once', async () => {
    const { outcome, waits, received } = await place([
      refused(429, 'RATE_LIMIT.exceeded', true, { 'Retry-After': '30' }),
    ])
    expect([received.length, waits, outcome.code]).toEqual([1, [], 'RATE_LIMIT.exceeded'])
    expect(outcome.response.headers.get('retry-after')).toBe('30')
  })
})

describe('each kind of failure is a separate error', () => {
  test.each<[string, Step, unknown]>([
    ['an envelope', busy(), CommerceError],
    ['a 5xx without one', { status: 502, body: { message: 'Bad gateway' } }, BareAnswerError],
    ['a reset connection', { cut: 'at once' }, ConnectionError],
    ['a truncated response', { cut: 'half way' }, ConnectionError],
    ['no response', { hangs: true }, TimeoutError],
  ])('%s', async (_, step, kind) => {
    const { outcome } = await place([step])
    expect(outcome).toBeInstanceOf(kind)
    expect((await place([step, placed])).outcome.data).toEqual({ id: 'o1' })
  })

  test('a refused connection is not retried', async () => {
    const time = testTime()
    const client = commerceClient({ baseUrl: `http://127.0.0.1:${await freePort()}`, ...time })
    await expect(client.GET('/health')).rejects.toBeInstanceOf(ConnectionError)
    expect(time.waits).toEqual([])
  })
})

describe('the key of a call', () => {
  const failure = new Error('enough')
  /** Fails in the second attempt. */
  const failing = (reason: unknown) => {
    let calls = 0
    return async () => {
      calls += 1
      if (calls === 2) throw reason
      return 't'
    }
  }
  const hanging = () => new Promise<string>(() => {})
  const broken = () => Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })

  /** Ways in which a call fails, with what they change. */
  type Way = (caller: AbortController) => {
    steps?: Step[]
    client?: Partial<Parameters<typeof commerceClient>[0]>
    call?: { parseAs?: 'json'; middleware?: Middleware[] }
    /** The caller's signal fires during the attempt. */
    aborts?: true
  }
  const canceling = (caller: AbortController) => () => {
    caller.abort(failure)
    return 0
  }
  test.each<[string, new (...given: never[]) => CallError, unknown, Way]>([
    ['an envelope', CommerceError, undefined, () => ({ steps: [busy()] })],
    ['an answer of a proxy', BareAnswerError, undefined, () => ({ steps: [{ status: 502, body: 'none' }] })],
    [
      'a success that is no JSON',
      BareAnswerError,
      { name: 'SyntaxError' },
      () => ({ client: { fetch: page } }),
    ],
    ['a reset connection', ConnectionError, { name: 'TypeError' }, () => ({ steps: [{ cut: 'at once' }] })],
    ['a truncated answer', ConnectionError, { name: 'TypeError' }, () => ({ steps: [{ cut: 'half way' }] })],
    [
      'a refused connection',
      ConnectionError,
      broken(),
      () => ({ client: { fetch: async () => thrown(broken()) } }),
    ],
    ['no answer', TimeoutError, { name: 'AbortError' }, () => ({ steps: [{ hangs: true }] })],
    [
      'a token that never comes',
      TimeoutError,
      { name: 'AbortError' },
      () => ({ client: { token: hanging } }),
    ],
    ['the signal, in an attempt', CanceledError, failure, () => ({ steps: [{ hangs: true }], aborts: true })],
    [
      'the signal, between attempts',
      CanceledError,
      failure,
      (caller) => ({ client: { random: canceling(caller) } }),
    ],
    [
      'the signal, while the token does not come',
      CanceledError,
      failure,
      (caller) => ({
        client: {
          token: () => {
            setImmediate(canceling(caller))
            return hanging()
          },
        },
      }),
    ],
    ['the token', CallError, failure, () => ({ client: { token: failing(failure) } })],
    ['the token, without a reason', CallError, undefined, () => ({ client: { token: failing(undefined) } })],
    [
      'another error of fetch',
      CallError,
      failure,
      () => ({ client: { fetch: async () => thrown(failure) } }),
    ],
    [
      'a number that cannot be drawn',
      CallError,
      failure,
      () => ({ client: { random: () => thrown(failure) } }),
    ],
    [
      'content of another form',
      CallError,
      { name: 'SyntaxError' },
      () => ({ client: { fetch: page }, call: { parseAs: 'json' } }),
    ],
    [
      'a middleware',
      CallError,
      failure,
      () => ({ call: { middleware: [{ onResponse: () => thrown(failure) }] } }),
    ],
  ])('is on the error of %s', async (_, kind, cause, way) => {
    const caller = new AbortController()
    const { steps = [busy()], client, call, aborts } = way(caller)
    const time = testTime()
    server.play(steps, aborts ? { ...time, expire: canceling(caller) } : time)
    const { POST } = commerceClient({ baseUrl: server.base_url, ...time, newKey: () => 'first', ...client })
    const error = await POST('/v1/orders', { body: order, signal: caller.signal, ...call }).catch((e) => e)
    expect(error.constructor).toBe(kind)
    expect(error).toMatchObject({ name: kind.name, idempotency_key: 'first' })
    expect([error.cause]).toMatchObject([cause])
  })

  test('is on the error of a time limit of the caller, which has the name of another error', async () => {
    const client = commerceClient({ baseUrl: server.base_url, newKey: () => 'first', token: hanging })
    const call = client.POST('/v1/orders', { body: order, signal: AbortSignal.timeout(1) })
    const cause = expect.objectContaining({ name: 'TimeoutError' })
    await expect(call).rejects.toMatchObject({ name: 'CanceledError', idempotency_key: 'first', cause })
  })

  test.each([
    ['undefined', { params: { header: { 'Idempotency-Key': undefined } } }],
    ['empty', { params: { header: { 'Idempotency-Key': ' ' } } }],
    ['empty, in lower case', { params: { header: { 'idempotency-key': '' } } }],
    ['undefined, among the headers', { headers: { 'Idempotency-Key': undefined } }],
    ['empty, among the headers', { headers: new Headers({ 'Idempotency-Key': '' }) }],
    ['undefined, in a list of headers', { headers: [['Idempotency-Key', undefined]] }],
  ])('is refused if it is %s', async (_, call) => {
    server.play([placed], testTime())
    const client = commerceClient({ baseUrl: server.base_url })
    const error = await client.POST('/v1/orders', { body: order, ...(call as object) }).catch((e) => e)
    expect(error).toBeInstanceOf(TypeError)
    expect(server.received).toEqual([])
  })

  test.each([
    ['the parameters', { params: { header: { 'Idempotency-Key': 'mine' } } }],
    ['the headers', { headers: { 'idempotency-key': 'mine' } }],
    ['an object of headers', { headers: new Headers({ 'Idempotency-Key': 'mine' }) }],
    ['an object of headers of another package', { headers: new Map([['Idempotency-Key', 'mine']]) }],
    ['a list of headers', { headers: [['Idempotency-Key', 'mine']] }],
  ])('is taken from %s', async (_, call) => {
    server.play([placed], testTime())
    const client = commerceClient({ baseUrl: server.base_url })
    const answer = await client.POST('/v1/orders', { body: order, ...(call as object) })
    expect([answer.idempotency_key, server.received[0]?.key]).toEqual(['mine', 'mine'])
  })

  test('is made if JavaScript gives null as the headers', async () => {
    server.play([placed], testTime())
    const client = commerceClient({ baseUrl: server.base_url })
    const answer = await client.POST('/v1/orders', { body: order, headers: null as never })
    expect(answer.idempotency_key).toEqual(expect.any(String))
  })
})

describe('requests', () => {
  test('get a new token for each attempt, and a 401 is an error', async () => {
    const time = testTime()
    server.play([busy(), refused(401, 'AUTH.token.expired', false)], time)
    let tokens = 0
    const token = async () => {
      tokens += 1
      return `t${tokens}`
    }
    const client = commerceClient({ baseUrl: server.base_url, ...time, token })
    await expect(client.GET('/v1/orders')).rejects.toMatchObject({ code: 'AUTH.token.expired', http: 401 })
    expect(server.received.map(({ authorization }) => authorization)).toEqual(['Bearer t1', 'Bearer t2'])
  })

  describe('of a large export', () => {
    const file: Step = { status: 200, headers: { 'Content-Type': 'text/csv' }, body: 'id' }
    let storage: ScriptedServer
    beforeAll(async () => {
      storage = await scriptedServer()
    })
    afterAll(() => storage?.stop())

    function playLink(answer = file) {
      const time = testTime()
      const link = `${storage.base_url}/file.csv?X-Amz-Signature=1`
      server.play([{ status: 303, headers: { Location: link } }], time)
      storage.play([answer], time)
      return time
    }

    test.each([
      ['token', { token: 't' }, { authorization: 'Bearer t' }],
      ['API key', { headers: { 'X-API-Key': 'ck_acme.secret' } }, { api_key: 'ck_acme.secret' }],
      [
        'API key of a client with a token',
        { token: 't', headers: { 'X-API-Key': 'ck_acme.secret' } },
        { authorization: 'Bearer t', api_key: 'ck_acme.secret' },
      ],
    ])('follow its link without the %s', async (_, credentials, sent) => {
      const client = commerceClient({ baseUrl: server.base_url, ...playLink(), ...credentials })
      const { status, data } = await client.GET('/codes:export')
      expect([status, data]).toEqual([200, '"id"'])
      expect(server.received).toMatchObject([{ url: '/codes:export', ...sent }])
      const none = { authorization: undefined, api_key: undefined }
      expect(storage.received).toMatchObject([{ url: '/file.csv?X-Amz-Signature=1', ...none }])
    })

    test.each([
      ['token', { token: 't' }],
      ['API key', { headers: { 'X-Api-Key': 'ck_acme.secret' } }],
    ])('get its parts as they arrive, also after the limits of time, with %s', async (_, credentials) => {
      const { promise: second, resolve } = Promise.withResolvers<string>()
      const time = playLink({ first: 'id\n', second })
      const client = commerceClient({ baseUrl: server.base_url, ...time, ...credentials })
      const { data } = await client.GET('/codes:export', { parseAs: 'stream' })
      time.expire()
      resolve('1\n')
      expect(await new Response(data as ReadableStream).text()).toBe('id\n1\n')
    })

    describe.each(['text', 'stream'] as const)('as a %s', (form) => {
      /** Reads a file whose first part has arrived. `ended` is its text, or why there is none. */
      async function readFile(second: Promise<string>) {
        const time = playLink({ first: 'id\n', second })
        const arrived = Promise.withResolvers<void>()
        const fetch = async (request: Request) => {
          const response = await time.fetch(request)
          arrived.resolve()
          return response
        }
        const client = commerceClient({ baseUrl: server.base_url, ...time, fetch, token: 't' })
        const caller = new AbortController()
        const options = { ...(form === 'stream' && { parseAs: form }), signal: caller.signal }
        const text = client
          .GET('/codes:export', options)
          .then(({ data }) =>
            form === 'stream' ? new Response(data as unknown as ReadableStream).text() : data,
          )
        const ended = text.catch((error) => error)
        await arrived.promise
        return { caller, ended }
      }

      test('ends by the signal of the caller, also after a garbage collection', async () => {
        const { caller, ended } = await readFile(new Promise(() => {}))
        // Unlike --expose-gc, it changes no flag of V8, so the code that others have compiled stays valid.
        const session = new Session()
        session.connect()
        for (let count = 0; count < 5; count += 1) {
          await setTimeout(10)
          await session.post('HeapProfiler.collectGarbage')
        }
        session.disconnect()
        caller.abort()
        expect(await ended).toBeInstanceOf(CanceledError)
      })

      test('fails as a connection that breaks', async () => {
        const { promise, reject } = Promise.withResolvers<string>()
        const { ended } = await readFile(promise)
        reject(new Error('cut'))
        expect(await ended).toBeInstanceOf(ConnectionError)
      })
    })

    test('follow its link in a browser, which hides the address of a redirect', async () => {
      const time = playLink()
      const browser = (request: Request) => {
        if (request.redirect !== 'manual') return time.fetch(request)
        const hidden = Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' })
        return Promise.resolve(hidden)
      }
      const headers = { 'X-Api-Key': 'ck_acme.secret' }
      const client = commerceClient({ baseUrl: server.base_url, ...time, fetch: browser, headers })
      expect((await client.GET('/codes:export')).status).toBe(200)
    })
  })

  test('send all headers of a list', async () => {
    server.play([placed], testTime())
    const client = commerceClient({ baseUrl: server.base_url })
    await client.POST('/v1/orders', { body: order, headers: [['Authorization', 'Bearer mine']] })
    expect(server.received).toMatchObject([{ authorization: 'Bearer mine' }])
  })

  test('send no key for reads, and join list values with commas', async () => {
    const time = testTime()
    server.play([{ status: 200, body: {} }], time)
    const client = commerceClient({ baseUrl: server.base_url, ...time })
    await client.GET('/v1/orders', { params: { query: { 'status.in': ['paid', 'active'] } } })
    expect(server.received).toMatchObject([{ key: undefined, url: '/v1/orders?status.in=paid,active' }])
  })
})
