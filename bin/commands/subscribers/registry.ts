import { newId, timestamp } from '#shared/platform/base/clock.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { subscribedMilliseconds } from '#shared/subscribers/subscribed-tenants.ts'
import {
  changeSubscriber,
  countRegistration,
  createSubscriber,
  deleteSubscriber,
  mayAdd,
  moveSubscriber,
  registrationsOf,
  rotateSecret,
  type Subscriber,
  type SubscriberRef,
  subscribersOf,
  subscriberTransitions,
  validSecrets,
} from '#shared/subscribers/subscriber.ts'
import type { Report } from '../../cli/output.ts'
import { skipWaiting } from './deliveries.ts'
import {
  auditOfSubscriber,
  changeSubscriberAs,
  prepare,
  readSubscriber,
  type SubscriberOperator,
} from './subscriber-operator.ts'

/** The public fields of a subscriber: everything but its secrets. */
type SubscriberLine = Omit<Subscriber, 'secrets'>

/** Each secret adds a signature to the headers of every delivery. */
const maxSecrets = 8

/**
 * Registers a subscriber, and waits until whatever publishes events knows of it: nothing that is published afterwards is lost.
 * @returns its public fields, and the secret that signs its events, which cannot be read again
 * @throws Error for fields that the deployment rejects, for one subscriber too many, or for one that exists already
 */
export async function createSubscriberOf(
  operator: SubscriberOperator,
  { tenant, url, events }: { tenant: string; url: string; events: readonly string[] },
): Promise<SubscriberLine & { secret: string }> {
  const { table, clock } = operator
  const id = newId(clock)
  const { issued, settings } = await prepare(operator, {
    check: { url, events },
    issue: { id, tenant_id: tenant },
  })
  if (!issued) throw new Error('the deployment made no secret')
  const now = timestamp(clock.now())
  const created: Subscriber = {
    id,
    tenant_id: tenant,
    url,
    events,
    state: 'active',
    secrets: [{ sealed: issued.sealed }],
    created_at: now,
    updated_at: now,
  }
  const values = { after: { host: new URL(url).host, events } }
  const ref = { tenant, subscriber: id }
  for (;;) {
    const counted = await registrationsOf(table, tenant)
    const others = await subscribersOf(table, tenant)
    const same = others.find((other) => other.url === url && isSame(other.events, events))
    if (same) throw new Error(`the subscriber ${same.id} has this URL and these events already`)
    if (!mayAdd(others, settings))
      throw new Error(
        `${tenant} has ${others.length} subscribers, the maximum of subscribers.maxPerTenant: delete one first`,
      )
    const changes = [
      ...createSubscriber(created),
      countRegistration(tenant, counted),
      auditOfSubscriber(operator, ref, 'subscriber.create', values),
    ]
    if (await table.transact(changes)) continue
    await clock.sleep(subscribedMilliseconds)
    return { ...lineOf(created), secret: issued.secret }
  }
}

/** Returns the subscribers of a tenant without their secrets, oldest first. */
export async function listSubscribers(table: Table, tenant: string): Promise<SubscriberLine[]> {
  return (await subscribersOf(table, tenant)).map(lineOf)
}

/** Changes the URL or the events of a subscriber. @throws Error for fields that the deployment rejects */
export async function updateSubscriber(
  operator: SubscriberOperator,
  ref: SubscriberRef,
  fields: { url?: string; events?: readonly string[] },
): Promise<SubscriberLine> {
  await prepare(operator, { check: fields })
  const { url, ...rest } = fields
  const after = { ...(url !== undefined && { host: new URL(url).host }), ...rest }
  await changeSubscriberAs(operator, ref, 'subscriber.update', (subscriber) => ({
    changes: [changeSubscriber(subscriber, fields, operator.clock.now())],
    after,
  }))
  return lineOf(await readSubscriber(operator, ref))
}

/** Pauses an active subscriber: its events are suspended until it is resumed. @throws Error if it is not active */
export async function pauseSubscriber(
  operator: SubscriberOperator,
  ref: SubscriberRef,
): Promise<SubscriberLine> {
  return move(operator, ref, 'pause', {})
}

/**
 * Resumes a subscriber that is paused or disabled.
 * @param skip whether its deliveries that are suspended or wait are dropped instead of sent
 * @throws Error if it is active, or changed while its deliveries are dropped
 */
export async function resumeSubscriber(
  operator: SubscriberOperator,
  ref: SubscriberRef,
  { skip, report = () => {} }: { skip: boolean; report?: Report },
): Promise<SubscriberLine & { skipped?: number }> {
  const paused = await readSubscriber(operator, ref)
  assertMayMove(paused, 'resume')
  if (!skip) return move(operator, ref, 'resume', {})
  await operator.table.transact([auditOfSubscriber(operator, ref, 'subscriber.skip')])
  const skipped = await skipWaiting(operator, ref, { unchanged: paused, report })
  return { ...(await move(operator, ref, 'resume', { skipped })), skipped }
}

async function move(
  operator: SubscriberOperator,
  ref: SubscriberRef,
  trigger: 'pause' | 'resume',
  after: Record<string, unknown>,
): Promise<SubscriberLine> {
  await changeSubscriberAs(operator, ref, `subscriber.${trigger}`, (subscriber) => {
    assertMayMove(subscriber, trigger)
    const { state } = subscriber
    const changes = [moveSubscriber(subscriber, trigger, { now: operator.clock.now() })].flat()
    return { changes, before: { state }, after }
  })
  return lineOf(await readSubscriber(operator, ref))
}

function assertMayMove({ id, state }: Subscriber, trigger: 'pause' | 'resume'): void {
  if (!subscriberTransitions.allows(trigger, state)) throw new Error(`the subscriber ${id} is ${state}`)
}

/**
 * Replaces the secret of a subscriber. The old ones sign as well until the overlap ends.
 * @param overlapSeconds that of the setting subscribers.secretOverlapSeconds if undefined
 * @returns the new secret, which cannot be read again
 */
export async function replaceSecret(
  operator: SubscriberOperator,
  ref: SubscriberRef,
  overlapSeconds: number | undefined,
): Promise<{ id: string; secret: string; old_secrets_valid_until: string }> {
  const { clock } = operator
  const issue = { id: ref.subscriber, tenant_id: ref.tenant }
  const { issued, settings } = await prepare(operator, { issue })
  if (!issued) throw new Error('the deployment made no secret')
  const seconds = overlapSeconds ?? settings['subscribers.secretOverlapSeconds']
  const now = clock.now()
  const end = timestamp(now + seconds * 1000)
  await changeSubscriberAs(operator, ref, 'subscriber.rotate_secret', (subscriber) => {
    if (seconds > 0 && validSecrets(subscriber, now).length >= maxSecrets)
      throw new Error(`${maxSecrets} secrets are valid: end the old ones with --overlap 0`)
    const overlap = { now, settings: { 'subscribers.secretOverlapSeconds': seconds } }
    return {
      changes: [rotateSecret(subscriber, issued.sealed, overlap)],
      after: { old_secrets_valid_until: end },
    }
  })
  return { id: ref.subscriber, secret: issued.secret, old_secrets_valid_until: end }
}

/** Deletes a subscriber. Events are not sent to it any more; the records of its deliveries stay until they expire. */
export async function deleteSubscriberOf(operator: SubscriberOperator, ref: SubscriberRef): Promise<void> {
  await changeSubscriberAs(operator, ref, 'subscriber.delete', (subscriber) => ({
    changes: deleteSubscriber(subscriber),
    before: { host: new URL(subscriber.url).host, events: subscriber.events },
  }))
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify([...one].sort()) === JSON.stringify([...other].sort())
}

function lineOf(subscriber: Subscriber): SubscriberLine {
  const { id, tenant_id, url, events, state, reason, created_at, updated_at } = subscriber
  const because = state === 'disabled' && reason ? { reason } : {}
  return { id, tenant_id, url, events, state, ...because, created_at, updated_at }
}
