import type { Operation } from '#shared/operations/operation.ts'
import type { AuditRecord } from '#shared/platform/audit/record.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import type { LedgerEntry } from '#shared/refunds/refund-store.ts'
import type { Delivery } from '#shared/subscribers/delivery.ts'
import type { DeadLetterSummary } from '../inspect-dead-letters.ts'
import type { Read } from './query.ts'

/** An audit record with its id. */
export interface AuditLine extends AuditRecord {
  id: string
}

/** A payout or a reversal. Its time is that of its refund's creation in a range; `at` is that of the booking. */
export interface LedgerLine extends LedgerEntry {
  id: string
  tenant_id: string
}

/** A refund, without what only its saga needs. */
export type RefundLine = Pick<
  Refund,
  | 'id'
  | 'tenant_id'
  | 'charge_id'
  | 'amount'
  | 'currency'
  | 'status'
  | 'account'
  | 'provider_refund_id'
  | 'created_at'
  | 'updated_at'
  | 'outcome_at'
>

/** A delivery without its body, which holds the data of the event. Its time in a range is that of the event. */
export interface DeliveryLine
  extends Pick<Delivery, 'subscriber_id' | 'event_id' | 'type' | 'state' | 'attempts' | 'attempted'> {
  id: string
  tenant_id: string
  correlation_id: string
  occurred_at: string
  /** The status of the latest attempt, or the reason of its failure. */
  latest: string
  /** The time of the next attempt; absent if there is none, or while a postponed one has it in its entry only. */
  next_at?: string
}

/** An operation without the address of its file. */
export type OperationLine = Pick<
  Operation,
  'id' | 'tenant_id' | 'state' | 'correlation_id' | 'created_at' | 'updated_at' | 'completion' | 'error'
>

/** A dead letter of any queue. */
export interface DeadLetterLine extends DeadLetterSummary {
  queue: string
  tenant_id: string | undefined
}

const none: Read<never> = async () => ({
  entries: [],
  units: { read: 0, write: 0 },
  complete: true,
  cursor: undefined,
})

/** Requires a tenant. */
export const readAudit: Read<AuditLine> = none
/** Requires a tenant. */
export const readLedger: Read<LedgerLine> = none
/** Without a tenant: the pending refunds of all tenants. */
export const readRefunds: Read<RefundLine> = none
/** Without a tenant: the failed deliveries of all tenants, by the time of the failure. */
export const readDeliveries: Read<DeliveryLine> = none
/** Without a tenant: the failed operations of all tenants, by the time of the failure. */
export const readOperations: Read<OperationLine> = none
/** Looks at the messages of `target`, or of all queues. They stay there. */
export const readDeadLetters: Read<DeadLetterLine> = none
