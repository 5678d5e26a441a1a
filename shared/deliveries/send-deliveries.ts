import * as v from 'valibot'
import { ReportableError } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import { asSubscriber, type Subscriber } from '../subscribers/subscriber.ts'
import type { CallSubscriber, SubscriberResponse } from './call-subscriber.ts'
import {
  asDelivery,
  type Delivery,
  DeliveryMessage,
  deliveryTransitions,
  newDelivery,
  pingType,
} from './delivery.ts'
import { expired, handleResponse, type MadeCall } from './handle-response.ts'
import { type DeliveryStep, missedStep, type ScheduledWork, schedule } from './schedule-delivery.ts'
import {
  afterLongestCall,
  asHealth,
  breakerOf,
  hasNoSlot,
  healthKey,
  isSlow,
  slotsKey,
  slowAfterMilliseconds,
  type TenantSlot,
  takeProbe,
  tenantSlots,
} from './subscriber-health.ts'

/** The dependencies of an attempt outside of the table. */
interface Sending extends Pick<ScheduledWork, 'send'> {
  call: CallSubscriber
  /** Returns the headers that sign a body. @param at milliseconds since 1970 */
  sign(
    subscriber: Subscriber,
    signed: { eventId: string; body: string; at: number },
  ): Promise<Record<string, string>>
}

type Context = Pick<WorkContext, 'table' | 'clock' | 'settings' | 'now' | 'isBlocked' | 'log'>

/** A message, and what the table has about it. */
interface DeliveryWork extends Context, Sending, ScheduledWork, MadeCall {
  /** The slots of the tenant, as they were read. */
  slots: Item | undefined
  slot: TenantSlot
}

/** A call that may be made. */
interface PreparedCall {
  /** Asked when the call is slow. */
  mayContinue(): Promise<boolean>
}

/**
 * Makes the attempts of a batch of messages at the same time. An attempt is one call of the subscriber and one commit. A
 * repeated message makes an attempt again only if it was not recorded.
 * @returns the outcome of each message
 */
export function sendDeliveries(
  bodies: readonly string[],
  context: Context,
  sending: Sending,
): Promise<void>[] {
  const messages = bodies.map(parseMessage)
  const valid = messages.filter((one) => one !== undefined)
  const slots = tenantSlots(valid, context)
  const reading = readStored(valid, context)
  return messages.map(async (message) => {
    const slot = message && slots.get(message.tenant)
    if (!message || !slot) throw new ReportableError('the message is not a delivery')
    try {
      const work = workOf(message, await reading, { ...context, ...sending, slot })
      if (work) await attempt(work)
    } finally {
      await slot.endMessage()
    }
  })
}

/** The way of each message: prepare the attempt, call the subscriber, handle its response, schedule what follows. */
async function attempt(work: DeliveryWork): Promise<void> {
  const prepared = await prepare(work)
  if (!prepared) return
  if (!('mayContinue' in prepared)) return schedule(prepared, work)
  const at = work.now()
  const { step, noteHealth } = handleResponse(await call(prepared, at, work), at, work)
  await schedule(step, work)
  await softly(noteHealth, work)
}

/** Returns a call that may be made, or how the delivery goes on without one; undefined if there is nothing to do. */
async function prepare(work: DeliveryWork): Promise<PreparedCall | DeliveryStep | undefined> {
  const { known, message, delivery, subscriber, health, slots, slot, settings } = work
  if (!deliveryTransitions.allows('retry', delivery.state)) return undefined
  if (known && known.attempted >= message.attempt) return missedStep(known, message)
  const now = work.now()
  if (delivery.expires_at <= now / 1000) return expired(delivery, now)
  const wait = (at: number): DeliveryStep => ({ delivery, trigger: 'retry', at, waitsFor: 'subscriber' })
  if (await work.isBlocked(message.tenant, work.table))
    return { delivery, trigger: 'retry', at: now, waitsFor: 'tenant' }
  if (delivery.type === pingType) return { mayContinue: async () => true }
  if (subscriber.state !== 'active') return { delivery, trigger: 'suspend', at: delivery.next_at ?? now }
  const breaker = breakerOf(health, now)
  if (breaker === 'open') return wait(health?.open_until ?? now)
  if (breaker === 'half_open' && !(await takeProbe(message, work))) return wait(afterLongestCall(work))
  const lacksSlot =
    breaker === 'closed' && isSlow(health, now) && (hasNoSlot(slots, now, settings) || !(await slot.take()))
  if (lacksSlot) {
    // It stays slow meanwhile: a call without a slot would be cut off.
    await slot.markSlow(message, health)
    return wait(afterLongestCall(work))
  }
  return {
    async mayContinue() {
      const [isFree] = await Promise.all([slot.take(), slot.markSlow(message, health)])
      return isFree
    },
  }
}

async function call(
  { mayContinue }: PreparedCall,
  at: number,
  work: DeliveryWork,
): Promise<SubscriberResponse> {
  const { subscriber, delivery, settings } = work
  const { event_id: eventId, body } = delivery
  return work.call({
    url: subscriber.url,
    headers: await work.sign(subscriber, { eventId, body, at }),
    body,
    timeoutMilliseconds: settings['deliveries.timeoutSeconds'] * 1000,
    slow: { afterMilliseconds: slowAfterMilliseconds, mayContinue },
  })
}

/** Logs a fault of work after an attempt is recorded. A message that failed now would be only repeated. */
async function softly(change: () => Promise<void>, { log }: Context): Promise<void> {
  try {
    await change()
  } catch (fault) {
    log.job({ code: 'SUBSCRIBER_HEALTH_NOT_RECORDED', done: 0, failed: 1, fault })
  }
}

/** Returns undefined for a body that is no message, so that it fails no other message of its batch. */
function parseMessage(body: string): DeliveryMessage | undefined {
  try {
    return v.parse(DeliveryMessage, JSON.parse(body))
  } catch {
    return undefined
  }
}

function itemKeysOf(message: DeliveryMessage) {
  const { tenant, subscriber, delivery } = message
  return {
    subscriber: keyOf(tenant, 'subscriber', subscriber),
    health: healthKey(message),
    slots: slotsKey(message),
    delivery: keyOf(tenant, 'delivery', delivery),
  }
}

async function readStored(messages: readonly DeliveryMessage[], { table }: Context) {
  const keys = messages.flatMap((message) => Object.values(itemKeysOf(message)))
  const unique = new Map(keys.map((key) => [`${key.pk}|${key.sk}`, key]))
  const items = await table.getMany([...unique.values()])
  return ({ pk, sk }: Key) => items.find((item) => item.pk === pk && item.sk === sk)
}

/**
 * Returns a message with what was read about it; undefined if its subscriber was deleted, or if its delivery was stored once
 * and has expired.
 */
function workOf(
  message: DeliveryMessage,
  find: (key: Key) => Item | undefined,
  context: Context & Sending & { slot: TenantSlot },
): DeliveryWork | undefined {
  const keys = itemKeysOf(message)
  const subscriber = find(keys.subscriber)
  const stored = find(keys.delivery)
  const known = stored && asDelivery(stored)
  const delivery = known ?? firstOf(message, context)
  if (!subscriber || !delivery) return undefined
  const health = asHealth(find(keys.health))
  const slots = find(keys.slots)
  return { ...context, message, known, delivery, subscriber: asSubscriber(subscriber), health, slots }
}

/** Returns a delivery before its first attempt. */
function firstOf(message: DeliveryMessage, { settings, now }: Context): Delivery | undefined {
  if (!message.event) return undefined
  const delivery = newDelivery(message, message.event, { state: 'waiting', now: now(), settings })
  return { ...delivery, ...itemKeysOf(message).delivery }
}
