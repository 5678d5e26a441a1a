import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { Details } from '../errors/failure.ts'
import type { Reply } from '../http/reply.ts'
import { openPoint } from '../settings/open-point.ts'
import { perSettings } from '../settings/per-settings.ts'

/** What became of one row; rows count from 0 here. */
export interface RowResult {
  index: number
  status: number
  /** What the row is about, where that is known. */
  id?: string
  /** As in the envelope of every error. */
  error?: { code: string; message_id: string; http: number; retryable: boolean; details: Details }
}

const whole = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The body of a 207 (contract, 'Errors', Other status rules): a result a row, and counts. */
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
    error: v.optional(error),
  })
  const fields = {
    [items]: v.array(row),
    [counts]: v.strictObject({ total: whole, succeeded: whole, failed: whole }),
  }
  return v.pipe(v.strictObject(fields), openPoint('bulk.layout'))
})

/** The reply to a batch: always 207, whatever became of its rows. */
export function multiStatus(results: readonly RowResult[], settings: Settings): Reply {
  const { items, counts, firstRow } = settings['bulk.layout']
  const succeeded = results.filter(({ error }) => error === undefined).length
  return {
    status: 207,
    body: {
      [items]: results.map(({ index, id = null, status, error }) => {
        return { row: index + firstRow, id, status, ...(error && { error }) }
      }),
      [counts]: { total: results.length, succeeded, failed: results.length - succeeded },
    },
  }
}
