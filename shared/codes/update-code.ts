import { Denial } from '../platform/auth/denial.ts'
import { fail, failField } from '../platform/errors/failure.ts'
import type { Checked, Context } from '../platform/http/endpoint.ts'
import { holdsEtag } from '../platform/http/parse-headers.ts'
import type { Effects } from '../platform/http/reply.ts'
import type { Settings } from '../settings/register.ts'
import { type Code, type CodeChanges, changeCode } from './code.ts'
import { auditOfChange } from './code-audit.ts'
import { mayMove, mayStart, updateTrigger } from './code-states.ts'
import { changedCode, codeEtag, readCode } from './code-store.ts'

/** What an update comes to. */
export interface Updated extends Effects {
  code: Code
}

/**
 * Decides an update of one code, alone or as a row of many (contract, 'PATCH /codes/{id}').
 * @param ifMatch the entity tag that the caller has seen
 * @throws NOT_FOUND.code, AUTHZ.field.denied, CONFLICT.soft_deleted, CONFLICT.etag.mismatch, VALIDATION.date.range
 */
export async function updateCode(
  { id, ifMatch, changes }: { id: string; ifMatch: string | undefined; changes: CodeChanges },
  { caller, scope }: Pick<Checked<unknown>, 'caller' | 'scope'>,
  { table, settings, now }: Pick<Context, 'table' | 'settings' | 'now'>,
): Promise<Updated> {
  const trigger = updateTrigger(caller?.role)
  if (changes.state !== undefined && trigger === 'update') {
    throw failField('AUTHZ.field.denied', 'state', { reason: 'role' })
  }
  const code = await readCode(table, scope, id, settings)
  if (!mayStart(trigger, code.state, settings)) {
    // The record of a denial lies in the actor's tenant, where no other's ids have a place.
    const target = code.tenant_id === caller?.tenant ? `code/${code.id}` : 'code'
    throw new Denial(fail('CONFLICT.soft_deleted'), 'CONFLICT.soft_deleted', target)
  }
  if (!holdsEtag(ifMatch, codeEtag(code))) throw fail('CONFLICT.etag.mismatch')
  checkMove(code, changes, settings)
  const after = changeCode(code, changes, now())
  return {
    code: after,
    writes: [changedCode(code, after, trigger, settings)],
    audit: auditOfChange('update', code, after),
  }
}

function checkMove({ state }: Code, { state: to }: CodeChanges, settings: Settings): void {
  if (to === undefined || to === state || mayMove(state, to, settings)) return
  throw failField('AUTHZ.field.denied', 'state', { reason: 'transition' })
}
