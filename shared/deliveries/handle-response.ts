import { auditPut } from '../platform/audit/audit-record.ts'
import { dayMilliseconds, timestamp } from '../platform/base/clock.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { moveSubscriber, type Subscriber } from '../subscribers/subscriber.ts'
import { type SubscriberResponse, truncatedText } from './call-subscriber.ts'
import { type Delivery, type DeliveryAttempt, type DeliveryMessage, pingType } from './delivery.ts'
import type { DeliveryStep } from './schedule-delivery.ts'
import { afterLongestCall, failingSince, recordCall, type SubscriberHealth } from './subscriber-health.ts'

/** A call that was made, and what was read before it. */
export interface MadeCall extends Pick<WorkContext, 'table' | 'clock' | 'settings' | 'now' | 'log'> {
  message: DeliveryMessage
  subscriber: Subscriber
  health: SubscriberHealth | undefined
  delivery: Delivery
}

/** What a response means: how the delivery goes on, and what it says of its subscriber. */
interface HandledResponse {
  step: DeliveryStep
  /** Records the result for the breaker and for the time of failures, and disables a subscriber that is gone or has failed for too long. */
  noteHealth(): Promise<void>
}

/** The attempts that a delivery keeps: more than a schedule has, as an operator may send it again. */
const keptAttempts = 30

/** The size of a write unit. */
const unitBytes = 1024

/** Handles the response of a call. @param at the start of the call, in milliseconds since 1970 */
export function handleResponse(response: SubscriberResponse, at: number, called: MadeCall): HandledResponse {
  const { delivery, message, health, now } = called
  const made = attemptOf(response, { at, milliseconds: now() - at })
  const { reason } = made
  if (reason === 'no_slot') {
    const recorded = withAttempt(delivery, made)
    const step = {
      delivery: recorded,
      trigger: 'retry',
      at: afterLongestCall(called),
      waitsFor: 'subscriber',
    } as const
    return { step, noteHealth: async () => {} }
  }
  if (reason === undefined) {
    const step = { delivery: withAttempt(delivery, made), trigger: 'succeed' } as const
    return { step, noteHealth: () => recordCall(message, 'success', health, called) }
  }
  const disabling = disablingReason(reason, called)
  return {
    step: failureOf(made, response, { disabling, called }),
    async noteHealth() {
      await recordCall(message, reason === 'timeout' ? 'timeout' : 'failure', health, called)
      if (disabling) await disableSubscriber(disabling, called)
    },
  }
}

/** Returns how a delivery goes on after a failed attempt: by its schedule, which waits while its subscriber is disabled. */
function failureOf(
  made: DeliveryAttempt,
  response: SubscriberResponse,
  { disabling, called }: { disabling: Subscriber['reason']; called: MadeCall },
): DeliveryStep {
  const delivery = withAttempt(called.delivery, made)
  const at = nextAttemptAt(called.delivery, response, called)
  if (at === undefined) return { delivery, trigger: 'fail' }
  if (disabling) return { delivery, trigger: 'suspend', at: called.now() }
  return { delivery, trigger: 'retry', at, waitsFor: 'retry' }
}

/** Returns how a delivery ends that was not sent in the time for which it is kept, such as that of a subscriber that was paused for long. */
export function expired(delivery: Delivery, now: number): DeliveryStep {
  const attempts = [...delivery.attempts, { at: timestamp(now), milliseconds: 0, reason: 'expired' }]
  return { delivery: { ...delivery, attempts: attempts.slice(-keptAttempts) }, trigger: 'fail' }
}

/** Returns a response as an attempt. Only 2xx is a success; a redirect is not followed. */
export function attemptOf(
  response: SubscriberResponse,
  { at, milliseconds }: { at: number; milliseconds: number },
): DeliveryAttempt {
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
export function withAttempt(delivery: Delivery, made: DeliveryAttempt): Delivery {
  const recorded = (one: DeliveryAttempt): Delivery => ({
    ...delivery,
    attempted: delivery.attempted + 1,
    ...(one.reason === 'no_slot' && { uncounted_attempts: (delivery.uncounted_attempts ?? 0) + 1 }),
    attempts: [...delivery.attempts, one].slice(-keptAttempts),
  })
  const { answer = '', ...withoutAnswer } = made
  if (made.reason !== undefined || answer === '') return recorded(made)
  const bytes = sizeOf({ ...recorded({ ...withoutAnswer, answer: '' }), state: 'succeeded' })
  const cut = truncatedText(Buffer.from(answer), unitBytes - (bytes % unitBytes))
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
  { type, attempted, uncounted_attempts = 0 }: Delivery,
  response: SubscriberResponse,
  { settings, now, clock }: Pick<WorkContext, 'settings' | 'now' | 'clock'>,
): number | undefined {
  const { retriesAfterSeconds, jitter, maxRetryAfterSeconds } = settings['deliveries.schedule']
  const pause = type === pingType ? undefined : retriesAfterSeconds[attempted - uncounted_attempts]
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

/** Returns why a failed attempt disables its subscriber. A change of the subscriber starts the time of failures again. */
function disablingReason(
  reason: string,
  { health, subscriber, settings, now }: MadeCall,
): Subscriber['reason'] {
  if (reason === 'gone') return 'gone'
  const failing = failingSince(health, now(), settings)
  if (failing === undefined) return undefined
  const since = Math.max(failing, Date.parse(subscriber.updated_at))
  return now() - since >= settings['deliveries.disableAfterDays'] * dayMilliseconds ? 'failing' : undefined
}

/** Disables a subscriber, unless it has changed since it was read. It is audited and raises an alarm. */
async function disableSubscriber(reason: 'gone' | 'failing', called: MadeCall): Promise<void> {
  const { subscriber, table, log, clock, delivery } = called
  const { id, tenant_id: tenant } = subscriber
  const correlation = { id: String(JSON.parse(delivery.body).correlation_id), trace: {} }
  const entry = {
    action: 'subscriber.disable',
    target: `subscriber/${id}`,
    before: { state: subscriber.state },
    after: { state: 'disabled', reason },
  }
  const actor = { sub: 'deliveries', tenant, role: undefined }
  const { onFailure: _, ...move } = moveSubscriber(subscriber, 'disable', { now: called.now(), reason })
  const refusal = await table.transact([move, auditPut(actor, entry, { correlation, clock })])
  if (!refusal) log.alert('SUBSCRIBER_DISABLED', correlation, { tenant, subscriber: id })
}
