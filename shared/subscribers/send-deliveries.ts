import { timeOf } from '../platform/base/clock.ts'
import { ReportableError } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import { type DeliveryWork, ensureNext, hold, postpone, record, waitForUnblock } from './advance-delivery.ts'
import type { CallSubscriber } from './call-subscriber.ts'
import {
  asDelivery,
  type Delivery,
  type DeliveryMessage,
  mayMove,
  newDelivery,
  pingType,
} from './delivery.ts'
import { queuedDelivery, type SendMessages } from './delivery-queue.ts'
import { disableSubscriber, disablingReason } from './disable-subscriber.ts'
import { attemptOf, nextAttemptAt } from './record-attempt.ts'
import { asSubscriber, type Subscriber } from './subscriber.ts'
import {
  asHealth,
  breakerOf,
  healthKey,
  isSlow,
  recordCall,
  type SubscriberHealth,
  takeProbe,
} from './subscriber-health.ts'
import { hasNoSlot, type RecentWork, slotsKey, type TenantShare, tenantShares } from './tenant-share.ts'

/** The dependencies of an attempt outside of the table. */
export interface Sending {
  call: CallSubscriber
  /** Returns the headers that sign a body. @param at milliseconds since 1970 */
  sign(
    subscriber: Subscriber,
    signed: { eventId: string; body: string; at: number },
  ): Promise<Record<string, string>>
  /** Sends messages to the queue `deliveries`. */
  send: SendMessages
  /** Those of this process. */
  recent: RecentWork
}

type Context = Pick<WorkContext, 'table' | 'clock' | 'settings' | 'now' | 'isBlocked' | 'log'>

/** A message, and what the table has about it. */
interface Work extends Context, Sending, DeliveryWork {
  subscriber: Subscriber
  health: SubscriberHealth | undefined
  /** The slots of the tenant, as they were read. */
  slots: Item | undefined
  share: TenantShare
}

/** The longest delay of a message that finds no slot. It is random, so that not all return together. */
const slotWaitSeconds = 60

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
  const shares = tenantShares(valid, context, sending.recent)
  const reading = readItems(
    valid.filter((one) => !one.event || floodWaitSeconds(one, shares.get(one.tenant)) === undefined),
    context,
  )
  return messages.map(async (message) => {
    const share = message && shares.get(message.tenant)
    if (!message || !share) throw new ReportableError('the message is not a delivery')
    try {
      const maxSeconds = floodWaitSeconds(message, share)
      if (message.event && maxSeconds !== undefined)
        return await sendLater(message, maxSeconds, { ...context, ...sending })
      await work(message, { find: await reading, share, ...context, ...sending })
    } finally {
      await share.leave()
    }
  })
}

/** Returns the longest wait of a message that belongs to a flood; undefined for one that is served. An operator waits for a test. */
function floodWaitSeconds({ event }: DeliveryMessage, share: TenantShare | undefined): number | undefined {
  return event?.type === pingType ? undefined : share?.maxWaitSeconds
}

/** Works on a message with what the table has about it. */
async function work(
  message: DeliveryMessage,
  { find, ...rest }: Context & Sending & { find: (key: Key) => Item | undefined; share: TenantShare },
): Promise<void> {
  const subscriber = find(subscriberKey(message))
  // A subscriber that was deleted gets nothing any more.
  if (!subscriber) return
  const stored = find(deliveryKey(message))
  const known = stored && asDelivery(stored)
  const delivery = known ?? firstOf(message, rest)
  if (!delivery || delivery.expires_at <= rest.now() / 1000) return
  const health = asHealth(find(healthKey(message)))
  const slots = find(slotsKey(message))
  await attempt({ ...rest, message, health, slots, known, delivery, subscriber: asSubscriber(subscriber) })
}

/** Returns a message to the queue with a random delay. */
async function sendLater(
  message: DeliveryMessage,
  maxSeconds: number,
  { send, clock }: Pick<Context & Sending, 'send' | 'clock'>,
): Promise<void> {
  const seconds = 1 + Math.floor(clock.jitter() * maxSeconds)
  const [failed] = await send([queuedDelivery(message, seconds)])
  if (failed) throw new ReportableError('the queue did not accept a message')
}

/** Returns undefined for a body that is no message, so that it fails no other message of its batch. */
function parseMessage(body: string): DeliveryMessage | undefined {
  try {
    const message = JSON.parse(body)
    const ids = [message.tenant, message.subscriber, message.delivery]
    return ids.every((id) => typeof id === 'string') ? message : undefined
  } catch {
    return undefined
  }
}

function subscriberKey({ tenant, subscriber }: DeliveryMessage): Key {
  return keyOf(tenant, 'subscriber', subscriber)
}

function deliveryKey({ tenant, delivery }: DeliveryMessage): Key {
  return keyOf(tenant, 'delivery', delivery)
}

async function readItems(messages: readonly DeliveryMessage[], { table }: Context) {
  const keys = messages.flatMap((one) => [
    ...[subscriberKey(one), healthKey(one)],
    ...[slotsKey(one), deliveryKey(one)],
  ])
  const unique = new Map(keys.map((key) => [`${key.pk}|${key.sk}`, key]))
  const items = await table.getMany([...unique.values()])
  return ({ pk, sk }: Key) => items.find((item) => item.pk === pk && item.sk === sk)
}

/** Returns a delivery before its first attempt; undefined if it was stored once and has expired. */
function firstOf(message: DeliveryMessage, { settings, now }: Context): Delivery | undefined {
  if (!message.event) return undefined
  const delivery = newDelivery(message, message.event, { state: 'waiting', now: now(), settings })
  return { ...delivery, ...deliveryKey(message) }
}

async function attempt(work: Work): Promise<void> {
  const { known, message, delivery, subscriber, health, slots, share, settings } = work
  if (!mayMove('retry', delivery.state)) return
  if (known && known.attempted >= message.attempt) return ensureNext(known, work)
  if (await work.isBlocked(message.tenant, work.table)) return waitForUnblock(work)
  if (delivery.type === pingType) return call(work, async () => true)
  if (subscriber.state !== 'active') return hold(work)
  const now = work.now()
  const floodWait = floodWaitSeconds(message, share)
  if (floodWait !== undefined) return postpone(now + work.clock.jitter() * floodWait * 1000, work)
  const breaker = breakerOf(health, now)
  if (breaker === 'open') return postpone(health?.open_until ?? now, work)
  const mayContinue = async () => {
    const [isFree] = await Promise.all([share.takeSlot(), share.markSlow(message, health)])
    return isFree
  }
  if (breaker === 'half_open')
    return (await takeProbe(message, work)) ? call(work, mayContinue) : postpone(slotFreeAt(work), work)
  const isHeld = isSlow(health, now) && (hasNoSlot(slots, now, settings) || !(await share.takeSlot()))
  return isHeld ? waitForSlot(work) : call(work, mayContinue)
}

/**
 * Lets a first attempt wait in the queue, from where it returns soon. It waits in the table if it has waited already, and
 * so does a retry: one that is late without a mark in the table looks lost, and would be queued twice. The subscriber stays
 * slow meanwhile: a call without a slot would be cut off.
 */
async function waitForSlot(work: Work): Promise<void> {
  const { known, delivery, message, health, share } = work
  await share.markSlow(message, health)
  const waited = work.now() - timeOf(delivery.sk)
  return !known && waited < slotWaitSeconds * 1000
    ? sendLater(message, slotWaitSeconds, work)
    : postpone(slotFreeAt(work), work)
}

/** Returns the time at which a slot is likely to be free, in milliseconds since 1970. */
function slotFreeAt({ now, settings }: Context): number {
  return now() + settings['deliveries.timeoutSeconds'] * 1000
}

/** Calls the subscriber and records the attempt. */
async function call(work: Work, mayContinue: () => Promise<boolean>): Promise<void> {
  const { subscriber, delivery, message, settings, health } = work
  const { event_id: eventId, body } = delivery
  const at = work.now()
  const response = await work.call({
    url: subscriber.url,
    headers: await work.sign(subscriber, { eventId, body, at }),
    body,
    timeoutMilliseconds: settings['deliveries.timeoutSeconds'] * 1000,
    slow: { afterMilliseconds: settings['deliveries.slowCalls'].afterMilliseconds, mayContinue },
  })
  const made = attemptOf(response, { at, milliseconds: work.now() - at })
  if (made.reason === 'no_slot') return record(made, 'retry', work, slotFreeAt(work))
  if (made.reason === undefined) {
    await record(made, 'succeed', work)
    return softly(() => recordCall(message, 'success', health, work), work)
  }
  const reason = disablingReason(made, work)
  const nextAt = nextAttemptAt(delivery, response, work)
  if (nextAt === undefined) await record(made, 'fail', work)
  else if (reason) await record(made, 'hold', work)
  else await record(made, 'retry', work, nextAt)
  await softly(
    () => recordCall(message, made.reason === 'timeout' ? 'timeout' : 'failure', health, work),
    work,
  )
  if (reason) await softly(() => disableSubscriber(reason, work), work)
}

/** Logs a fault of work after the record of an attempt. A message that failed now would be only repeated. */
async function softly(change: () => Promise<void>, { log }: Context): Promise<void> {
  try {
    await change()
  } catch (fault) {
    log.job({ code: 'SUBSCRIBER_HEALTH_NOT_RECORDED', done: 0, failed: 1, fault })
  }
}
