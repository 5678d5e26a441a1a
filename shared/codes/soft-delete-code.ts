import { isId, timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { Decision } from '../platform/idempotency/decision.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { noContent } from '../platform/request/endpoint.ts'
import { checkPrecondition, type Precondition } from '../platform/request/parse-headers.ts'
import { keyOf } from '../platform/table/keys.ts'
import { type Code, softDeleteCode } from './code.ts'
import { auditOfCode } from './code-audit.ts'
import { mayStart } from './code-states.ts'
import { asCode, changedCode, codeEtag, freeLock, readCode, softDeletedCode } from './code-store.ts'

interface SoftDelete {
  id: string
  precondition: Precondition
}

type Context = Pick<RequestContext, 'table' | 'settings' | 'now' | 'scope' | 'isBlocked'>

/**
 * Decides the soft delete of a code. Most deletes are of a live code in the caller's tenant, so the code is written
 * without a read if possible, and read only if that write fails.
 * @throws NOT_FOUND.code, CONFLICT.etag.mismatch
 */
export async function softDelete(request: SoftDelete, context: Context): Promise<Decision<undefined>> {
  const { id, precondition } = request
  const { ifMatch, ifNoneMatch } = precondition
  const { settings } = context
  const anyTag = ifNoneMatch === undefined && (ifMatch === undefined || ifMatch === '*')
  return anyTag && isId(id) && settings['codes.duplicate'].softDeletedKeepsCode
    ? deleteWithoutRead(request, context)
    : deleteAfterRead(await readCode(context, id), request, context)
}

function deleteWithoutRead(request: SoftDelete, context: Context): Decision<undefined> {
  const { id } = request
  const { settings, now, scope } = context
  return noContent({
    writes: [softDeletedCode(keyOf(scope.tenant, 'code', id), timestamp(now()), settings)],
    audit: auditOf({ id, tenant_id: scope.tenant }),
    onConflict: async (existing) =>
      deleteAfterRead(existing ? asCode(existing) : await readCode(context, id), request, context),
  })
}

function deleteAfterRead(code: Code, request: SoftDelete, context: Context): Decision<undefined> {
  const { settings, now } = context
  const live = mayStart('soft_delete', code.state, settings)
  if (!live && settings['codes.repeatedDelete'] === 404) throw fail('NOT_FOUND.code')
  checkPrecondition(request.precondition, codeEtag(code, settings))
  if (!live) return noContent()
  const after = softDeleteCode(code, settings, now())
  return noContent({
    writes: [changedCode(code, after, 'soft_delete', settings), ...freeLock(code, after)],
    audit: auditOf(code),
    onConflict: async () => deleteAfterRead(await readCode(context, code.id), request, context),
  })
}

function auditOf(code: Pick<Code, 'id' | 'tenant_id'>) {
  return {
    ...auditOfCode('soft_delete', code),
    before: { soft_deleted: false },
    after: { soft_deleted: true },
  }
}
