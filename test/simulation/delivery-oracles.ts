import { asDelivery, type DeliveredEvent, type Delivery } from '#shared/deliveries/delivery.ts'
import { keyOf, ownerOf } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { asSubscriber, type Subscriber, wants } from '#shared/subscribers/subscriber.ts'
import { type DeliveryWorld, type ReceivedCall, verifies } from './delivery-world.ts'
import { check } from './violation.ts'

/** What happened to a subscriber, for the oracles. */
export interface SubscriberHistory {
  subscriber: Subscriber
  /**
   * Each secret with the `updated_at` of the version that added it, and with the time at which it ends, known once it is
   * rotated. Times of versions do not depend on whose clock is ahead.
   */
  secrets: { text: string; from: number; until: number }[]
  /** The deliveries that an operator sent again or dropped. */
  touched: Set<string>
  /** When an operator sent a delivery again, in milliseconds since 1970. */
  resent: Map<string, number>
}

export interface DeliveryHistory {
  settings: Settings
  events: { event: DeliveredEvent; at: number }[]
  subscribers: Map<string, SubscriberHistory>
}

/** The clocks of processes differ by so much at most. */
const skewMilliseconds = 1500

/** What every call promises, whatever failed. What a process reads, it may still use after others have changed it. */
export function checkCalls(world: DeliveryWorld, history: DeliveryHistory): void {
  const bodies = new Map<string, string>()
  for (const call of world.received) {
    const { event_id, data } = JSON.parse(call.body)
    const { subscriber, delivery, headers } = call
    const show = () => `${event_id} to ${call.subscriberId} at ${call.at}`
    check(subscriber !== undefined, 'nothing reaches a deleted subscriber', show)
    if (!subscriber) continue
    check(subscriber.state === 'active', 'nothing reaches a paused subscriber', show)
    check(call.isUnblocked, 'nothing is sent for a blocked tenant', show)
    check(data.tenant_id === subscriber.tenant_id, 'events stay in their tenant', show)
    check(wants(subscriber, JSON.parse(call.body).type), 'a subscriber gets what it asked for', show)
    check(headers['webhook-id'] === event_id, 'every attempt has the id of its event', show)
    const name = `${call.subscriberId} ${event_id}`
    check((bodies.get(name) ?? call.body) === call.body, 'every attempt has the same body', show)
    bodies.set(name, call.body)
    checkSignatures(call, history)
    checkSchedule(call, history)
    check(!delivery || !['succeeded', 'failed', 'skipped'].includes(delivery.state), 'a delivery ends', show)
  }
}

/** A call is signed with each secret that is valid at its time, and with no other one. */
function checkSignatures(call: ReceivedCall, { subscribers }: DeliveryHistory): void {
  const { secrets = [] } = subscribers.get(call.subscriberId) ?? {}
  const at = Number(call.headers['webhook-timestamp']) * 1000
  const readAt = Date.parse(call.subscriber?.updated_at ?? '')
  for (const { text, from, until } of secrets) {
    const signed = verifies(call, text)
    const show = () => `${call.subscriberId} at ${at}: a secret of ${from} to ${until}`
    // A process that read the subscriber before a rotation neither knows the new secret nor the end of the old one.
    if (from <= readAt && at < until - skewMilliseconds) check(signed, 'every valid secret signs', show)
    const ended = secrets.some((other) => other.from > from && other.from <= readAt)
    if (ended && at > until + skewMilliseconds + 1000) check(!signed, 'no ended secret signs', show)
  }
}

/**
 * No attempt is made above the schedule, or before the pause after the latest one. A response 410 disables the subscriber, and its
 * deliveries go on at once when an operator resumes it.
 */
function checkSchedule(
  { delivery, subscriberId, at }: ReceivedCall,
  { settings, subscribers }: DeliveryHistory,
): void {
  if (!delivery) return
  const { attempted, uncounted_attempts = 0, attempts, event_id } = delivery
  const { retriesAfterSeconds, jitter } = settings['deliveries.schedule']
  const most = retriesAfterSeconds.length
  const counted = attempted - uncounted_attempts
  const latest = attempts.at(-1)
  const pause = (retriesAfterSeconds[counted - 1] ?? 0) * 1000 * (1 - jitter)
  const earliest = latest && latest.reason !== 'no_slot' ? Date.parse(latest.at) + pause : 0
  const show = () => `${event_id} to ${subscriberId}: attempt ${attempted + 1}, ${earliest - at} ms early`
  check(attempted - uncounted_attempts <= most, 'no attempt above the schedule', show)
  const isTouched = subscribers.get(subscriberId)?.touched.has(event_id)
  const isResumed = latest?.reason === 'gone'
  const isEarly = !isResumed && counted > 0 && earliest > at + 2 * skewMilliseconds + 1000
  check(!isEarly || isTouched === true, 'no attempt before its time', show)
}

/**
 * Each event has one delivery for each subscriber of its tenant that asked for it and existed before it. A delivery is
 * succeeded, and then its subscriber has accepted it; or it has failed after all attempts; or it is suspended while its subscriber is
 * not active.
 */
export function checkDeliveries(
  world: DeliveryWorld,
  { events, subscribers, settings }: DeliveryHistory,
): void {
  const deliveries = storedDeliveries(world.store)
  const attempts = settings['deliveries.schedule'].retriesAfterSeconds.length + 1
  const copies = world.copies()
  for (const { subscriber, touched, resent } of subscribers.values()) {
    const { id, tenant_id: tenant } = subscriber
    const item = world.store.get(keyOf(tenant, 'subscriber', id))
    if (!item) continue
    const { state } = asSubscriber(item)
    const own = deliveries.filter(({ subscriber_id }) => subscriber_id === id)
    for (const { event, at } of events) {
      if (event.data.tenant_id !== tenant || !wants(subscriber, event.type)) continue
      const [found, ...others] = own.filter(({ event_id }) => event_id === event.event_id)
      const show = () => `${event.event_id} to ${id}, which is ${state}: ${JSON.stringify(found)}`
      check(others.length === 0, 'one delivery for an event and a subscriber', show)
      if (!found && at < Date.parse(subscriber.created_at)) continue
      check(found !== undefined, 'every event reaches its subscribers', show)
      const received = world.received.filter(
        (call) => call.subscriberId === id && call.headers['webhook-id'] === event.event_id,
      )
      const accepted = received.some((call) => call.accepted)
      const calls = received.length
      const repeated = (world.fanOuts.get(event.event_id) ?? 1) - 1
      const most = (found?.attempted ?? 0) + (copies.get(`${id} ${found?.sk}`) ?? 0) + repeated
      check(
        calls <= most,
        'a copy of a message adds one call',
        () => `${show()}: ${calls} calls, not ${most}`,
      )
      if (found?.state === 'succeeded') check(accepted, 'only what was accepted has succeeded', show)
      const resentAt = resent.get(event.event_id) ?? 0
      if (found?.state === 'succeeded' || found?.state === 'failed')
        check(
          received.some((call) => call.at >= resentAt - skewMilliseconds),
          'a resend leads to a call after it',
          show,
        )
      if (found?.state === 'failed')
        check(
          found.attempted - (found.uncounted_attempts ?? 0) >= attempts,
          'a delivery fails after all attempts',
          show,
        )
      if (found?.state === 'suspended')
        check(state !== 'active', 'only those of inactive subscribers are suspended', show)
      if (found?.state === 'waiting') check(state !== 'active', 'no delivery waits forever', show)
      if (found?.state === 'skipped') check(touched.has(event.event_id), 'only an operator skips', show)
    }
  }
}

export function storedDeliveries(store: DeliveryWorld['store']): Delivery[] {
  return store
    .all()
    .filter(({ pk }) => ownerOf(pk).kind === 'delivery')
    .map(asDelivery)
}
