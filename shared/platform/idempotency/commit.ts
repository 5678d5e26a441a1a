import { type AuditEntry, auditItem } from '../audit/audit-record.ts'
import type { Caller } from '../auth/caller.ts'
import { type Clock, newId, timestamp } from '../clock.ts'
import { fail } from '../errors/failure.ts'
import type { Outbox } from '../events/outbox.ts'
import type { Correlation } from '../http/correlation.ts'
import type { Effects } from '../http/reply.ts'
import type { Item } from '../table/keys.ts'
import type { Put, Table } from '../table/table.ts'

/** The circumstances of a commit. */
export interface Committer {
  table: Table
  clock: Clock
  caller: Caller | undefined
  correlation: Correlation
}

/**
 * Commits the effects of a decision and, with a key, its idempotency record: all in one transaction.
 * @returns the record that stood in the way, when another request with this key was first
 * @throws the error of the first write whose condition did not hold
 */
export async function commit(
  committer: Committer,
  { writes = [], events = [], audit }: Effects,
  record?: Put,
): Promise<Item | undefined> {
  const carried = events.length > 0 ? { outbox: outboxOf(committer, events) } : {}
  const puts: Put[] = [
    // The record comes first, so that its refusal is told before any other.
    ...(record ? [record] : []),
    ...writes.map(({ item, condition }, index) => ({
      item: index === 0 ? { ...item, ...carried } : item,
      condition,
    })),
    ...(audit ? [auditPut(committer, audit)] : []),
  ]
  if (puts.length === 0) return undefined
  if (events.length > 0 && writes.length === 0) throw new Error('events are carried by a write')
  const refusal = await committer.table.transact(puts)
  if (!refusal) return undefined
  if (record && refusal.index === 0) {
    if (!refusal.existing) throw fail('TRANSIENT.error')
    return refusal.existing
  }
  const refused = writes[refusal.index - (record ? 1 : 0)]
  throw fail(refused?.otherwise ?? 'INTERNAL.unexpected')
}

function outboxOf({ clock, correlation }: Committer, events: Outbox['events']): Outbox {
  return {
    id: newId(clock),
    occurred_at: timestamp(clock.now()),
    correlation_id: correlation.id,
    ...(correlation.traceparent !== undefined && { traceparent: correlation.traceparent }),
    events,
  }
}

function auditPut({ caller, correlation, clock }: Committer, entry: AuditEntry): Put {
  if (!caller) throw new Error('an audited action has a caller')
  const item = auditItem(caller, { ...entry, result: 'allow', reason: 'allowed' }, correlation.id, clock)
  return { item, condition: { absent: true } }
}
