import { ReportableError } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type Key, keyOf } from '../platform/table/keys.ts'
import type { Change, Refusal } from '../platform/table/table.ts'
import type { CallSubscriber } from './call-subscriber.ts'
import {
  type Attempt,
  asDelivery,
  type Delivery,
  type DeliveryMessage,
  type DeliveryTrigger,
  mayMove,
  moveCondition,
  newDelivery,
  pingType,
  replaceWaiting,
  stateAfter,
  waitingEntry,
} from './delivery.ts'
import { maxDelaySeconds, queuedDelivery, type SendMessages } from './delivery-queue.ts'
import { disableSubscriber, disablingReason } from './disable-subscriber.ts'
import { attemptOf, nextAttemptAt, withAttempt } from './record-attempt.ts'
import { asSubscriber, type Subscriber } from './subscriber.ts'
import {
  asHealth,
  breakerOf,
  hasNoSlot,
  healthKey,
  recordCall,
  type SubscriberHealth,
  takeProbe,
  takeSlot,
} from './subscriber-health.ts'

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
}

type Context = Pick<WorkContext, 'table' | 'clock' | 'settings' | 'now' | 'isBlocked' | 'log'>

/** A message, and what the table has about it. */
interface Work extends Context, Sending {
  message: DeliveryMessage
  subscriber: Subscriber
  health: SubscriberHealth | undefined
  /** Absent before the first attempt. */
  known: Delivery | undefined
  delivery: Delivery
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
  const messages = bodies.map((body) => JSON.parse(body) as DeliveryMessage)
  const reading = readItems(messages, context)
  return messages.map(async (message) => {
    const find = await reading
    const subscriber = find(subscriberKey(message))
    // A subscriber that was deleted gets nothing any more.
    if (!subscriber) return
    if (await context.isBlocked(message.tenant, context.table))
      throw new ReportableError('the tenant is blocked')
    const stored = find(deliveryKey(message))
    const known = stored && asDelivery(stored)
    const delivery = known ?? firstOf(message, context)
    if (!delivery || delivery.expires_at <= context.now() / 1000) return
    const health = asHealth(find(healthKey(message)))
    const work = { ...context, ...sending, message, health, known, delivery }
    await attempt({ ...work, subscriber: asSubscriber(subscriber) })
  })
}

function subscriberKey({ tenant, subscriber }: DeliveryMessage): Key {
  return keyOf(tenant, 'subscriber', subscriber)
}

function deliveryKey({ tenant, delivery }: DeliveryMessage): Key {
  return keyOf(tenant, 'delivery', delivery)
}

async function readItems(messages: readonly DeliveryMessage[], { table }: Context) {
  const keys = messages.flatMap((one) => [subscriberKey(one), healthKey(one), deliveryKey(one)])
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
  const { known, message, delivery, subscriber, health, settings } = work
  if (!mayMove('retry', delivery.state)) return
  if (known && known.attempted >= message.attempt) {
    // The process that recorded the attempt may have ended before it sent the message of the next one. An operator may have
    // redriven this message since then, so its receive count says nothing.
    await queueNext(known, work)
    return
  }
  if (delivery.type === pingType) return call(work, async () => true)
  if (subscriber.state !== 'active') return hold(work)
  const now = work.now()
  const breaker = breakerOf(health, now)
  if (breaker === 'open') return postpone(health?.open_until ?? now, work)
  const isProbe = breaker === 'half_open' && (await takeProbe(message, work))
  if (isProbe) return call(work, async () => true)
  if (breaker === 'half_open' || hasNoSlot(health, now, settings)) return postpone(slotFreeAt(work), work)
  let slot: ReturnType<typeof takeSlot> | undefined
  try {
    await call(work, async () => {
      slot = takeSlot(message, work)
      return (await slot) !== undefined
    })
  } finally {
    // If this fails, the lease of the slot ends by itself.
    const free = await slot?.catch(() => undefined)
    await free?.().catch(() => undefined)
  }
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
  if ('reason' in response && response.reason === 'no_slot') return postpone(slotFreeAt(work), work)
  const made = attemptOf(response, { at, milliseconds: work.now() - at })
  if (made.reason === undefined) {
    await record(made, 'succeed', work)
    return recordCall(message, 'success', health, work)
  }
  await recordCall(message, made.reason === 'timeout' ? 'timeout' : 'failure', health, work)
  const reason = disablingReason(made, work)
  if (reason) await disableSubscriber(reason, work)
  const nextAt = nextAttemptAt(delivery, response, work)
  if (nextAt === undefined) await record(made, 'fail', work)
  else if (reason) await record(made, 'hold', work)
  else await record(made, 'retry', work, nextAt)
}

/** Records an attempt, once, and queues the next one. A delivery that cannot be sent soon gets an entry in the table. */
async function record(made: Attempt, trigger: DeliveryTrigger, work: Work, nextAt?: number): Promise<void> {
  const { delivery, known, message } = work
  const due = trigger === 'hold' ? work.now() : nextAt
  const next = withAttempt(delivery, made, { state: stateAfter(trigger), next_at: due })
  const waits = trigger === 'hold' || (due !== undefined && delaySeconds(due, work) > maxDelaySeconds)
  const entry = waits && due !== undefined ? waitingEntry(message, next, due) : undefined
  const recorded = entry ? { ...next, waiting: entry.sk } : next
  const refusal = await commit(
    [
      { item: { ...recorded }, condition: known ? moveCondition(trigger, known) : { absent: true } },
      ...replaceWaiting(message.tenant, delivery.waiting, entry),
    ],
    work,
  )
  // A lost response of the write above looks like the write of another process.
  const stored = refusal ? refusal.existing && asDelivery(refusal.existing) : recorded
  if (stored) await queueNext(stored, work)
}

function commit(changes: [Change, ...Change[]], { table }: Context): Promise<Refusal | undefined> {
  const [first] = changes
  return changes.length === 1 && 'item' in first ? table.put(first) : table.transact(changes)
}

/** Sends the delayed message of the next attempt, unless the delivery has ended or waits in the table. */
async function queueNext(delivery: Delivery, work: Work): Promise<void> {
  const { message, send } = work
  const { state, waiting, next_at, attempted } = delivery
  if (state !== 'waiting' || waiting !== undefined || next_at === undefined) return
  if (attempted !== message.attempt) return
  const { tenant, subscriber, delivery: id } = message
  const next = { tenant, subscriber, delivery: id, attempt: attempted + 1 }
  const [failed] = await send([queuedDelivery(next, delaySeconds(next_at, work))])
  if (failed) throw new ReportableError('the queue did not accept a retry')
}

/** Returns the time until a moment in whole seconds. */
function delaySeconds(at: number, { now }: Pick<Context, 'now'>): number {
  return Math.max(0, Math.ceil((at - now()) / 1000))
}

/** Holds a delivery of a subscriber that is paused or disabled. */
async function hold(work: Work): Promise<void> {
  const { delivery, known, message, table } = work
  // Its entry may exist: an earlier run of the message could have been killed after it.
  const entry = waitingEntry(message, delivery, delivery.next_at ?? work.now())
  const held = { ...delivery, state: stateAfter('hold'), waiting: entry.sk }
  await table.transact([
    { item: held, condition: known ? moveCondition('hold', known) : { absent: true } },
    ...replaceWaiting(message.tenant, delivery.waiting, entry),
  ])
}

/** Lets a delivery wait in the table, from where the sweep takes it. @param due milliseconds since 1970 */
async function postpone(due: number, work: Work): Promise<void> {
  const { delivery, known, message, table } = work
  const entry = waitingEntry(message, delivery, due)
  await table.insertMany(known ? [entry] : [{ ...delivery, next_at: due, waiting: entry.sk }, entry])
}
