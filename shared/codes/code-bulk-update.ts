import * as v from 'valibot'
import { fail, failField } from '../platform/base/failure.ts'
import { bulkSaga } from '../platform/jobs/bulk-saga.ts'
import { targetOf } from '../platform/request/audit-denial.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import type { Settings } from '../settings/register.ts'
import { CodeChanges } from './code.ts'
import { type CodeUpdate, updateCode } from './update-code.ts'

const Target = v.object({ id: v.string(), if_match: v.optional(v.pipe(v.string(), v.trim()), '') })

/**
 * Parses one item of a bulk update as an update of one code.
 * @throws VALIDATION.*, AUTHZ.field.denied as PATCH /codes/{id} would
 */
function codeUpdateOf(item: Record<string, unknown>, settings: Settings): CodeUpdate {
  const { id, if_match, ...changes } = item
  if (id === undefined) throw failField('VALIDATION.field.required', 'id', { reason: 'required' })
  const target = v.safeParse(Target, { id, if_match })
  if (!target.success) throw invalidFields(target.issues, settings)
  if (target.output.if_match === '') {
    const details = { fields: { if_match: { reason: 'required' } } }
    throw fail('VALIDATION.if_match.required', { http: settings['codes.missingIfMatch'], details })
  }
  const parsed = v.safeParse(CodeChanges(settings), changes, { abortPipeEarly: true })
  if (!parsed.success) throw invalidFields(parsed.issues, settings)
  return { id: target.output.id, ifMatch: target.output.if_match, changes: parsed.output }
}

/** The update of many codes: each item is an update of one code. */
export const codeBulkUpdate = bulkSaga<{ items: Record<string, unknown>[] }, Record<string, unknown>>({
  rowsOf: ({ items }) => items,
  keyOf: ({ id }) => (typeof id === 'string' ? id : ''),
  decide: (item, context) =>
    updateCode(codeUpdateOf(item, context.settings), context, ({ id }) => ({ status: 200, id })),
  attemptOf: ({ id }) => ({ action: 'update', target: targetOf('codes', [id]) }),
})
