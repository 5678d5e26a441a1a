import { describe, expect, test } from '@jest/globals'
import type { SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { type Delivery, pingType } from '#shared/deliveries/delivery.ts'
import { attemptOf, nextAttemptAt, withAttempt } from '#shared/deliveries/handle-response.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { localSettings } from '#test/support/settings.ts'

const now = Date.parse('2026-03-01T12:00:00Z')
const made = { at: timestamp(now), milliseconds: 7 }

function delivery(changes: Partial<Delivery> = {}): Delivery {
  const ids = { pk: 'p', sk: 'd', subscriber_id: 's', event_id: 'e', type: 'order.placed', body: '{}' }
  return { ...ids, state: 'waiting', attempted: 0, attempts: [], expires_at: 1, ...changes }
}

describe('an attempt', () => {
  test.each<[SubscriberResponse, object]>([
    [
      { status: 199, answer: '' },
      { status: 199, reason: 'status' },
    ],
    [
      { status: 200, answer: 'yes' },
      { status: 200, answer: 'yes' },
    ],
    [{ status: 299, answer: '' }, { status: 299 }],
    [
      { status: 300, answer: '' },
      { status: 300, reason: 'redirect' },
    ],
    [
      { status: 399, answer: '' },
      { status: 399, reason: 'redirect' },
    ],
    [
      { status: 400, answer: 'no' },
      { status: 400, answer: 'no', reason: 'status' },
    ],
    [
      { status: 410, answer: '' },
      { status: 410, reason: 'gone' },
    ],
    [{ reason: 'timeout' }, { reason: 'timeout' }],
  ])('with the response %j has %j', (response, expected) => {
    expect(attemptOf(response, { at: now, milliseconds: 7 })).toStrictEqual({ ...made, ...expected })
  })
})

describe('a recorded attempt', () => {
  test('is the latest of at most 30', () => {
    const attempts = Array.from({ length: 30 }, (_, n) => ({ ...made, milliseconds: n }))
    const earlier = delivery({ attempts, attempted: 40 })
    expect(withAttempt(earlier, { ...made, reason: 'status' })).toMatchObject({
      attempted: 41,
      attempts: [...attempts.slice(1), { ...made, reason: 'status' }],
    })
  })

  test('of a failure keeps its whole answer', () => {
    const failed = { ...made, status: 500, answer: 'x'.repeat(1024), reason: 'status' }
    expect(withAttempt(delivery(), failed).attempts).toEqual([failed])
  })

  test('of a success has no answer where not even a character of it fits', () => {
    const answerOf = (answer: string, body: string) =>
      withAttempt(delivery({ body }), { ...made, answer }).attempts[0]
    const sizes = Array.from({ length: 1024 }, (_, n) => answerOf('é', 'b'.repeat(n)))
    expect(sizes.filter((one) => one && !('answer' in one))).toEqual([made])
  })
})

describe('the next attempt', () => {
  const { retriesAfterSeconds } = localSettings['deliveries.schedule']
  const [first = 0, second = 0] = retriesAfterSeconds
  const schedule = { ...localSettings['deliveries.schedule'], jitter: 0.2, maxRetryAfterSeconds: 3600 }
  const settings = { ...localSettings, 'deliveries.schedule': schedule }

  /** Returns the seconds until the next attempt. */
  function pauseOf(
    changes: Partial<Delivery>,
    response: SubscriberResponse = { status: 500, answer: '' },
    random = 0.5,
  ): number | undefined {
    const clock = { jitter: () => random } as never
    const at = nextAttemptAt(delivery(changes), response, { settings, now: () => now, clock })
    return at === undefined ? undefined : (at - now) / 1000
  }

  test.each([
    ['the first attempt', { attempted: 0 }, first],
    ['the second attempt', { attempted: 1 }, second],
    ['the first one after it was sent again', { attempted: 9, uncounted_attempts: 9 }, first],
    ['the last one', { attempted: retriesAfterSeconds.length }, undefined],
    ['that of a test', { type: pingType }, undefined],
  ])('after %s follows the schedule', (_, changes, seconds) => {
    expect(pauseOf(changes)).toBe(seconds)
  })

  test.each([
    [0, 0.8],
    [1, 1.2],
  ])('is moved by the random number %s to %s of its pause', (random, part) => {
    expect(pauseOf({}, { reason: 'timeout' }, random)).toBe(first * part)
  })

  test.each([
    ['120', 120],
    ['999999999', 3600],
    ['1e2', first],
    [' 120', first],
    ['Sun, 01 Mar 2026 12:02:00 GMT', 120],
    ['Sun, 01 Mar 2026 11:58:00 GMT', first],
    ['soon', first],
  ])('honors the Retry-After %j by %s seconds', (retryAfter, seconds) => {
    expect(pauseOf({}, { status: 503, answer: '', retryAfter })).toBe(seconds)
  })
})
