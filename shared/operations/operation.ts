import * as v from 'valibot'
import { timestamp } from '../platform/clock.ts'
import { type ErrorEnvelope, envelope, type Failure } from '../platform/errors/failure.ts'
import { timeOf } from '../platform/ids/uuid-v7.ts'
import { openPoint } from '../platform/settings/open-point.ts'
import { perSettings } from '../platform/settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { type State, states } from './operation-states.ts'

/** A row that was refused: its number without the header, from 1. Nothing of what stood in it. */
export interface Reject {
  row: number
  code: string
  /** The column, where one is to blame. */
  field: string | null
}

/** How an import ended (contract, 'POST /imports'); kept of every operation that is over. */
export interface Completion {
  outcome: 'SUCCESS' | 'PARTIAL' | 'FAILED'
  counts: { total: number; succeeded: number; failed: number }
  rejects: Reject[]
  /** Where all rejects lie, if there are any. */
  rejects_key?: string
}

/** An operation as it is stored. Of its work it holds what the steps need, and the counts of what is done. */
export interface Operation {
  id: string
  tenant_id: string
  state: State
  /** Of the request that began it. */
  correlation_id: string
  created_at: string
  updated_at: string
  /** Seconds since 1970. */
  expires_at: number
  /** Where the file comes from: fetched by the workflow, or there from the beginning. */
  source: { kind: 'inline' } | { kind: 'url'; url: string }
  /** SHA-256 of the file, once it is there. */
  file_hash: string
  /** Of the rows and of what is made of them. */
  schema_version: number
  /** The columns in their order in the file, once it was split. */
  columns: string[]
  /** 0 until the file was split. */
  chunks_total: number
  chunks_done: number
  rows_succeeded: number
  rows_failed: number
  cancel_requested: 'no' | 'yes'
  /** Whether the count of operations in progress includes it; absent from operations of earlier versions. */
  counted?: 'yes'
  completion?: Completion
  error?: ErrorEnvelope['error']
}

/** The version of the columns and their rules (contract, 'Versioning': imports record one). */
export const schemaVersion = 1

/** A new operation. Its id carries the time of its making, which is its created_at. */
export function newOperation(
  made: Pick<Operation, 'id' | 'tenant_id' | 'correlation_id' | 'source' | 'file_hash'>,
  settings: Settings,
): Operation {
  const at = timestamp(timeOf(made.id))
  return {
    ...made,
    state: 'pending',
    created_at: at,
    updated_at: at,
    expires_at: Math.floor(timeOf(made.id) / 1000) + settings['operations.retentionDays'] * 24 * 3600,
    schema_version: schemaVersion,
    columns: [],
    chunks_total: 0,
    chunks_done: 0,
    rows_succeeded: 0,
    rows_failed: 0,
    cancel_requested: 'no',
    counted: 'yes',
  }
}

/** What became of the rows so far. What is counted was done, and nothing is counted twice. */
export function countsOf({ rows_succeeded, rows_failed }: Operation): Completion['counts'] {
  return { total: rows_succeeded + rows_failed, succeeded: rows_succeeded, failed: rows_failed }
}

/** @param whole whether the file was gone through to its end */
export function outcomeOf(
  { succeeded, failed }: Completion['counts'],
  whole: boolean,
): Completion['outcome'] {
  if (whole && failed === 0) return 'SUCCESS'
  return succeeded > 0 ? 'PARTIAL' : 'FAILED'
}

/** A failure as the envelope has it, for whoever asks later. */
export function errorOf(failure: Failure, { correlation_id }: Operation): ErrorEnvelope['error'] {
  return envelope(failure, correlation_id).error
}

const whole = v.pipe(v.number(), v.integer(), v.minValue(0))
const fraction = v.pipe(v.number(), v.minValue(0), v.maxValue(1))

/** The answer to a call that begins an operation. */
export const OperationBegun = v.strictObject({
  operation_id: v.string(),
  state: v.picklist(states),
  progress: fraction,
})

/** An operation as callers see it (contract, 'Operation'). */
export const OperationView = perSettings((settings) => {
  const reject = v.strictObject({ row: whole, code: v.string(), field: v.nullable(v.string()) })
  const result = v.strictObject({
    outcome: v.picklist(['SUCCESS', 'PARTIAL', 'FAILED']),
    counts: v.strictObject({ total: whole, succeeded: whole, failed: whole }),
    rejects: v.pipe(v.array(reject), v.maxLength(settings['imports.result'].rejectsShown)),
    rejects_url: v.optional(v.pipe(v.string(), v.url())),
    schema_version: whole,
  })
  const error = v.strictObject({
    code: v.string(),
    message_id: v.string(),
    http: whole,
    retryable: v.boolean(),
    correlation_id: v.string(),
    details: v.record(v.string(), v.unknown()),
  })
  return v.strictObject({
    ...OperationBegun.entries,
    result: v.optional(v.pipe(result, openPoint('imports.result'))),
    error: v.optional(v.pipe(error, openPoint('imports.result'))),
  })
})

export function begunOf({ id, state, chunks_done, chunks_total }: Operation) {
  const progress = state === 'succeeded' ? 1 : chunks_total === 0 ? 0 : chunks_done / chunks_total
  return { operation_id: id, state, progress }
}

/** @param rejectsUrl gives all rejects, where there are any */
export function viewOf(operation: Operation, rejectsUrl: string | undefined): Record<string, unknown> {
  const { completion, error, schema_version } = operation
  const { rejects_key: _, ...ended } = completion ?? {}
  const link = rejectsUrl === undefined ? {} : { rejects_url: rejectsUrl }
  return {
    ...begunOf(operation),
    ...(error ? { error } : completion && { result: { ...ended, ...link, schema_version } }),
  }
}
