import { timestamp } from '../platform/base/clock.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type SubscriberResponse, textOf } from './call-subscriber.ts'
import { type Attempt, type Delivery, pingType } from './delivery.ts'

/** The attempts that a delivery keeps: more than a schedule has, as an operator may send it again. */
const keptAttempts = 30

/** The size of a write unit. */
const unitBytes = 1024

/** Returns a response as an attempt. Only 2xx is a success; a redirect is not followed. */
export function attemptOf(
  response: SubscriberResponse,
  { at, milliseconds }: { at: number; milliseconds: number },
): Attempt {
  const made = { at: timestamp(at), milliseconds }
  if ('reason' in response) return { ...made, reason: response.reason }
  const { status, answer } = response
  const reason = reasonOf(status)
  return { ...made, status, ...(answer && { answer }), ...(reason && { reason }) }
}

function reasonOf(status: number): string | undefined {
  if (status >= 200 && status < 300) return undefined
  if (status === 410) return 'gone'
  return status >= 300 && status < 400 ? 'redirect' : 'status'
}

/**
 * Returns a delivery with one more attempt. The answer of a success is cut where it would cost another write unit: the
 * first attempt of most deliveries is their only write.
 */
export function withAttempt(
  delivery: Delivery,
  made: Attempt,
  { state, next_at }: Pick<Delivery, 'state'> & { next_at: number | undefined },
): Delivery {
  const { waiting: _, next_at: __, ...kept } = delivery
  const recorded = (one: Attempt): Delivery => ({
    ...kept,
    state,
    attempted: delivery.attempted + 1,
    ...(one.reason === 'no_slot' && { attempted_before: (delivery.attempted_before ?? 0) + 1 }),
    attempts: [...delivery.attempts, one].slice(-keptAttempts),
    ...(next_at !== undefined && { next_at }),
  })
  const { answer = '', ...withoutAnswer } = made
  if (state !== 'succeeded' || answer === '') return recorded(made)
  const bytes = sizeOf(recorded({ ...withoutAnswer, answer: '' }))
  const cut = textOf(Buffer.from(answer), unitBytes - (bytes % unitBytes))
  return recorded(cut === '' ? withoutAnswer : { ...withoutAnswer, answer: cut })
}

/** Returns an upper bound of the size of an item: JSON adds more to each attribute than the table does. */
function sizeOf({ body, ...others }: Delivery): number {
  return Buffer.byteLength(body) + 'body'.length + Buffer.byteLength(JSON.stringify(others))
}

/**
 * Returns the time of the next attempt after a failed one, in milliseconds since 1970: that of the schedule, or a later one
 * that the subscriber asks for. Undefined after the last attempt.
 */
export function nextAttemptAt(
  { type, attempted, attempted_before = 0 }: Delivery,
  response: SubscriberResponse,
  { settings, now, clock }: Pick<WorkContext, 'settings' | 'now' | 'clock'>,
): number | undefined {
  const { retriesAfterSeconds, jitter, maxRetryAfterSeconds } = settings['deliveries.schedule']
  const pause = type === pingType ? undefined : retriesAfterSeconds[attempted - attempted_before]
  if (pause === undefined) return undefined
  const asked = 'status' in response ? retryAfterSeconds(response.retryAfter, now()) : 0
  const seconds = Math.max(
    pause * (1 + jitter * (2 * clock.jitter() - 1)),
    Math.min(asked, maxRetryAfterSeconds),
  )
  return now() + Math.round(seconds * 1000)
}

/** Returns the seconds of a Retry-After, which has a number or a date (RFC 9110 10.2.3); 0 for anything else. */
function retryAfterSeconds(value: string | undefined, now: number): number {
  if (value === undefined) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? 0 : Math.max(0, Math.ceil((at - now) / 1000))
}
