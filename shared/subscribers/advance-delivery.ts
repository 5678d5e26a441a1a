import { ReportableError } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { keyOf } from '../platform/table/keys.ts'
import { type Change, inState, type Put, type Refusal } from '../platform/table/table.ts'
import {
  type Attempt,
  asDelivery,
  type Delivery,
  type DeliveryMessage,
  type DeliveryTrigger,
  failureEntry,
  moveCondition,
  replaceWaiting,
  stateAfter,
  waitingEntry,
} from './delivery.ts'
import { maxDelaySeconds, queuedDelivery, type SendMessages } from './delivery-queue.ts'
import { withAttempt } from './record-attempt.ts'
import { subscriberStates } from './subscriber.ts'

/** A message, what the table has about its delivery, and what continues it. */
export interface DeliveryWork extends Pick<WorkContext, 'table' | 'clock' | 'now'> {
  message: DeliveryMessage
  /** Absent before the first attempt. */
  known: Delivery | undefined
  delivery: Delivery
  /** Sends messages to the queue `deliveries`. */
  send: SendMessages
}

/**
 * How late the message of a next attempt may be. Until then, a process that finds an attempt recorded expects that another
 * one has queued the next.
 */
const overdueMilliseconds = 60_000

/**
 * Records an attempt, once, and queues the next one. A delivery that cannot be sent soon gets an entry in the table, and so
 * does one that waits for a slot: the sweep puts it back when one is free.
 */
export async function record(
  made: Attempt,
  trigger: DeliveryTrigger,
  work: DeliveryWork,
  nextAt?: number,
): Promise<void> {
  const { delivery, known, message } = work
  const due = trigger === 'hold' ? work.now() : nextAt
  const next = withAttempt(delivery, made, { state: stateAfter(trigger), next_at: due })
  const isLate = due !== undefined && delaySeconds(due, work) > maxDelaySeconds
  const waits = trigger === 'hold' || made.reason === 'no_slot' || isLate
  const entry = waits && due !== undefined ? waitingEntry(message, next, due, work.clock) : undefined
  const recorded = entry ? { ...next, waiting: entry.sk } : next
  // Before the record: an entry whose delivery has not failed means nothing, and a transaction would cost four units more.
  if (trigger === 'fail') await work.table.put(failureEntry(message.tenant, recorded, work.now()))
  const refusal = await commit(
    [
      { item: { ...recorded }, condition: known ? moveCondition(trigger, known) : { absent: true } },
      ...replaceWaiting(message.tenant, delivery.waiting, entry),
    ],
    work,
  )
  if (!refusal) return queueNext(recorded, work)
  // A lost response of the write above looks like the write of another process.
  if (refusal.existing) await ensureNext(asDelivery(refusal.existing), work)
}

function commit(changes: [Change, ...Change[]], { table }: DeliveryWork): Promise<Refusal | undefined> {
  const [first] = changes
  return changes.length === 1 && 'item' in first ? table.put(first) : table.transact(changes)
}

/** Sends the delayed message of the next attempt, unless the delivery has ended or waits in the table. */
async function queueNext(
  { state, waiting, next_at, attempted }: Delivery,
  work: DeliveryWork,
): Promise<void> {
  if (state !== 'waiting' || waiting !== undefined || next_at === undefined) return
  await queueAttempt(attempted + 1, delaySeconds(next_at, work), work)
}

/**
 * Continues a delivery whose attempt is recorded already. The process that recorded it may have ended before it queued the
 * next attempt. The message returns until that is overdue, and queues it only then: a copy of a message that queued it at
 * once would double all further attempts.
 */
export async function ensureNext(stored: Delivery, work: DeliveryWork): Promise<void> {
  const { state, attempted, waiting, next_at } = stored
  if (state !== 'waiting' || waiting !== undefined || next_at === undefined) return
  if (attempted !== work.message.attempt) return
  const seconds = Math.min(delaySeconds(next_at + overdueMilliseconds, work), maxDelaySeconds)
  await queueAttempt(seconds > 0 ? attempted : attempted + 1, seconds, work)
}

async function queueAttempt(
  attempt: number,
  seconds: number,
  { message, send }: DeliveryWork,
): Promise<void> {
  const { tenant, subscriber, delivery } = message
  const [failed] = await send([queuedDelivery({ tenant, subscriber, delivery, attempt }, seconds)])
  if (failed) throw new ReportableError('the queue did not accept a retry')
}

/** Returns the time until a moment in whole seconds. */
function delaySeconds(at: number, { now }: Pick<DeliveryWork, 'now'>): number {
  return Math.max(0, Math.ceil((at - now()) / 1000))
}

/** Holds a delivery of a subscriber that is paused or disabled. */
export async function hold(work: DeliveryWork): Promise<void> {
  const { delivery, known, message, table } = work
  const entry = waitingEntry(message, delivery, delivery.next_at ?? work.now(), work.clock)
  const held = { ...delivery, state: stateAfter('hold'), waiting: entry.sk }
  await table.transact([
    { item: held, condition: known ? moveCondition('hold', known) : { absent: true } },
    ...replaceWaiting(message.tenant, delivery.waiting, entry),
  ])
}

/** Lets a delivery wait in the table, from where the sweep takes it. @param due milliseconds since 1970 */
export async function postpone(due: number, work: DeliveryWork): Promise<void> {
  await commit(postponed(due, work), work)
}

/**
 * Lets a delivery of a blocked tenant wait in the table until the tenant is unblocked. A purge deletes the subscribers
 * before the deliveries, so nothing is written behind it.
 */
export async function waitForUnblock(work: DeliveryWork): Promise<void> {
  const { message, table } = work
  const exists: Change = {
    check: keyOf(message.tenant, 'subscriber', message.subscriber),
    condition: inState(subscriberStates),
  }
  await table.transact([exists, ...postponed(work.now(), work)])
}

/**
 * Returns the changes that let a delivery wait in the table. A delivery whose attempt was a message is marked as waiting
 * there: a copy of an earlier message would take the postponed one for lost, and double all further attempts. One that is
 * marked already keeps its mark. Its earlier entry is removed, because a resend has a message and an entry.
 */
function postponed(due: number, { known, delivery, message, clock }: DeliveryWork): [Change, ...Change[]] {
  const { tenant } = message
  const item = waitingEntry(message, delivery, due, clock)
  const entry: Put = { item, condition: 'none' }
  if (known?.waiting !== undefined)
    return [entry, { remove: keyOf(tenant, 'waiting_delivery', known.waiting), condition: 'none' }]
  const condition = known ? moveCondition('retry', known) : { absent: true as const }
  return [{ item: { next_at: due, ...delivery, waiting: item.sk }, condition }, entry]
}
