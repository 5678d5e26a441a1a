import * as v from 'valibot'
import { failField } from '../platform/base/failure.ts'
import { bulkSaga } from '../platform/jobs/bulk-saga.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import { ifMatchRequired } from '../platform/request/parse-headers.ts'
import type { Settings } from '../settings/register.ts'
import { CodeChanges } from './code.ts'
import { codeEtag } from './code-store.ts'
import { type CodeUpdate, updateCode } from './update-code.ts'

const Target = v.object({ id: v.string(), if_match: v.optional(v.pipe(v.string(), v.trim()), '') })

/**
 * Parses one item of a bulk update as an update of one code.
 * @throws VALIDATION.*, AUTHZ.field.denied as PATCH /codes/{id} would
 */
function codeUpdateOf(item: Record<string, unknown>, settings: Settings): CodeUpdate {
  const { id, if_match, ...changes } = item
  if (id === undefined) {
    throw failField('VALIDATION.field.required', 'id', { reason: 'required', actual: 'absent' })
  }
  const target = v.safeParse(Target, { id, if_match })
  if (!target.success) throw invalidFields(target.issues, settings)
  if (target.output.if_match === '') throw ifMatchRequired('if_match', settings)
  const parsed = v.safeParse(CodeChanges(settings), changes, { abortPipeEarly: true })
  if (!parsed.success) throw invalidFields(parsed.issues, settings)
  const { id: named, if_match: ifMatch } = target.output
  return { id: named, precondition: { ifMatch }, changes: parsed.output }
}

/** The longest id that a result repeats. Results with longer ones could exceed the size of an idempotency record. */
const maxNamedId = 64

/** The update of many codes: each item is an update of one code. */
export const codeBulkUpdate = bulkSaga<{ items: Record<string, unknown>[] }, Record<string, unknown>>({
  rowsOf: ({ items }) => items,
  keyOf: ({ id }) => (typeof id === 'string' ? id : ''),
  namedId: ({ id }) => (typeof id === 'string' && id.length <= maxNamedId ? id : null),
  decide: (item, context) =>
    updateCode(codeUpdateOf(item, context.settings), context, (code) => {
      return { status: 200, id: code.id, etag: codeEtag(code, context.settings) }
    }),
  deniedAction: ({ id }) => ({ action: 'update', area: 'codes', id }),
})
