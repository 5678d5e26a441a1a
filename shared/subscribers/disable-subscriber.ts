import { auditPut } from '../platform/audit/record.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Attempt, Delivery } from './delivery.ts'
import { moveSubscriber, type Subscriber } from './subscriber.ts'
import { failingSince, type SubscriberHealth } from './subscriber-health.ts'

/** A failed attempt, and what was read before it. */
interface FailedWork extends Pick<WorkContext, 'table' | 'clock' | 'settings' | 'now' | 'log'> {
  subscriber: Subscriber
  health: SubscriberHealth | undefined
  delivery: Delivery
}

const dayMilliseconds = 24 * 3600 * 1000

/** Returns why a failed attempt disables its subscriber. A change of the subscriber starts the time of failures again. */
export function disablingReason(
  { reason }: Attempt,
  { health, subscriber, settings, now }: FailedWork,
): Subscriber['reason'] {
  if (reason === 'gone') return 'gone'
  const failing = failingSince(health, now(), settings)
  if (failing === undefined) return undefined
  const since = Math.max(failing, Date.parse(subscriber.updated_at))
  return now() - since >= settings['deliveries.disableAfterDays'] * dayMilliseconds ? 'failing' : undefined
}

/** Disables a subscriber, unless it has changed since it was read. It is audited and raises an alarm. */
export async function disableSubscriber(reason: 'gone' | 'failing', work: FailedWork): Promise<void> {
  const { subscriber, table, log, clock, delivery } = work
  const { id, tenant_id: tenant } = subscriber
  const correlation = { id: String(JSON.parse(delivery.body).correlation_id), trace: {} }
  const entry = {
    action: 'subscriber.disable',
    target: `subscriber/${id}`,
    before: { state: subscriber.state },
    after: { state: 'disabled', reason },
  }
  const actor = { sub: 'deliveries', tenant, role: undefined }
  const { onFailure: _, ...move } = moveSubscriber(subscriber, 'disable', { now: work.now(), reason })
  const refusal = await table.transact([move, auditPut(actor, entry, { correlation, clock })])
  if (!refusal) log.alert('SUBSCRIBER_DISABLED', correlation, { tenant, subscriber: id })
}
