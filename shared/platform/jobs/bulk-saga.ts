import * as v from 'valibot'
import { openPoint, perSettings } from '../../settings/per-settings.ts'
import type { Settings } from '../../settings/register.ts'
import type { DeniedAction } from '../audit/denials.ts'
import type { Decision, Saga, SagaStart } from '../idempotency/decision.ts'
import type { TenantScope } from '../identity/authorize.ts'
import type { Caller } from '../identity/caller.ts'
import type { RequestContext, WorkContext } from '../request/context.ts'
import type { Input } from '../request/endpoint.ts'
import { type RowDecision, type RowResult, runRows } from './run-rows.ts'

/** An operation on many rows, each decided and committed by itself. */
interface BulkOperation<Body, Row> {
  /** Returns the rows of a body. @throws VALIDATION.* when the body as a whole is invalid */
  rowsOf(body: Body, settings: Settings): readonly Row[]
  /** The audit record of the whole operation; by default, only its rows are audited. */
  audit?: { action: string; target: string }
  /** Rows with the same key are executed one after another, in order. */
  keyOf(row: Row): string
  /** Returns the id that the caller has sent for a row, for the result of a row that fails. */
  namedId?(row: Row): string | null
  decide(row: Row, context: WorkContext & Pick<RequestContext, 'scope'>): Promise<RowDecision>
  /** Returns the denied action of a row. */
  deniedAction(row: Row): DeniedAction
}

/** The rows are not recorded: a retry has the same payload, and so the same rows. */
interface BulkState<Row> {
  batch: string
  /** As set when the batch started, like the expiry of its record, which completed rows must outlast. */
  resumable_seconds: number
  rows: readonly Row[]
  scope: TenantScope
  caller: Caller | undefined
}

/** Returns the behavior of an endpoint for a bulk operation: a saga. Its completed rows are not executed again. */
export function bulkSaga<Body, Row>(operation: BulkOperation<Body, Row>) {
  const { namedId = () => null } = operation
  return {
    decide(
      { body }: Input<Body>,
      { newId, scope, caller, settings }: Pick<RequestContext, 'newId' | 'scope' | 'caller' | 'settings'>,
    ): SagaStart<BulkState<Row>> {
      const resumable_seconds = settings['idempotency.lifetimeHours'] * 3600
      const rows = operation.rowsOf(body, settings)
      return { state: { batch: newId(), resumable_seconds, rows, scope, caller } }
    },
    saga(context: WorkContext): Saga<BulkState<Row>, readonly RowResult[], BulkView> {
      const { settings, report } = context
      return {
        finishedBy: 'caller',
        recorded: ({ batch, resumable_seconds }) => ({ batch, resumable_seconds }),
        start({ rows, scope }) {
          const { audit } = operation
          return audit ? { audit: { ...audit, tenant: scope.tenant, after: { rows: rows.length } } } : {}
        },
        execute({ batch, resumable_seconds: resumableSeconds, rows, scope, caller }) {
          const rowContext = { ...context, scope, caller }
          const { keyOf, decide, deniedAction } = operation
          return runRows(
            {
              ...{ id: batch, rows, keyOf, deniedAction },
              decide: (row) => decide(row, rowContext),
              onFault: ({ code, cause }) => report('ROW_FAILED', code, cause),
              resumableSeconds,
            },
            rowContext,
          )
        },
        outcome: ({ rows }, results) =>
          multiStatus(
            results.map((result) => ({ ...result, id: result.id ?? namedId(rows[result.index] as Row) })),
            settings,
          ),
      }
    },
  }
}

const whole = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The body of a 207: one result per row, and counts. */
export const BulkView = perSettings((settings) => {
  const { items, counts } = settings['bulk.layout']
  const error = v.strictObject({
    code: v.string(),
    message_id: v.string(),
    http: whole,
    retryable: v.boolean(),
    details: v.record(v.string(), v.unknown()),
  })
  const row = v.strictObject({
    row: whole,
    id: v.nullable(v.string()),
    status: whole,
    etag: v.optional(
      v.pipe(v.string(), v.description('The entity tag of an updated code, which if_match takes next.')),
    ),
    error: v.optional(v.pipe(error, v.title('RowError'))),
  })
  const fields = {
    [items]: v.array(v.pipe(row, v.title('RowResult'))),
    [counts]: v.pipe(v.strictObject({ total: whole, succeeded: whole, failed: whole }), v.title('RowCounts')),
  }
  return v.pipe(v.strictObject(fields), openPoint('bulk.layout'), v.title('BulkResult'))
})
export type BulkView = v.InferOutput<ReturnType<typeof BulkView>>

/** Returns the response to a batch: always 207, whatever the results of its rows. */
function multiStatus(
  results: readonly (Omit<RowResult, 'id'> & { id: string | null })[],
  settings: Settings,
): Decision<BulkView> {
  const { items, counts, firstRow } = settings['bulk.layout']
  const succeeded = results.filter(({ error }) => error === undefined).length
  return {
    status: 207,
    body: {
      [items]: results.map(({ index, id, status, etag, error }) => {
        const tag = etag !== undefined && { etag }
        return { row: index + firstRow, id, status, ...tag, ...(error && { error }) }
      }),
      [counts]: { total: results.length, succeeded, failed: results.length - succeeded },
    },
  }
}
