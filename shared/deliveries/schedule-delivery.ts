import { timeOf } from '../platform/base/clock.ts'
import { fail, ReportableError } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { keyOf } from '../platform/table/keys.ts'
import { type Change, type Condition, inState } from '../platform/table/table.ts'
import { subscriberStates } from '../subscribers/subscriber.ts'
import {
  asDelivery,
  type Delivery,
  type DeliveryMessage,
  type DeliveryTrigger,
  deliveryTransitions,
  failedDeliveryEntry,
  ifNotAttemptedSince,
  lateMilliseconds,
  replaceWaiting,
  waitingEntry,
} from './delivery.ts'

/** A message of the queue `deliveries`, as it is sent. */
export interface QueuedDelivery {
  body: string
  /** The tenant: while one has many messages, the queue delivers those of others first. */
  group: string
  delaySeconds?: number
}

/** Sends at most ten messages to the queue `deliveries`. @returns for each of them whether it failed */
export type SendMessages = (messages: readonly QueuedDelivery[]) => Promise<boolean[]>

/** The batch limit of one request to the queue. */
const batchSize = 10
/** The longest delay of a message. */
export const maxDelaySeconds = 900

/** Returns a message as it is sent. @param delaySeconds at most `maxDelaySeconds` */
export function queuedDelivery(message: DeliveryMessage, delaySeconds = 0): QueuedDelivery {
  const queued = { body: JSON.stringify(message), group: message.tenant }
  return delaySeconds > 0 ? { ...queued, delaySeconds } : queued
}

/** Sends messages. @throws DEPENDENCY.unavailable if the queue did not accept all of them */
export async function sendToQueue(
  messages: readonly DeliveryMessage[],
  send: SendMessages,
  delaySeconds = 0,
): Promise<void> {
  for (let at = 0; at < messages.length; at += batchSize) {
    const batch = messages.slice(at, at + batchSize)
    const failed = await send(batch.map((message) => queuedDelivery(message, delaySeconds)))
    if (failed.some(Boolean)) throw fail('DEPENDENCY.unavailable')
  }
}

/** How a delivery goes on. */
export interface DeliveryStep {
  /** The delivery, with the attempt if one was made. */
  delivery: Delivery
  trigger: Exclude<DeliveryTrigger, 'skip' | 'resend'>
  /** When it goes on, in milliseconds since 1970; absent if it has ended. Suspended, its place among those that wait. */
  at?: number
  /**
   * What it waits for: the time of a retry, a subscriber that may be called again, the end of its tenant's block, or the sweep,
   * because its message may be lost.
   */
  waitsFor?: 'retry' | 'subscriber' | 'tenant' | 'sweep'
}

/** A message, and what the table has about its delivery. */
export interface ScheduledWork extends Pick<WorkContext, 'table' | 'clock' | 'now'> {
  message: DeliveryMessage
  /** The delivery as it is stored; absent before its first attempt. */
  known: Delivery | undefined
  /** Sends messages to the queue `deliveries`. */
  send: SendMessages
}

/** A first attempt waits in the queue until its event is so old, and then in the table. */
const youngMilliseconds = 60_000

/**
 * Stores a step of a delivery, once; a young one that was never attempted goes back to the queue instead. The message of a
 * retry that is due soon is sent with a delay. What goes on later, or waits, has an entry in the table, from which the sweep
 * sends its message.
 */
export async function schedule(step: DeliveryStep, work: ScheduledWork): Promise<void> {
  const { trigger, at, waitsFor } = step
  const { message, known, clock, table, now } = work
  const isNew = !known && step.delivery.attempted === 0
  if (waitsFor === 'subscriber' && isNew && now() - timeOf(message.delivery) < youngMilliseconds)
    return sendAgain(work)
  const seconds = Math.max(0, Math.ceil(((at ?? 0) - now()) / 1000))
  const isSoon = waitsFor === 'retry' && seconds <= maxDelaySeconds
  const { waiting, next_at: _, ...delivery } = step.delivery
  const entry = at === undefined || isSoon ? undefined : waitingEntry(message, delivery, at, clock)
  const next: Delivery = {
    ...delivery,
    state: deliveryTransitions.stateAfter(trigger),
    ...(at !== undefined && { next_at: at }),
    ...(entry && { waiting: entry.sk }),
  }
  const put = { item: { ...next }, condition: conditionOf(step, known) }
  const others = [
    ...replaceWaiting(message.tenant, waiting, entry),
    ...(waitsFor === 'tenant' ? [subscriberExists(message)] : []),
  ]
  // Before the attempt is recorded: an entry whose delivery has not failed means nothing, and a transaction would cost four units more.
  if (trigger === 'fail') await table.put(failedDeliveryEntry(message.tenant, next))
  const refusal = others.length === 0 ? await table.put(put) : await table.transact([put, ...others])
  // Another process has recorded the attempt or stored an entry, or the response of this one was lost.
  const stored = refusal?.existing && asDelivery(refusal.existing)
  const missed = stored && missedStep(stored, message)
  if (missed) return schedule(missed, { ...work, known: stored })
  if (refusal || !isSoon) return
  const { tenant, subscriber, delivery: id } = message
  const retry = { tenant, subscriber, delivery: id, attempt: next.attempted + 1 }
  const [failed] = await work.send([queuedDelivery(retry, seconds)])
  if (failed) throw new ReportableError('the queue did not accept a retry')
}

/**
 * Returns the condition of a step. A step without an attempt is refused if the delivery got an entry since it was read: two
 * entries would send two messages.
 */
function conditionOf({ trigger, delivery }: DeliveryStep, known: Delivery | undefined): Condition {
  if (!known) return { absent: true }
  const condition = ifNotAttemptedSince(trigger, known)
  if (delivery.attempted > known.attempted) return condition
  const { waiting } = known
  if (waiting === undefined) return { ...condition, lacks: ['waiting'] }
  return { ...condition, matches: { ...condition.matches, waiting } }
}

/**
 * Returns how a delivery goes on whose attempt is recorded already: the process that recorded it may have ended before it sent the
 * next message. So the sweep sends that message, unless the attempt was made in the meantime. Undefined if there is nothing to do.
 */
export function missedStep(stored: Delivery, { attempt }: DeliveryMessage): DeliveryStep | undefined {
  const { state, attempted, waiting, next_at } = stored
  if (state !== 'waiting' || attempted !== attempt || waiting !== undefined || next_at === undefined)
    return undefined
  return { delivery: stored, trigger: 'retry', at: next_at + lateMilliseconds, waitsFor: 'sweep' }
}

/** A purge deletes the subscribers of a blocked tenant before its deliveries, and nothing may be written behind it. */
function subscriberExists({ tenant, subscriber }: DeliveryMessage): Change {
  return { check: keyOf(tenant, 'subscriber', subscriber), condition: inState(subscriberStates) }
}

/** Returns a message to the queue. Its delay is random, so that not all return together. */
async function sendAgain({ message, send, clock }: ScheduledWork): Promise<void> {
  const seconds = 1 + Math.floor((clock.jitter() * youngMilliseconds) / 1000)
  const [failed] = await send([queuedDelivery(message, seconds)])
  if (failed) throw new ReportableError('the queue did not accept a message')
}
