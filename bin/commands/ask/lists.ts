import { deadLetterNames } from '#functions/subscriptions.ts'
import { asDelivery, type Delivery, isLatestFailure } from '#shared/deliveries/delivery.ts'
import type { Operation } from '#shared/operations/operation.ts'
import { asOperation } from '#shared/operations/operation-store.ts'
import type { AuditRecord } from '#shared/platform/audit/audit-record.ts'
import { timeOf, timestamp } from '#shared/platform/base/clock.ts'
import { noUnits } from '#shared/platform/base/units.ts'
import { asIdempotencyRecord } from '#shared/platform/idempotency/idempotency-record.ts'
import type { FailureEntry } from '#shared/platform/table/failure-entries.ts'
import {
  type Entity,
  failurePartitionsOf,
  type Item,
  idOfEntry,
  type Key,
  keyOf,
  ownerOf,
  partitionsOf,
} from '#shared/platform/table/keys.ts'
import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import type { Table } from '#shared/platform/table/table.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import { asRefund, type LedgerEntry } from '#shared/refunds/refund-store.ts'
import { UsageError } from '../../cli/options.ts'
import { type DeadLetterSummary, listLetters, tenantOfLetter } from '../dead-letters/inspect-dead-letters.ts'
import { failedAttempt, type LineAnswer, type LineQuery, type ReadLines } from './query.ts'
import type { Reach } from './reach.ts'
import { queriedIds, readLatest } from './read-latest.ts'

/** An audit record with its id. */
export interface AuditLine extends AuditRecord {
  id: string
}

/** A payout or a reversal. Its time in a range is that of its refund; `at` is that of the booking. */
export interface LedgerLine extends LedgerEntry {
  id: string
  tenant_id: string
}

const refundFields = [
  'id',
  'tenant_id',
  'charge_id',
  'amount',
  'currency',
  'status',
  'account',
  'provider_refund_id',
  'created_at',
  'updated_at',
] as const satisfies (keyof Refund)[]
/** A refund, without what only its saga needs. */
export type RefundLine = Pick<Refund, (typeof refundFields)[number]>

/** A delivery without its body, which holds the data of the event. Its time in a range is that of the event. */
export interface DeliveryLine
  extends Pick<Delivery, 'subscriber_id' | 'event_id' | 'type' | 'state' | 'attempts'> {
  id: string
  tenant_id: string
  /** The number of attempts that are kept. */
  attempted: number
  correlation_id: string
  occurred_at: string
  /** The status of the latest attempt, or the reason of its failure. */
  latest: string
  /** The beginning of the latest answer that was an error. */
  answer?: string
  /** The time of the next attempt. That of a postponed one is known in a list of its subscriber only. */
  next_at?: string
}

const operationFields = [
  'id',
  'tenant_id',
  'state',
  'correlation_id',
  'created_at',
  'updated_at',
  'result',
  'error',
] as const satisfies (keyof Operation)[]
/** An operation without the address of its file. */
export type OperationLine = Pick<Operation, (typeof operationFields)[number]>

/** A dead letter of any queue. */
export interface DeadLetterLine extends DeadLetterSummary {
  queue: string
  tenant_id: string | undefined
}

/** Requires a tenant. */
export const readAudit: ReadLines<AuditLine> = async (reach, query) => {
  const { actor, action, target, result, correlationId } = query
  return readTenant(reach, query, 'audit', ({ pk: _, sk: id, ...record }) => {
    const line = { id, ...(record as unknown as AuditRecord) }
    const matches =
      isOneOf(actor, [line.actor_id, line.token_sub]) &&
      isOneOf(action, [line.action]) &&
      isOneOf(target, [line.target]) &&
      isOneOf(result, [line.result]) &&
      isOneOf(correlationId, [line.correlation_id])
    return matches ? line : undefined
  })
}

/** Requires a tenant. */
export const readLedger: ReadLines<LedgerLine> = async (reach, query) =>
  readTenant(reach, query, 'ledger', ({ pk: _, sk: id, ...entry }) => {
    const line = { id, tenant_id: String(query.tenant), ...(entry as unknown as LedgerEntry) }
    return isOneOf(query.status, [line.kind]) && isOneOf(query.target, [line.charge_id]) ? line : undefined
  })

/** Without a tenant: the pending refunds of all tenants. */
export const readRefunds: ReadLines<RefundLine> = async (reach, query) => {
  const lineOf = (item: Item): RefundLine | undefined => {
    const line = pick(asRefund(item), refundFields)
    return isOneOf(query.status, [line.status]) && isOneOf(query.target, [line.charge_id]) ? line : undefined
  }
  if (query.tenant !== undefined) return readTenant(reach, query, 'refund', lineOf)
  requireTenantUnless(query, 'pending')
  return counted(reach, (table) => readPending(table, query, lineOf))
}

function hasFailedAttempt({ attempts }: Pick<Delivery, 'attempts'>): boolean {
  return attempts.some(({ reason }) => reason !== undefined)
}

/** The length of an answer in a line. */
const answerLength = 80

/** Without a tenant: the failed deliveries of all tenants, by the time of the failure. */
export const readDeliveries: ReadLines<DeliveryLine> = async (reach, query) => {
  const { status, target, correlationId } = query
  const lineOf = (item: Item): DeliveryLine | undefined => {
    const line = deliveryLine(item)
    const matches =
      isOneOf(status, [line.state, ...(hasFailedAttempt(line) ? [failedAttempt] : [])]) &&
      isOneOf(target, [line.subscriber_id]) &&
      isOneOf(correlationId, [line.correlation_id])
    return matches ? line : undefined
  }
  if (query.tenant !== undefined) return readTenant(reach, query, 'delivery', lineOf)
  requireTenantUnless(query, 'failed')
  return readFailed(reach, query, 'failed-delivery', (item, entry) =>
    isLatestFailure(entry, asDelivery(item)) ? lineOf(item) : undefined,
  )
}

/** Without a tenant: the failed operations of all tenants, by the time of the failure. */
export const readOperations: ReadLines<OperationLine> = async (reach, query) => {
  const lineOf = (item: Item): OperationLine | undefined => {
    const line = pick(asOperation(item), operationFields)
    return isOneOf(query.status, [line.state]) && isOneOf(query.correlationId, [line.correlation_id])
      ? line
      : undefined
  }
  if (query.tenant !== undefined) return readTenant(reach, query, 'operation', lineOf)
  requireTenantUnless(query, 'failed')
  return readFailed(reach, query, 'failed-operation', lineOf)
}

/** Looks at the messages of `target`, or of all queues. They stay there. */
export const readDeadLetters = (
  reach: Reach,
  query: LineQuery & {
    /** Texts of which a message has at least one as a whole value. */ anyOf?: readonly string[]
  },
): Promise<LineAnswer<DeadLetterLine>> => {
  const { tenant, target, from = 0, to = Number.POSITIVE_INFINITY, correlationId, limit } = query
  const anyOf = query.anyOf ?? (correlationId === undefined ? undefined : [correlationId])
  return counted(reach, async (table) => {
    const queues = target === undefined ? deadLetterNames : [target]
    const letters = await Promise.all(
      queues.map(async (queue): Promise<DeadLetterLine[]> => {
        const inspection = await reach.lettersOf(queue, table)
        const found = await listLetters(inspection, (letter) => {
          const sent = letter.sentAt.getTime()
          const isInTime = from <= sent && sent < to
          return (
            isInTime &&
            isOneOf(tenant, [tenantOfLetter(letter, queue)]) &&
            (anyOf === undefined || hasOneOf(letter.body, anyOf))
          )
        })
        return found.map(({ letter, summary }) => ({
          queue,
          tenant_id: tenantOfLetter(letter, queue),
          ...summary,
        }))
      }),
    )
    const all = letters.flat().toSorted((one, other) => (one.at < other.at ? 1 : -1))
    return { lines: all.slice(0, limit), complete: all.length <= limit, cursor: undefined }
  })
}

/** Returns whether a message has one of these texts as a value. One that is no JSON has words. */
function hasOneOf(body: string, texts: readonly string[]): boolean {
  const values = new Set([body])
  try {
    JSON.parse(body, (_, value) => {
      if (typeof value !== 'object') values.add(String(value))
      return value
    })
  } catch {
    for (const word of body.split(' ')) values.add(word)
  }
  return texts.some((text) => values.has(text))
}

/** Returns a delivery as lists show it. */
export function deliveryLine(item: Item): DeliveryLine {
  const { pk, sk: id, subscriber_id, event_id, type, body, state, attempts, next_at } = asDelivery(item)
  const { correlation_id, occurred_at } = JSON.parse(body)
  const latest = attempts.at(-1)
  const { answer } = attempts.findLast(({ reason, answer }) => reason !== undefined && answer) ?? {}
  return {
    ...{ id, tenant_id: ownerOf(pk).tenant, correlation_id, occurred_at },
    ...{ subscriber_id, event_id, type, state, attempted: attempts.length, attempts },
    latest: String(latest?.status ?? latest?.reason ?? ''),
    ...(answer && { answer: answer.slice(0, answerLength) }),
    // After its last attempt it keeps the time of the attempt before.
    ...(state === 'waiting' && next_at !== undefined && { next_at: timestamp(next_at) }),
  }
}

/** Returns the list of the items of a tenant as they are stored. */
export function readItems(entity: Entity): ReadLines<Item> {
  return (reach, query) => readTenant(reach, query, entity, (item) => item)
}

/** Reads the items of a tenant. @throws UsageError without one */
function readTenant<Line>(
  reach: Reach,
  query: LineQuery,
  entity: Entity,
  lineOf: (item: Item) => Line | undefined,
): Promise<LineAnswer<Line>> {
  const { tenant } = query
  if (tenant === undefined) throw new UsageError('--tenant is required')
  return counted(reach, (table) =>
    readLatest(table, partitionsOf(tenant, entity), query, async (items) => items.map(lineOf)),
  )
}

/** Reads the entries of failures, and the work that is failed: what was tried again may have succeeded. */
function readFailed<Line>(
  reach: Reach,
  query: LineQuery,
  kind: 'failed-operation' | 'failed-delivery',
  lineOf: (item: Item, entry: FailureEntry) => Line | undefined,
): Promise<LineAnswer<Line>> {
  const entity = kind === 'failed-delivery' ? 'delivery' : 'operation'
  return counted(reach, (table) =>
    readLatest(table, failurePartitionsOf(kind), query, async (items) => {
      const entries = items as FailureEntry[]
      const work = await itemsInOrder(
        table,
        entries.map(({ tenant, work }) => keyOf(tenant, entity, work)),
      )
      return entries.map((entry, at) => {
        const item = work[at]
        return item?.state === 'failed' ? lineOf(item, entry) : undefined
      })
    }),
  )
}

/** The most pending refunds that are read together. */
const pendingAtOnce = 100

/** Reads the refunds that a saga pays, and those about which the provider must be asked. The latest come first. */
async function readPending(
  table: Table,
  query: LineQuery,
  lineOf: (item: Item) => RefundLine | undefined,
): Promise<Omit<LineAnswer<RefundLine>, 'units'>> {
  const { low, high } = queriedIds(query)
  const [unsettled, sagas] = await Promise.all([
    pendingEntries(table, 'unsettled-refund'),
    pendingEntries(table, 'pending-saga'),
  ])
  const entries = [
    ...unsettled.map(({ sk, tenant }) => ({ id: idOfEntry(sk), tenant: String(tenant), record: undefined })),
    ...sagas
      .filter(({ operation }) => operation === 'refunds.create')
      .map(({ sk, tenant, record }) => ({
        id: idOfEntry(sk),
        tenant: String(tenant),
        record: record as Key,
      })),
  ]
    .filter(({ id }) => low <= id && id <= high)
    .toSorted((one, other) => (one.id < other.id ? 1 : -1))
  const found: RefundLine[] = []
  const seen = new Set<string>()
  for (let start = 0; start < entries.length; ) {
    const part = entries.slice(start, start + Math.min(pendingAtOnce, query.limit - found.length))
    start += part.length
    const records = await itemsInOrder(
      table,
      part.flatMap(({ record }) => record ?? []),
    )
    const refundOfRecord = new Map(
      records.flatMap((item) => {
        const record = item && asIdempotencyRecord(item)
        return record?.state === 'pending'
          ? [[`${record.pk}|${record.sk}`, String(record.saga.state.id)]]
          : []
      }),
    )
    const keys = part.flatMap(({ id, tenant, record }) => {
      const refund = record ? refundOfRecord.get(`${record.pk}|${record.sk}`) : id
      return refund === undefined || seen.has(refund) ? [] : [keyOf(tenant, 'refund', refund)]
    })
    for (const { sk } of keys) seen.add(sk)
    const refunds = await itemsInOrder(table, keys)
    for (const refund of refunds) {
      const line = refund?.status === 'pending' ? lineOf(refund) : undefined
      if (line) found.push(line)
    }
    if (found.length >= query.limit && start < entries.length)
      return { lines: latestFirst(found), complete: false, cursor: part.at(-1)?.id }
  }
  return { lines: latestFirst(found), complete: true, cursor: undefined }
}

function latestFirst(refunds: readonly RefundLine[]): RefundLine[] {
  return refunds.toSorted((one, other) => timeOf(other.id) - timeOf(one.id))
}

/** Returns the items of keys, in their order; undefined for those that are absent. */
async function itemsInOrder(table: Table, keys: readonly Key[]): Promise<(Item | undefined)[]> {
  const unique = new Map(keys.map(({ pk, sk }) => [`${pk}|${sk}`, { pk, sk }]))
  const items = unique.size > 0 ? await table.getMany([...unique.values()]) : []
  const byKey = new Map(items.map((item) => [`${item.pk}|${item.sk}`, item]))
  return keys.map(({ pk, sk }) => byKey.get(`${pk}|${sk}`))
}

/** Opens the table, and adds what the work took of it. */
async function counted<Line>(
  reach: Reach,
  work: (table: Table) => Promise<Omit<LineAnswer<Line>, 'units'>>,
): Promise<LineAnswer<Line>> {
  const units = noUnits()
  return { ...(await work(reach.openTable(units))), units }
}

/** @throws UsageError for a status whose items cannot be found without their tenant */
function requireTenantUnless({ status }: LineQuery, known: string): void {
  if (status !== undefined && status !== known) throw new UsageError(`--status ${status} requires --tenant`)
}

function isOneOf(wanted: string | undefined, values: readonly (string | undefined)[]): boolean {
  return wanted === undefined || values.includes(wanted)
}

function pick<From extends object, Field extends keyof From>(
  from: From,
  fields: readonly Field[],
): Pick<From, Field> {
  const found = fields.filter((field) => from[field] !== undefined).map((field) => [field, from[field]])
  return Object.fromEntries(found) as Pick<From, Field>
}
