import { asDelivery } from '#shared/deliveries/delivery.ts'
import { countsOf, type Operation, operationStatus, type Reject } from '#shared/operations/operation.ts'
import { asOperation } from '#shared/operations/operation-store.ts'
import { type Item, ownerOf } from '#shared/platform/table/keys.ts'
import { asRefund } from '#shared/refunds/refund-store.ts'
import { asSubscriber } from '#shared/subscribers/subscriber.ts'
import type { AuditLine, DeliveryLine, LedgerLine, OperationLine, RefundLine } from '../commands/ask/lists.ts'
import type { ConsoleEntry } from './activity.ts'

/** Returns what the console shows of an item of the table. Of those that are deleted it shows subscribers only. */
export function entriesOf(item: Item, isDeleted = false): ConsoleEntry[] {
  const { kind, tenant } = ownerOf(item.pk)
  if (isDeleted) return kind === 'subscriber' ? [{ ...shown.subscriber(item), state: 'deleted' }] : []
  return kind in shown ? [shown[kind as keyof typeof shown](item, tenant)] : []
}

const shown = {
  audit: ({ pk: _, sk: id, ...record }: Item): ConsoleEntry => ({ kind: 'audit', id, ...record }),
  ledger: ({ pk: _, sk: id, kind: booking, ...booked }: Item, tenant: string): ConsoleEntry => ({
    ...booked,
    ...{ kind: 'ledger', id, tenant, booking },
  }),
  refund(item: Item): ConsoleEntry {
    return refundEntry(asRefund(item))
  },
  operation(item: Item): ConsoleEntry {
    const operation = asOperation(item)
    const counts = operation.result?.counts ?? countsOf(operation)
    return { ...operationEntry(operation), counts, progress: operationStatus(operation).progress }
  },
  delivery(item: Item, tenant: string): ConsoleEntry {
    const { sk: id, subscriber_id, type, body, state, attempts, ...delivery } = asDelivery(item)
    const { event_id, correlation_id, occurred_at } = JSON.parse(body)
    // After its last attempt it keeps the time of the attempt before.
    const next_at = state === 'waiting' ? delivery.next_at : undefined
    return {
      ...{ kind: 'delivery', id, tenant, correlation_id, at: Date.parse(occurred_at), subscriber_id },
      ...{ event_id, type, body, state, attempted: attempts.length, attempts, next_at },
    }
  },
  subscriber(item: Item): ConsoleEntry {
    const { id, tenant_id: tenant, url, events, state, reason } = asSubscriber(item)
    return { kind: 'subscriber', id, tenant, url, events, state, reason }
  },
}

export function auditEntry(line: AuditLine): ConsoleEntry {
  return { kind: 'audit', ...line }
}

export function ledgerEntry({ kind: booking, tenant_id: tenant, ...line }: LedgerLine): ConsoleEntry {
  return { ...line, kind: 'ledger', tenant, booking }
}

export function refundEntry(line: RefundLine): ConsoleEntry {
  const { id, tenant_id: tenant, charge_id, amount, currency, status, account } = line
  const { provider_refund_id, created_at, updated_at } = line
  return {
    ...{ kind: 'refund', id, tenant, charge_id, amount, currency, status, account },
    ...{ provider_refund_id, at: Date.parse(created_at), updated_at },
  }
}

export function deliveryEntry({
  tenant_id: tenant,
  occurred_at,
  next_at,
  ...line
}: DeliveryLine): ConsoleEntry {
  const due = next_at === undefined ? undefined : Date.parse(next_at)
  return { ...line, kind: 'delivery', tenant, at: Date.parse(occurred_at), next_at: due }
}

/** The most rejected rows that an entry shows. */
const maxRejects = 20

export function operationEntry(line: OperationLine | Operation): ConsoleEntry {
  const { id, tenant_id: tenant, state, correlation_id, updated_at, result, error } = line
  const details = Object.entries(error?.details ?? {}).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const reason = error && [error.code, ...details].join(', ')
  const rejects: Reject[] | undefined = result?.rejects.slice(0, maxRejects)
  return {
    ...{ kind: 'operation', id, tenant, correlation_id, updated_at, state },
    ...{ counts: result?.counts, outcome: result?.outcome, reason, rejects },
  }
}
