import * as v from 'valibot'
import { type Clock, derivedIdAt, lastIdAt, smallestId, timeOf } from '../platform/base/clock.ts'
import { type FailureEntry, failurePut } from '../platform/table/failure-entries.ts'
import { type Item, type Key, keyOf, maxShards } from '../platform/table/keys.ts'
import type { Change, Put, Range, StateCondition } from '../platform/table/table.ts'
import { transitionsOf } from '../platform/table/transitions.ts'
import type { Settings } from '../settings/register.ts'
import type { SubscriberRef } from '../subscribers/subscriber.ts'

/**
 * The states of a delivery. It is `waiting` before its next attempt, and `suspended` while its subscriber is paused or
 * disabled. `failed` had its last attempt, and `skipped` was dropped by an operator.
 */
export const deliveryStates = ['waiting', 'suspended', 'succeeded', 'failed', 'skipped'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** One call of a subscriber. */
export interface DeliveryAttempt {
  at: string
  /** The HTTP status; absent without a response. */
  status?: number
  milliseconds: number
  /** The first kilobyte of the response body. */
  answer?: string
  /**
   * Why it failed, in one word: `timeout`, `status`, `redirect`, `gone`, `address`, `connection`; `no_slot` for a slow call
   * that was cut off, because the slow calls of its tenant hold as many processes as they may; or `expired` for a delivery
   * that was not sent any more.
   */
  reason?: string
}

/**
 * One event for one subscriber. Its sort key is its id. It has no attribute `id`, so it is not in the index by id, and its
 * first attempt costs one write.
 */
export interface Delivery extends Key {
  subscriber_id: string
  event_id: string
  type: string
  /** The exact text that is sent. */
  body: string
  state: DeliveryState
  /** The number of the latest attempt. A resend takes a number as well, so an attempt in progress is not recorded. */
  attempted: number
  /** The latest attempts, oldest first. */
  attempts: readonly DeliveryAttempt[]
  /** The attempts that the schedule of retries does not count: those before the latest resend, and those cut off since. */
  uncounted_attempts?: number
  /** The time of the next attempt, in milliseconds since 1970. */
  next_at?: number
  /** The sort key of its entry among the waiting deliveries, which the sweep may have removed since. A suspended one has it, too. */
  waiting?: string
  /** Seconds since 1970. */
  expires_at: number
}

/** What ends or continues a delivery. */
export type DeliveryTrigger = 'suspend' | 'retry' | 'succeed' | 'fail' | 'skip' | 'resend'

export const deliveryTransitions = transitionsOf<DeliveryTrigger, DeliveryState>({
  suspend: { from: ['waiting', 'suspended'], to: 'suspended' },
  retry: { from: ['waiting', 'suspended'], to: 'waiting' },
  succeed: { from: ['waiting', 'suspended'], to: 'succeeded' },
  fail: { from: ['waiting', 'suspended'], to: 'failed' },
  skip: { from: ['waiting', 'suspended'], to: 'skipped' },
  resend: { from: deliveryStates, to: 'waiting' },
})

/** Returns the condition of a write: the trigger may move the delivery, and no attempt was recorded since it was read. */
export function ifNotAttemptedSince(
  trigger: DeliveryTrigger,
  { attempted }: Pick<Delivery, 'attempted'>,
): StateCondition {
  return deliveryTransitions.condition(trigger, { attempted })
}

/** The event of a test that an operator starts. It is sent once, whatever the state of the subscriber. */
export const pingType = 'ping'
export const pingVersion = 1

/** The part of an event that subscribers receive. Trace and baggage are for the service's own systems. */
export const DeliveredEvent = v.object({
  event_id: v.string(),
  type: v.string(),
  version: v.number(),
  occurred_at: v.string(),
  source: v.literal('commerce-api'),
  correlation_id: v.string(),
  data: v.record(v.string(), v.unknown()),
})
export type DeliveredEvent = v.InferOutput<typeof DeliveredEvent>

/** Returns the exact text that subscribers receive. */
export function deliveryBody(event: DeliveredEvent): string {
  const { event_id, type, version, occurred_at, source, correlation_id, data } = event
  return JSON.stringify({ event_id, type, version, occurred_at, source, correlation_id, data })
}

/**
 * Returns the id of an event's delivery to a subscriber. It is derived, so an event that is fanned out twice has one
 * delivery. Its time is that of the event, so ids sort by it.
 */
export function deliveryId(
  { subscriber }: Pick<SubscriberRef, 'subscriber'>,
  { event_id, occurred_at }: Pick<DeliveredEvent, 'event_id' | 'occurred_at'>,
): string {
  return derivedIdAt(Date.parse(occurred_at), `delivery|${subscriber}|${event_id}`, maxShards)
}

type Retention = Pick<Settings, 'deliveries.retentionDays'>

/** @param now milliseconds since 1970 @returns seconds since 1970 */
export function expiryOf(now: number, settings: Retention): number {
  return Math.ceil(now / 1000) + settings['deliveries.retentionDays'] * 24 * 3600
}

/** Returns a delivery without attempts. @param now milliseconds since 1970 */
export function newDelivery(
  ref: SubscriberRef,
  event: DeliveredEvent,
  { state, now, settings }: { state: 'waiting' | 'suspended'; now: number; settings: Settings },
): Delivery {
  return {
    ...keyOf(ref.tenant, 'delivery', deliveryId(ref, event)),
    subscriber_id: ref.subscriber,
    event_id: event.event_id,
    type: event.type,
    body: deliveryBody(event),
    state,
    attempted: 0,
    attempts: [],
    expires_at: expiryOf(now, settings),
  }
}

export function asDelivery(item: Item): Delivery {
  return item as unknown as Delivery
}

/** The message that lets the queue `deliveries` make an attempt. Its group is the tenant. */
export const DeliveryMessage = v.object({
  tenant: v.string(),
  subscriber: v.string(),
  /** The id of the delivery. */
  delivery: v.string(),
  /** The number of the attempt, from 1. An attempt that is recorded already is not made again. */
  attempt: v.number(),
  /** The event of a delivery that is not stored yet. */
  event: v.exactOptional(DeliveredEvent),
})
export type DeliveryMessage = v.InferOutput<typeof DeliveryMessage>

/**
 * The entry of a delivery that waits in the table. Its sort key starts with its subscriber, then the time at which the sweep sends
 * its message.
 */
export interface WaitingEntry extends Key {
  /** The id of the delivery. */
  delivery: string
  /** The number of its next attempt. */
  attempt: number
  /** That of the delivery. */
  expires_at: number
}

/**
 * Returns the entry of a delivery. Its key is new each time: the sweep removes an entry after it has sent the message, and
 * must not remove one that was written since.
 * @param due milliseconds since 1970
 */
export function waitingEntry(
  { tenant, subscriber }: SubscriberRef,
  { sk: delivery, attempted, expires_at }: Pick<Delivery, 'sk' | 'attempted' | 'expires_at'>,
  due: number,
  clock: Pick<Clock, 'randomBytes'>,
): WaitingEntry & Item {
  const sk = `${subscriber}#${derivedIdAt(due, Buffer.from(clock.randomBytes(16)).toString('hex'))}`
  return { ...keyOf(tenant, 'waiting_delivery', sk), delivery, attempt: attempted + 1, expires_at }
}

/** How late a message may be, in milliseconds. An entry that replaces one that may be lost is due so much later. */
export const lateMilliseconds = 60_000

/** Returns the write of the entry of a delivery that fails. The entry has the time of its last attempt. */
export function failedDeliveryEntry(tenant: string, { sk: work, expires_at, attempts }: Delivery): Put {
  const at = Date.parse(attempts.at(-1)?.at ?? '')
  return failurePut('failed-delivery', { tenant, work, expires_at }, at)
}

/** Returns whether an entry is that of the latest failure of a failed delivery: one that was sent again has several. */
export function isLatestFailure({ sk, tenant }: FailureEntry, delivery: Delivery): boolean {
  return failedDeliveryEntry(tenant, delivery).item.sk === sk
}

/** Returns the time at which a waiting delivery is due, in milliseconds since 1970. */
export function dueAt({ sk }: WaitingEntry): number {
  return timeOf(sk.slice(sk.lastIndexOf('#') + 1))
}

/** Returns the range of a subscriber's waiting deliveries that are due by a time, longest due first. */
export function waitingRange({ tenant, subscriber }: SubscriberRef, by: number, limit: number): Range {
  const { pk: partition, sk: low } = keyOf(tenant, 'waiting_delivery', `${subscriber}#${smallestId}`)
  return { partition, low, high: `${subscriber}#${lastIdAt(by)}`, descending: false, limit }
}

/**
 * Returns the changes that send a delivery again, and its message. It is kept for the time of a new delivery. The entry lets the
 * sweep send the message if the sender of this one does not. The resend takes the number of an attempt in progress: otherwise
 * that attempt, once recorded, would replace the resend. Rejected if an attempt was recorded since the delivery was read.
 */
export function resendDelivery(
  tenant: string,
  delivery: Delivery,
  { clock, settings }: { clock: Pick<Clock, 'now' | 'randomBytes'>; settings: Retention },
): { changes: Change[]; message: DeliveryMessage } {
  const { pk, sk, waiting, subscriber_id: subscriber } = delivery
  const now = clock.now()
  const attempted = delivery.attempted + 1
  const expires_at = expiryOf(now, settings)
  const ref = { tenant, subscriber }
  const entry = waitingEntry(ref, { sk, attempted, expires_at }, now + lateMilliseconds, clock)
  const set = {
    ...{ state: deliveryTransitions.stateAfter('resend'), attempted, uncounted_attempts: attempted },
    ...{ next_at: now, waiting: entry.sk, expires_at },
  }
  return {
    changes: [
      { update: { pk, sk }, set, condition: ifNotAttemptedSince('resend', delivery) },
      ...replaceWaiting(tenant, waiting, entry),
    ],
    message: { ...ref, delivery: sk, attempt: entry.attempt },
  }
}

/** Returns the changes that drop a delivery before its next attempt. */
export function skipDelivery(tenant: string, delivery: Delivery): Change[] {
  const { pk, sk, waiting } = delivery
  return [
    {
      update: { pk, sk },
      set: { state: deliveryTransitions.stateAfter('skip') },
      condition: ifNotAttemptedSince('skip', delivery),
    },
    ...replaceWaiting(tenant, waiting, undefined),
  ]
}

/** Replaces the entry of a delivery, if it has one: the sweep may have removed it already. */
export function replaceWaiting(
  tenant: string,
  earlier: string | undefined,
  entry: (WaitingEntry & Item) | undefined,
): Change[] {
  return [
    ...(entry ? [{ item: entry, condition: 'none' as const }] : []),
    ...(earlier !== undefined
      ? [{ remove: keyOf(tenant, 'waiting_delivery', earlier), condition: 'none' as const }]
      : []),
  ]
}
