import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { Details } from '../base/failure.ts'
import { openPoint, perSettings } from '../base/settings.ts'
import type { Reply } from '../request/reply.ts'

/** The result of one row; rows are numbered from 0 here. */
export interface RowResult {
  index: number
  status: number
  /** The id of the row's resource, if known. */
  id?: string
  /** As in the error envelope. */
  error?: { code: string; message_id: string; http: number; retryable: boolean; details: Details }
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
    error: v.optional(error),
  })
  const fields = {
    [items]: v.array(row),
    [counts]: v.strictObject({ total: whole, succeeded: whole, failed: whole }),
  }
  return v.pipe(v.strictObject(fields), openPoint('bulk.layout'))
})

/** Returns the response to a batch: always 207, whatever the results of its rows. */
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
