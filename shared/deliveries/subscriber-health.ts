import { hourMilliseconds } from '../platform/base/clock.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import type { Table, Update } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { SubscriberRef } from '../subscribers/subscriber.ts'
import { type DeliveryMessage, expiryOf } from './delivery.ts'

/**
 * What is wrong with a subscriber at present. It is written only when something goes wrong or recovers, so a healthy
 * subscriber costs no write. All times are in milliseconds since 1970; 0 and absent mean the same.
 */
export interface SubscriberHealth extends Key {
  /** The time of the latest recorded failure since the last success. Failures are recorded at most hourly. */
  failed_at?: number
  /** The time of the second recorded failure since the last success or `longestSilence`. */
  failing_since?: number
  /** The number of timeouts in a row. */
  timeouts?: number
  /** The end of the breaker's pause. Until a call ends in time, the breaker is not closed. */
  open_until?: number
  /** The length of that pause. */
  pause_seconds?: number
  /** The end of the lease of the probe. */
  probe_until?: number
  /** Until when the subscriber counts as slow. */
  slow_until?: number
}

/** The dependencies of a change of a subscriber's health. */
interface HealthContext {
  table: Table
  settings: Settings
  now(): number
}

/** The breaker: so many timeouts in a row pause a subscriber, first for half a minute and at most for a quarter of an hour. */
export const breaker = { timeouts: 5, pauseSeconds: 30, maxPauseSeconds: 900 }
/** A call that takes longer is slow. It is more than well endpoints take, and short enough for each process to meet a few. */
export const slowAfterMilliseconds = 500
/** Of the processes that send, the slow calls of one tenant hold one of so many at most. */
const slotDivisor = 10
/** A call that a killed process made ends at the latest so many milliseconds after its time limit. */
const leaseMarginMilliseconds = 10_000
/**
 * How long a subscriber counts as slow after a slow call, and after a delivery of it found no slot: longer than the time
 * between two runs of the sweep, so it does not end while deliveries wait.
 */
const slowMilliseconds = 180_000

export function healthKey({ tenant, subscriber }: SubscriberRef): Key {
  return keyOf(tenant, 'subscriber_health', subscriber)
}

export function asHealth(item: Item | undefined): SubscriberHealth | undefined {
  return item as SubscriberHealth | undefined
}

/**
 * Returns the state of a subscriber's breaker: `closed`, `open` during a pause, or `half_open` after it, when one call
 * probes whether the subscriber still hangs.
 */
export function breakerOf(
  health: SubscriberHealth | undefined,
  now: number,
): 'closed' | 'open' | 'half_open' {
  const until = health?.open_until ?? 0
  if (until === 0) return 'closed'
  return now < until ? 'open' : 'half_open'
}

/** Returns whether a subscriber was slow lately. Its next calls take a slot before they start. */
export function isSlow(health: SubscriberHealth | undefined, now: number): boolean {
  return (health?.slow_until ?? 0) > now
}

/** Records that a subscriber is slow, unless that was recorded lately. @param known the health before the call */
export async function recordSlowness(
  ref: SubscriberRef,
  known: SubscriberHealth | undefined,
  context: HealthContext,
): Promise<void> {
  const now = context.now()
  if (isSlow(known, now + slowMilliseconds / 2)) return
  await context.table.update(healthUpdate(ref, { slow_until: now + slowMilliseconds }, context))
}

/**
 * Takes the lease of the probe. It ends by itself, and never early: a call that read the health before the probe ended
 * would be a second one.
 * @returns whether this call is the probe
 */
export async function takeProbe(ref: SubscriberRef, context: HealthContext): Promise<boolean> {
  const now = context.now()
  const set = { probe_until: leaseEnd(now, context.settings) }
  const condition = { absentOrBelow: { attribute: 'probe_until', value: now + 1 } }
  return !(await context.table.update({ ...healthUpdate(ref, set, context), condition }))
}

function leaseEnd(now: number, settings: Settings): number {
  return now + settings['deliveries.timeoutSeconds'] * 1000 + leaseMarginMilliseconds
}

/** The result of a call, for the health of its subscriber. */
type CallEnd = 'success' | 'failure' | 'timeout'

/**
 * Records the result of a call, if it changes anything: a failure each hour, a first success, and each timeout. Any end in
 * time closes the breaker, also that of a failure without a response.
 * @param known the health that was read before the call
 */
export async function recordCall(
  ref: SubscriberRef,
  end: CallEnd,
  known: SubscriberHealth | undefined,
  context: HealthContext,
): Promise<void> {
  const { table } = context
  if (end !== 'success') await recordFailure(ref, known, context)
  if (end === 'timeout') return recordTimeout(ref, context)
  const { failed_at, timeouts, open_until } = known ?? {}
  const set = {
    ...(end === 'success' && failed_at && { failed_at: 0, failing_since: 0 }),
    ...((timeouts || open_until) && { timeouts: 0, open_until: 0, pause_seconds: 0 }),
  }
  if (Object.keys(set).length > 0) await table.update(healthUpdate(ref, set, context))
}

/**
 * Records a failure if the latest one is an hour old. The time of failures begins with the second one: a success that
 * started before the first one did not know that there was anything to clear.
 */
async function recordFailure(
  ref: SubscriberRef,
  known: SubscriberHealth | undefined,
  context: HealthContext,
): Promise<void> {
  const now = context.now()
  const { failed_at = 0, failing_since = 0 } = known ?? {}
  if (now - failed_at < hourMilliseconds) return
  const isInterrupted = now - failed_at > longestSilence(context.settings)
  const set = { failed_at: now, failing_since: isInterrupted ? 0 : failing_since || now }
  const condition = failed_at
    ? { matches: { failed_at } }
    : { absentOrBelow: { attribute: 'failed_at', value: 1 } }
  await context.table.update({ ...healthUpdate(ref, set, context), condition })
}

/** Returns the longest time between two failures of a subscriber that fails all the time, in milliseconds. */
function longestSilence(settings: Settings): number {
  const { retriesAfterSeconds } = settings['deliveries.schedule']
  return 24 * hourMilliseconds + Math.max(0, ...retriesAfterSeconds) * 1000
}

/** Returns since when a subscriber fails without a pause or a success; undefined if it does not. */
export function failingSince(
  health: SubscriberHealth | undefined,
  now: number,
  settings: Settings,
): number | undefined {
  const { failed_at = 0, failing_since = 0 } = health ?? {}
  return failing_since > 0 && now - failed_at <= longestSilence(settings) ? failing_since : undefined
}

/** Counts a timeout. Opens the breaker at the limit, and for twice as long if the call was its probe. */
async function recordTimeout(ref: SubscriberRef, context: HealthContext): Promise<void> {
  const { table } = context
  const { timeouts: limit, pauseSeconds, maxPauseSeconds } = breaker
  await table.update({ ...healthUpdate(ref, {}, context), increment: ['timeouts'] })
  // The count of all processes, as calls of several may time out at the same time.
  const health = asHealth(await table.get(healthKey(ref)))
  if ((health?.timeouts ?? 0) < limit) return
  const now = context.now()
  const pause = health?.pause_seconds ? Math.min(2 * health.pause_seconds, maxPauseSeconds) : pauseSeconds
  // Only one of several calls that time out together starts a pause.
  const condition = { absentOrBelow: { attribute: 'open_until', value: now + 1 } }
  const set = { open_until: now + pause * 1000, pause_seconds: pause }
  await table.update({ ...healthUpdate(ref, set, context), condition })
}

/** Returns an update of the item, which expires if nothing changes it, as that of a deleted subscriber. */
function healthUpdate(
  ref: SubscriberRef,
  set: Record<string, number>,
  { settings, now }: HealthContext,
): Update {
  return {
    update: healthKey(ref),
    set: { ...set, expires_at: expiryOf(now(), settings) },
    condition: 'none',
  }
}

/** The item with the slots of a tenant is stored among the health of its subscribers. */
const slotsName = 'slots'

export function slotsKey({ tenant }: { tenant: string }): Key {
  return keyOf(tenant, 'subscriber_health', slotsName)
}

/** Returns the number of processes that the slow calls of one tenant may hold at a time. */
export function slotsPerTenant(settings: Settings): number {
  return Math.max(1, Math.floor(settings['deliveries.senders'] / slotDivisor))
}

/** Returns when a call that begins now has ended at the latest, in milliseconds since 1970. */
export function afterLongestCall({ now, settings }: Pick<HealthContext, 'now' | 'settings'>): number {
  return now() + settings['deliveries.timeoutSeconds'] * 1000
}

/** Returns whether slow calls of a tenant hold as many processes as they may. */
export function hasNoSlot(slots: Item | undefined, now: number, settings: Settings): boolean {
  return freeSlots(slots, now, settings).length === 0
}

/** Returns the slots whose lease has ended, or that have none. */
function freeSlots(slots: Item | undefined, now: number, settings: Settings): string[] {
  const names = Array.from({ length: slotsPerTenant(settings) }, (_, number) => `slot_${number}`)
  return names.filter((name) => Number(slots?.[name] ?? 0) <= now)
}

/**
 * The slot of a tenant in a batch. A process works until the last call of its batch ends, so all slow calls of a tenant in a
 * batch hold one slot together.
 */
export interface TenantSlot {
  /** Takes the slot. @returns whether the tenant had a free one */
  take(): Promise<boolean>
  /** Records that a subscriber of the tenant is slow, once in a batch. @param known its health before the batch */
  markSlow(message: DeliveryMessage, known: SubscriberHealth | undefined): Promise<void>
  /** Ends one message of the tenant. The last one gives the slot back. */
  endMessage(): Promise<void>
}

/** Returns the slot of each tenant of a batch. Nothing is read or written before it is taken. */
export function tenantSlots(
  messages: readonly DeliveryMessage[],
  context: HealthContext,
): Map<string, TenantSlot> {
  const byTenant = Map.groupBy(messages, ({ tenant }) => tenant)
  return new Map(Array.from(byTenant, ([tenant, { length }]) => [tenant, slotOf(tenant, length, context)]))
}

function slotOf(tenant: string, messages: number, context: HealthContext): TenantSlot {
  let taking: ReturnType<typeof takeSlot> | undefined
  const marking = new Map<string, Promise<void>>()
  let left = messages
  return {
    async take() {
      taking ??= takeSlot(tenant, context)
      return (await taking) !== undefined
    },
    markSlow(message, known) {
      const marked = marking.get(message.subscriber) ?? recordSlowness(message, known, context)
      marking.set(message.subscriber, marked)
      return marked
    },
    async endMessage() {
      left -= 1
      if (left > 0) return
      // If this fails, the lease of the slot ends by itself.
      const free = await taking?.catch(() => undefined)
      await free?.().catch(() => undefined)
    },
  }
}

/** Gives a slot back. If that is lost, its lease ends by itself. */
type FreeSlot = () => Promise<unknown>

/** Takes one of the slots of a tenant. @returns undefined if none is free */
async function takeSlot(tenant: string, context: HealthContext): Promise<FreeSlot | undefined> {
  const { table, settings } = context
  const ref = { tenant, subscriber: slotsName }
  const now = context.now()
  const until = leaseEnd(now, settings)
  const tried = new Set<string>()
  for (let slots: Item | undefined; ; ) {
    const name = freeSlots(slots, now, settings).find((one) => !tried.has(one))
    if (name === undefined) return undefined
    tried.add(name)
    const condition = { absentOrBelow: { attribute: name, value: now + 1 } }
    const refusal = await table.update({ ...healthUpdate(ref, { [name]: until }, context), condition })
    if (!refusal) {
      const isMine = { matches: { [name]: until } }
      return () => table.update({ ...healthUpdate(ref, { [name]: 0 }, context), condition: isMine })
    }
    // It shows which other slots are free.
    slots = refusal.existing
  }
}
