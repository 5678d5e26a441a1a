import * as v from 'valibot'
import { fail, failField } from '../platform/base/failure.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import type { Settings } from '../settings/register.ts'
import { CodeChanges } from './code.ts'
import type { CodeUpdate } from './update-code.ts'

const Place = v.object({ id: v.string(), if_match: v.optional(v.pipe(v.string(), v.trim()), '') })

/**
 * Parses one item of a bulk update as an update of one code.
 * @throws VALIDATION.*, AUTHZ.field.denied as PATCH /codes/{id} would
 */
export function codeUpdateOf(item: Record<string, unknown>, settings: Settings): CodeUpdate {
  const { id, if_match, ...changes } = item
  if (id === undefined) throw failField('VALIDATION.field.required', 'id', { reason: 'required' })
  const place = v.safeParse(Place, { id, if_match })
  if (!place.success) throw invalidFields(place.issues, settings)
  if (place.output.if_match === '') {
    const details = { fields: { if_match: { reason: 'required' } } }
    throw fail('VALIDATION.if_match.required', { http: settings['codes.missingIfMatch'], details })
  }
  const parsed = v.safeParse(CodeChanges(settings), changes, { abortPipeEarly: true })
  if (!parsed.success) throw invalidFields(parsed.issues, settings)
  return { id: place.output.id, ifMatch: place.output.if_match, changes: parsed.output }
}
