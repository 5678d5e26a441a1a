import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { type ErrorEnvelope, envelope, type Failure } from '../platform/base/failure.ts'
import { entityTag, weakEntityTag } from '../platform/request/parse-headers.ts'
import { transitionsOf } from '../platform/table/transitions.ts'
import { openPoint, perSettings, storedValue } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'

export const operationStates = ['pending', 'running', 'succeeded', 'failed', 'canceled'] as const
type OperationState = (typeof operationStates)[number]

/** What moves an operation; `progress` and `request_cancel` keep the state. */
export type OperationTrigger = 'start' | 'progress' | 'request_cancel' | 'succeed' | 'fail' | 'cancel'

export const operationTransitions = transitionsOf<OperationTrigger, OperationState>({
  start: { from: ['pending'], to: 'running' },
  progress: { from: ['running'], to: 'running' },
  request_cancel: { from: ['running'], to: 'running' },
  succeed: { from: ['running'], to: 'succeeded' },
  fail: { from: ['pending', 'running'], to: 'failed' },
  cancel: { from: ['pending', 'running'], to: 'canceled' },
})

/** Returns whether the state is final. */
export function isEnded(state: OperationState): boolean {
  return operationTransitions.isFinal(state)
}

/** A rejected row: its number from 1, without the header. It holds no value of the row. */
export interface Reject {
  row: number
  code: string
  /** The column of the error, if there is one. */
  field: string | null
}

/** The result of an operation, kept for every one that ended. */
export interface Result {
  outcome: 'SUCCESS' | 'PARTIAL' | 'FAILED'
  counts: { total: number; succeeded: number; failed: number }
  rejects: Reject[]
  /** The file key of all rejects, if there are any. */
  rejects_key?: string
}

/** A stored operation: the data that its steps need, and the counts of its completed work. */
export interface Operation {
  id: string
  tenant_id: string
  state: OperationState
  /** The correlation id of the request that started it. */
  correlation_id: string
  created_at: string
  updated_at: string
  /** Seconds since 1970. */
  expires_at: number
  /** The origin of the file: sent with the request, or fetched by the workflow. */
  source: { kind: 'inline' } | { kind: 'url'; url: string }
  /** SHA-256 of the file; empty until the file is stored. */
  file_hash: string
  /** The version of the columns and of their rules. */
  schema_version: number
  /** In file order; empty until the file is split. */
  columns: string[]
  /** 0 until the file is split. */
  chunks_total: number
  chunks_done: number
  rows_succeeded: number
  rows_failed: number
  cancel_requested: 'no' | 'yes'
  result?: Result
  error?: ErrorEnvelope['error']
}

/** The version of the columns and their rules, recorded by every import. */
const schemaVersion = 1

/** Creates an operation. created_at is the time in its id. */
export function newOperation(
  input: Pick<Operation, 'id' | 'tenant_id' | 'correlation_id' | 'source' | 'file_hash'>,
  settings: Settings,
): Operation {
  const at = timestamp(timeOf(input.id))
  return {
    ...input,
    state: 'pending',
    created_at: at,
    updated_at: at,
    expires_at: Math.floor(timeOf(input.id) / 1000) + settings['operations.retentionDays'] * 24 * 3600,
    schema_version: schemaVersion,
    columns: [],
    chunks_total: 0,
    chunks_done: 0,
    rows_succeeded: 0,
    rows_failed: 0,
    cancel_requested: 'no',
  }
}

/** Returns the row counts so far. Only chunks that are done are counted, each once. */
export function countsOf({ rows_succeeded, rows_failed }: Operation): Result['counts'] {
  return { total: rows_succeeded + rows_failed, succeeded: rows_succeeded, failed: rows_failed }
}

/** Returns the result of an operation that did not process its whole file. */
export function partialResult(operation: Operation): Result {
  const counts = countsOf(operation)
  return { outcome: resultOutcome(counts, false), counts, rejects: [] }
}

/** @param whole whether the whole file was processed */
export function resultOutcome({ succeeded, failed }: Result['counts'], whole: boolean): Result['outcome'] {
  if (whole && failed === 0) return 'SUCCESS'
  return succeeded > 0 ? 'PARTIAL' : 'FAILED'
}

/** Returns a failure in the form of the envelope, for later reads. */
export function errorOf(failure: Failure, { correlation_id }: Operation): ErrorEnvelope['error'] {
  return envelope(failure, correlation_id, null).error
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const fraction = v.pipe(v.number(), v.minValue(0), v.maxValue(1))

/** The response to a request that starts an operation. */
export const OperationStatus = v.pipe(
  v.strictObject({
    operation_id: v.string(),
    state: storedValue(v.picklist(operationStates)),
    progress: fraction,
  }),
  v.title('OperationStatus'),
)
export type OperationStatus = v.InferOutput<typeof OperationStatus>

/** An operation in responses. */
export const OperationView = perSettings((settings) => {
  const { rejectsShown, linkSeconds } = settings['imports.result']
  const reject = v.strictObject({ row: count, code: v.string(), field: v.nullable(v.string()) })
  const result = v.strictObject({
    outcome: storedValue(v.picklist(['SUCCESS', 'PARTIAL', 'FAILED'])),
    counts: v.pipe(v.strictObject({ total: count, succeeded: count, failed: count }), v.title('RowCounts')),
    rejects: v.pipe(v.array(v.pipe(reject, v.title('RejectedRow'))), v.maxLength(rejectsShown)),
    rejects_url: v.optional(
      v.pipe(
        v.string(),
        v.url(),
        v.description(`A link to a CSV file of all rejected rows, valid for ${linkSeconds} seconds.`),
      ),
    ),
    schema_version: count,
  })
  const error = v.strictObject({
    code: v.string(),
    message_id: v.string(),
    http: count,
    retryable: v.boolean(),
    correlation_id: v.string(),
    details: v.record(v.string(), v.unknown()),
  })
  const fields = {
    ...OperationStatus.entries,
    result: v.optional(v.pipe(result, openPoint('imports.result'), v.title('ImportResult'))),
    error: v.optional(v.pipe(error, openPoint('imports.result'), v.title('OperationError'))),
  }
  return v.pipe(v.strictObject(fields), v.title('Operation'))
})
export type OperationView = v.InferOutput<ReturnType<typeof OperationView>>

export function operationStatus({ id, state, chunks_done, chunks_total }: Operation): OperationStatus {
  const progress = state === 'succeeded' ? 1 : chunks_total === 0 ? 0 : chunks_done / chunks_total
  return { operation_id: id, state, progress }
}

/**
 * Returns the view of an operation, without what another release has added to its result, and with as many rejects as these
 * settings show.
 * @param rejectsUrl the URL of all rejects, if there are any
 */
export function viewOf(
  operation: Operation,
  { settings, rejectsUrl }: { settings: Settings; rejectsUrl?: string | undefined },
): OperationView {
  const { result, error, schema_version } = operation
  const status = operationStatus(operation)
  if (error) {
    const { code, message_id, http, retryable, correlation_id, details } = error
    return { ...status, error: { code, message_id, http, retryable, correlation_id, details } }
  }
  if (!result) return status
  const { total, succeeded, failed } = result.counts
  const shown = result.rejects.slice(0, settings['imports.result'].rejectsShown)
  return {
    ...status,
    result: {
      outcome: result.outcome,
      counts: { total, succeeded, failed },
      rejects: shown.map(({ row, code, field }) => ({ row, code, field })),
      ...(rejectsUrl !== undefined && { rejects_url: rejectsUrl }),
      schema_version,
    },
  }
}

/**
 * Returns the entity tag with which an operation is read. That of one with a link is weak: each link has another signature.
 * The tag covers everything else, and changes while an earlier link is still valid.
 * @param now milliseconds since 1970
 */
export function operationEtag(operation: Operation, settings: Settings, now: number): string {
  const view = viewOf(operation, { settings })
  if (operation.result?.rejects_key === undefined) return entityTag(view)
  const period = Math.floor(now / (settings['imports.result'].linkSeconds * 500))
  return weakEntityTag([view, period])
}
