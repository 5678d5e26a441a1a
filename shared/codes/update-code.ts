import { Denial, fail, failField } from '../platform/base/failure.ts'
import { charactersOf } from '../platform/formats/text.ts'
import type { Revisable } from '../platform/idempotency/decision.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { checkPrecondition, type Precondition } from '../platform/request/parse-headers.ts'
import { liveStates } from '../settings/live-states.ts'
import type { Settings } from '../settings/register.ts'
import { type Code, type CodeChanges, changeCode } from './code.ts'
import { auditOfChange } from './code-audit.ts'
import { mayStart, mayUpdateState, updateTrigger } from './code-states.ts'
import { asCode, changedCode, codeEtag, readCode } from './code-store.ts'

export interface CodeUpdate {
  id: string
  precondition: Precondition
  /** Its changes, or a function that finds them in the code as it is. @throws AUTHZ.field.denied */
  changes: CodeChanges | ((code: Code) => CodeChanges)
}

/** A response with its effects. */
type Updated<Response> = Response & Revisable<Updated<Response>>

/**
 * Decides an update of one code, alone or as a row of a batch. If the code changes before the commit, decides again
 * from the changed code: If-Match: * still holds, an entity tag does not.
 * @param responseOf returns the response from the changed code
 * @throws NOT_FOUND.code, AUTHZ.field.denied, CONFLICT.soft_deleted, CONFLICT.code.transition, CONFLICT.etag.mismatch,
 * VALIDATION.date.range
 */
export async function updateCode<Response extends object>(
  { id, precondition, changes: asked }: CodeUpdate,
  context: Pick<RequestContext, 'caller' | 'scope' | 'table' | 'settings' | 'now' | 'isBlocked'>,
  responseOf: (code: Code) => Response,
): Promise<Updated<Response>> {
  const { caller, settings, now } = context
  const trigger = updateTrigger(caller?.role)
  function decide(code: Code): Updated<Response> {
    if (!mayStart(trigger, code.state, settings)) {
      // The denial is audited in the actor's tenant, which must not hold ids of another tenant.
      const target = code.tenant_id === caller?.tenant ? `code/${code.id}` : 'code'
      throw new Denial(fail('CONFLICT.soft_deleted'), 'CONFLICT.soft_deleted', target)
    }
    // Permission comes before the precondition. What differs in a replacement is known after it: a stale one may differ in any field.
    if (typeof asked !== 'function') checkMayChange(asked, trigger)
    checkPrecondition(precondition, codeEtag(code, settings))
    const changes = typeof asked === 'function' ? asked(code) : asked
    checkMayChange(changes, trigger)
    checkMove(code, changes, settings)
    const after = changeCode(code, changes, now())
    return {
      ...responseOf(after),
      writes: [changedCode(code, after, trigger, settings)],
      audit: auditOfChange('update', code, after),
      onConflict: async (existing) => decide(existing ? asCode(existing) : await readCode(context, id)),
    }
  }
  return decide(await readCode(context, id))
}

function checkMayChange({ state }: CodeChanges, trigger: 'update' | 'admin_update'): void {
  if (state === undefined || trigger === 'admin_update') return
  throw failField('AUTHZ.field.denied', 'state', { reason: 'role', allowed: ['Admin'], actual: 'string' })
}

function checkMove({ state }: Code, { state: to }: CodeChanges, settings: Settings): void {
  if (to === undefined || to === state || mayUpdateState(state, to, settings)) return
  const allowed = liveStates.filter((one) => mayUpdateState(state, one, settings))
  throw failField('CONFLICT.code.transition', 'state', {
    reason: 'transition',
    allowed,
    actual: charactersOf(to),
  })
}
