import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import type { Settings } from '../settings/register.ts'
import type { DeliveryMessage } from './delivery.ts'
import { maxDelaySeconds } from './delivery-queue.ts'
import {
  type HealthContext,
  healthUpdate,
  leaseEnd,
  recordSlowness,
  type SubscriberHealth,
} from './subscriber-health.ts'

/** So many messages of one tenant in a batch of ten may belong to a flood. */
const floodSize = 6
/** They do if the process has worked for the tenant for so long without a rest. */
const floodMilliseconds = 200
/** A process that works for nobody for so long has no backlog. */
const restMilliseconds = 50
/** What a process did for a tenant is forgotten after so long: its pause has ended, and the next batch is no flood yet. */
const memoryMilliseconds = 300_000
/** After a batch, floods of its tenant pause for so many times as long, so they hold a process for a tenth of its time. */
const pauseFactor = 9
/**
 * The messages of a flood return at random times. The first batch of them spreads over so many times the time of a batch, so that even
 * one by one they hold a process for a tenth of its time. Each further batch spreads over as much more, up to the maximum.
 */
const spreadFactor = 100
const maxSpreadFactor = 500

/** What a process has done for a tenant lately. All times are in milliseconds since 1970. */
interface TenantWork {
  /** The beginning of its work without a rest. */
  since: number
  endedAt: number
  /** The time of its latest batch whose messages were sent. */
  milliseconds: number
  /** The end of the pause of floods. */
  pausedUntil: number
  /** The batches of its floods that returned to the queue. */
  returned: number
}

/** The recent work of one process, by tenant. */
export type RecentWork = Map<string, TenantWork>

/**
 * The part of one tenant in a batch. A process works until the last call of its batch ends, so all slow calls of a tenant in
 * a batch hold one slot together.
 */
export interface TenantShare {
  /** For a flood that has to wait, the longest time that its messages wait in seconds. */
  maxWaitSeconds: number | undefined
  /** Takes the slot. @returns whether the tenant had a free one */
  takeSlot(): Promise<boolean>
  /** Records that a subscriber of the tenant is slow, once in a batch. @param known its health before the batch */
  markSlow(message: DeliveryMessage, known: SubscriberHealth | undefined): Promise<void>
  /** Ends one message of the tenant. The last one gives the slot back. */
  leave(): Promise<void>
}

/** Returns the share of each tenant of a batch. */
export function tenantShares(
  messages: readonly DeliveryMessage[],
  context: HealthContext,
  recent: RecentWork,
): Map<string, TenantShare> {
  const sizes = new Map<string, number>()
  for (const { tenant } of messages) sizes.set(tenant, (sizes.get(tenant) ?? 0) + 1)
  return new Map([...sizes].map(([tenant, size]) => [tenant, shareOf(tenant, size, context, recent)]))
}

function shareOf(tenant: string, size: number, context: HealthContext, recent: RecentWork): TenantShare {
  const { now } = context
  const startedAt = now()
  const workedAt = Math.max(...[...recent.values()].map(({ endedAt }) => endedAt))
  const forgotten = startedAt - (startedAt - workedAt > restMilliseconds ? 0 : memoryMilliseconds)
  for (const [one, { endedAt }] of recent) if (endedAt < forgotten) recent.delete(one)
  const last = recent.get(tenant)
  const since = last?.since ?? startedAt
  const waits =
    last && size >= floodSize && startedAt - since >= floodMilliseconds && startedAt < last.pausedUntil
  const returned = (last?.returned ?? 0) + (waits ? 1 : 0)
  const spread = Math.min(returned * spreadFactor, maxSpreadFactor)
  let taking: ReturnType<typeof takeSlot> | undefined
  const marking = new Map<string, Promise<void>>()
  let left = size
  return {
    maxWaitSeconds: waits ? Math.min((last.milliseconds * spread) / 1000, maxDelaySeconds - 1) : undefined,
    async takeSlot() {
      taking ??= takeSlot(tenant, context)
      return (await taking) !== undefined
    },
    markSlow(message, known) {
      const marked = marking.get(message.subscriber) ?? recordSlowness(message, known, context)
      marking.set(message.subscriber, marked)
      return marked
    },
    async leave() {
      left -= 1
      if (left > 0) return
      const endedAt = now()
      const milliseconds = endedAt - startedAt
      const pausedUntil = endedAt + pauseFactor * milliseconds
      const served = { since, milliseconds, pausedUntil }
      recent.set(tenant, { ...(waits ? last : served), endedAt, returned })
      // If this fails, the lease of the slot ends by itself.
      const free = await taking?.catch(() => undefined)
      await free?.().catch(() => undefined)
    },
  }
}

/** The item with the slots of a tenant is stored among the health of its subscribers. */
const slotsName = 'slots'

export function slotsKey({ tenant }: { tenant: string }): Key {
  return keyOf(tenant, 'subscriber_health', slotsName)
}

/** Returns whether slow calls of a tenant hold as many processes as they may. */
export function hasNoSlot(slots: Item | undefined, now: number, settings: Settings): boolean {
  return freeSlots(slots, now, settings).length === 0
}

/** Returns the slots whose lease has ended, or that have none. */
function freeSlots(slots: Item | undefined, now: number, settings: Settings): string[] {
  const { perTenant } = settings['deliveries.slowCalls']
  const names = Array.from({ length: perTenant }, (_, number) => `slot_${number}`)
  return names.filter((name) => Number(slots?.[name] ?? 0) <= now)
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
