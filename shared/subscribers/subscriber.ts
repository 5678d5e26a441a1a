import * as v from 'valibot'
import { largestId, smallestId, timestamp } from '../platform/base/clock.ts'
import { type Item, type Key, keyOf, partitionsOf, pendingKeyOf } from '../platform/table/keys.ts'
import { type Change, create, remove, type Table, type Write } from '../platform/table/table.ts'
import { transitionsOf } from '../platform/table/transitions.ts'
import { perSettings } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { forgetSubscribedTenants } from './subscribed-tenants.ts'
import { isSubscriberUrl } from './subscriber-address.ts'

/**
 * The states of a subscriber. While it is `paused` by an operator or `disabled` by the service, its deliveries are suspended.
 */
export const subscriberStates = ['active', 'paused', 'disabled'] as const
type SubscriberState = (typeof subscriberStates)[number]

/** A signing secret, encrypted. */
export interface SealedSecret {
  sealed: string
  /** The end of the overlap after a rotation, in milliseconds since 1970; absent for the current secret. */
  valid_until?: number
}

/** An endpoint that receives events of a tenant. */
export interface Subscriber {
  id: string
  tenant_id: string
  url: string
  /** Types of events, prefixes such as `refund.*`, or `*` for all. */
  events: readonly string[]
  state: SubscriberState
  /** Why it was disabled the last time: it answered 410, or failed for deliveries.disableAfterDays. */
  reason?: 'gone' | 'failing'
  /** The current secret first. */
  secrets: readonly SealedSecret[]
  created_at: string
  /** Changes with each change, so a write can require that there was none. */
  updated_at: string
}

const maxUrlLength = 2048
/** The largest value of subscribers.maxPerTenant. */
const maxSubscribers = 64
const maxPatterns = 100

/** A pattern of event types: a type, a prefix and `.*`, or `*`. */
const EventPattern = v.pipe(
  v.string(),
  v.maxLength(64),
  v.regex(
    /^(\*|[a-z][a-z0-9_]*(\.[a-z0-9_]+)*(\.\*)?)$/,
    'it takes event types, prefixes such as refund.*, or *',
  ),
)

/** The input of a registration. */
export const SubscriberInput = perSettings((settings) =>
  v.strictObject({
    url: v.pipe(
      v.string(),
      v.maxLength(maxUrlLength),
      v.check((url) => isSubscriberUrl(url, settings), 'it takes a public https URL without credentials'),
    ),
    events: v.pipe(v.array(EventPattern), v.minLength(1), v.maxLength(maxPatterns)),
  }),
)
export type SubscriberInput = v.InferOutput<ReturnType<typeof SubscriberInput>>

/** Returns whether a subscriber asked for the events of a type. */
export function wants({ events }: Pick<Subscriber, 'events'>, type: string): boolean {
  return events.some(
    (pattern) =>
      pattern === '*' ||
      pattern === type ||
      (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )
}

/** A reference to a subscriber. */
export interface SubscriberRef {
  tenant: string
  subscriber: string
}

export function asSubscriber(item: Item): Subscriber {
  return item as unknown as Subscriber
}

/** Returns a subscriber; undefined if it does not exist. */
export async function findSubscriber(table: Table, ref: SubscriberRef): Promise<Subscriber | undefined> {
  const item = await table.get(keyOf(ref.tenant, 'subscriber', ref.subscriber))
  return item && asSubscriber(item)
}

/** Returns all subscribers of a tenant, oldest first: at most 64, which are less than a megabyte. */
export async function subscribersOf(table: Table, tenant: string): Promise<Subscriber[]> {
  const [partition = ''] = partitionsOf(tenant, 'subscriber')
  const range = { partition, low: smallestId, high: largestId, descending: false, limit: maxSubscribers }
  return (await table.readRange(range)).items.map(asSubscriber)
}

/** Returns whether a tenant with these subscribers may have another one. */
export function mayAdd(
  existing: readonly Subscriber[],
  settings: Pick<Settings, 'subscribers.maxPerTenant'>,
): boolean {
  return existing.length < settings['subscribers.maxPerTenant']
}

/** The item that counts the registrations of a tenant is stored among the health of its subscribers. */
function registrationsKey(tenant: string): Key {
  return keyOf(tenant, 'subscriber_health', 'registrations')
}

/** Returns how many subscribers a tenant has ever registered. */
export async function registrationsOf(table: Table, tenant: string): Promise<number> {
  return Number((await table.get(registrationsKey(tenant)))?.registrations ?? 0)
}

/** Counts a registration. Rejected if there was another one since they were counted: it was not in the list of the first. */
export function countRegistration(tenant: string, counted: number): Change {
  return {
    update: registrationsKey(tenant),
    set: { registrations: counted + 1 },
    condition: { absentOrBelow: { attribute: 'registrations', value: counted + 1 } },
  }
}

/** Writes a new subscriber with its entry, by which the sweep finds the subscribers of all tenants. */
export function createSubscriber(subscriber: Subscriber): Write[] {
  const { id, tenant_id: tenant } = subscriber
  return [
    create({ ...keyOf(tenant, 'subscriber', id), ...subscriber }),
    create({ ...pendingKeyOf('registered-subscriber', id), tenant }),
    forgetSubscribedTenants,
  ]
}

/**
 * Deletes a subscriber with its entry. Its deliveries stay until they expire, and are not sent any more.
 * Rejected if it has changed since it was read.
 */
export function deleteSubscriber({ id, tenant_id: tenant, updated_at }: Subscriber): Write[] {
  return [
    remove(keyOf(tenant, 'subscriber', id), { updated_at }, 'TRANSIENT.error'),
    { remove: keyOf(tenant, 'subscriber_health', id), condition: 'none', onFailure: 'INTERNAL.unexpected' },
    {
      remove: pendingKeyOf('registered-subscriber', id),
      condition: 'none',
      onFailure: 'INTERNAL.unexpected',
    },
  ]
}

/** What changes the state of a subscriber. */
type SubscriberTrigger = 'pause' | 'resume' | 'disable'

export const subscriberTransitions = transitionsOf<SubscriberTrigger, SubscriberState>({
  pause: { from: ['active'], to: 'paused' },
  resume: { from: ['paused', 'disabled'], to: 'active' },
  disable: { from: ['active'], to: 'disabled' },
})

/**
 * Writes a transition of a subscriber. Rejected if it has changed since it was read.
 * @param reason of `disable`
 * @param now milliseconds since 1970
 */
export function moveSubscriber(
  subscriber: Subscriber,
  trigger: SubscriberTrigger,
  { now, reason }: { now: number; reason?: Subscriber['reason'] },
): Write {
  const { id, tenant_id: tenant, updated_at } = subscriber
  return {
    update: keyOf(tenant, 'subscriber', id),
    set: {
      state: subscriberTransitions.stateAfter(trigger),
      ...(reason && { reason }),
      updated_at: changedAt(subscriber, now),
    },
    condition: subscriberTransitions.condition(trigger, { updated_at }),
    onFailure: 'TRANSIENT.error',
  }
}

/** Writes other attributes of a subscriber. Rejected if it has changed since it was read. */
export function changeSubscriber(
  subscriber: Subscriber,
  set: Partial<Pick<Subscriber, 'url' | 'events' | 'secrets'>>,
  now: number,
): Write {
  const { id, tenant_id: tenant, updated_at } = subscriber
  return {
    update: keyOf(tenant, 'subscriber', id),
    set: { ...set, updated_at: changedAt(subscriber, now) },
    condition: { matches: { updated_at } },
    onFailure: 'TRANSIENT.error',
  }
}

/**
 * Writes a new signing secret. The others sign with it until the end of the overlap, and expired ones are removed.
 * @param sealed the new secret, encrypted
 */
export function rotateSecret(
  subscriber: Subscriber,
  sealed: string,
  { now, settings }: { now: number; settings: Pick<Settings, 'subscribers.secretOverlapSeconds'> },
): Write {
  const until = now + settings['subscribers.secretOverlapSeconds'] * 1000
  const earlier = validSecrets(subscriber, now).map((one) => ({
    ...one,
    valid_until: Math.min(one.valid_until ?? until, until),
  }))
  return changeSubscriber(subscriber, { secrets: [{ sealed }, ...earlier] }, now)
}

/** Returns the secrets that sign at a time, the current one first. */
export function validSecrets({ secrets }: Pick<Subscriber, 'secrets'>, now: number): SealedSecret[] {
  return secrets.filter(({ valid_until }) => valid_until === undefined || valid_until > now)
}

/** Returns a time above that of the last change, even in its millisecond or while the clock is behind. */
function changedAt({ updated_at }: Subscriber, now: number): string {
  return timestamp(Math.max(now, Date.parse(updated_at) + 1))
}
