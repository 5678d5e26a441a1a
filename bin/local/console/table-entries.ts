import { asDelivery } from '#shared/deliveries/delivery.ts'
import { countsOf, statusOf } from '#shared/operations/operation.ts'
import { asOperation } from '#shared/operations/operation-store.ts'
import { type Item, ownerOf } from '#shared/platform/table/keys.ts'
import { asSubscriber } from '#shared/subscribers/subscriber.ts'
import type { Entry } from './activity.ts'

/** Returns what the console shows of an item of the table. Of those that are deleted it shows subscribers only. */
export function entriesOf(item: Item, isDeleted = false): Entry[] {
  const { entity, tenant } = ownerOf(item.pk)
  if (isDeleted) return entity === 'subscriber' ? [{ ...shown.subscriber(item), state: 'deleted' }] : []
  return entity in shown ? [shown[entity as keyof typeof shown](item, tenant)] : []
}

const shown = {
  audit: ({ pk: _, sk: id, ...record }: Item): Entry => ({ kind: 'audit', id, ...record }),
  ledger: ({ pk: _, sk: id, kind: booking, ...record }: Item, tenant: string): Entry => ({
    ...record,
    ...{ kind: 'ledger', id, tenant, booking },
  }),
  operation(item: Item): Entry {
    const operation = asOperation(item)
    const { id, tenant_id: tenant, correlation_id, updated_at, completion, error } = operation
    const counts = completion?.counts ?? countsOf(operation)
    const outcome = completion?.outcome
    const details = Object.entries(error?.details ?? {}).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    const reason = error && [error.code, ...details].join(', ')
    const rejects = completion?.rejects.slice(0, 20)
    const { state, progress } = statusOf(operation)
    return {
      ...{ kind: 'operation', id, tenant, correlation_id, updated_at },
      ...{ state, progress, counts, outcome, reason, rejects },
    }
  },
  delivery(item: Item, tenant: string): Entry {
    const { sk: id, subscriber_id, type, body, state, attempts, ...delivery } = asDelivery(item)
    const { event_id, correlation_id, occurred_at } = JSON.parse(body)
    // After its last attempt it keeps the time of the attempt before.
    const next_at = state === 'waiting' ? delivery.next_at : undefined
    return {
      ...{ kind: 'delivery', id, tenant, correlation_id, at: Date.parse(occurred_at), subscriber_id },
      ...{ event_id, type, body, state, attempted: attempts.length, attempts, next_at },
    }
  },
  subscriber(item: Item): Entry {
    const { id, tenant_id: tenant, url, events, state, reason } = asSubscriber(item)
    return { kind: 'subscriber', id, tenant, url, events, state, reason }
  },
}
