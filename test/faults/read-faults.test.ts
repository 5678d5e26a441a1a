import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Answer } from '#test/support/service.ts'
import type { Fault } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const times = { once: 1, 'three times': 3, forever: Number.POSITIVE_INFINITY }
const named = ['lose-answer', 'lose-request', 'throttle', 'internal', 'unavailable', 'no-answer'] as const
const budget = { 'X-Request-Timeout': '400' }

const service = await useFaultyService()
const kinds: [string, Fault][] = [
  ...named.map((fault): [string, Fault] => [fault, fault]),
  ['a short delay', { first: () => service.clock.advance(30) }],
]

/** The response without its cursors, which are sealed with a new nonce each time. */
function seen({ status, headers, json }: Answer) {
  const { next_cursor: cursor, ...rest } = json
  return { status, etag: headers.ETag, rest, more: Boolean(cursor) }
}

const faults = kinds.flatMap(([name, fault]) =>
  Object.entries(times).map(([often, count]) => [name, often, fault, count] as const),
)

describe('reads while the table fails', () => {
  const paths = {
    order: (id: string) => `/v1/orders/${id}`,
    'first page': () => '/v1/orders?page_size=2',
    'filtered page': () => '/v1/orders?page_size=2&amount_minor.gte=1',
    'order of another tenant': () => `/v1/orders/01900000-0000-8000-8000-000000000000`,
    "branch's order as an Admin": (id: string) => `/v1/orders/${id}`,
  }
  let id: string
  beforeAll(async () => {
    for (let placed = 0; placed < 3; placed += 1) {
      const answer = await service.call({
        method: 'POST',
        path: '/v1/orders',
        as: { tenant: 'reader', role: 'Editor' },
        headers: { 'Idempotency-Key': `key-${placed}` },
        body: { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' },
      })
      id = answer.json.id
    }
  })

  test.each(faults)(
    '%s %s on any call of a read returns the right response or a retryable failure',
    async (...row) => {
      const [, , fault, count] = row
      for (const [name, path] of Object.entries(paths)) {
        const as = name.endsWith('Admin')
          ? { tenant: 'head', role: 'Admin' }
          : { tenant: 'reader', role: 'Viewer' }
        const read = (headers = {}) =>
          service.call({ path: path(id), as, headers: { ...headers, 'X-Correlation-Id': 'same' } })
        service.faults.reset()
        const expected = await read()
        expect(expected.status).toBe(name === 'order of another tenant' ? 404 : 200)
        const calls = service.faults.calls.length
        for (let at = 0; at < calls; at += 1) {
          service.faults.reset()
          service.inject(fault, at, count)
          const answer = await read(budget)
          if (answer.status >= 500) expectRetryable(answer)
          else expect(seen(answer)).toEqual(seen(expected))
          service.faults.reset()
          expect(seen(await read())).toEqual(seen(expected))
        }
      }
    },
  )
})
