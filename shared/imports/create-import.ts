import {
  newOperation,
  type Operation,
  type OperationStatus,
  operationStatus,
} from '../operations/operation.ts'
import { checkInProgressLimit, isCountItem, tooManyInProgress } from '../operations/operation-count.ts'
import { createOperation } from '../operations/operation-store.ts'
import { fail } from '../platform/base/failure.ts'
import { fileUrl } from '../platform/formats/public-address.ts'
import type { Decision } from '../platform/idempotency/decision.ts'
import type { RequestContext } from '../platform/request/context.ts'
import type { Write } from '../platform/table/table.ts'
import { fileHash, readReservation, reserveFile } from './file-reservation.ts'
import { fileKey } from './import-files.ts'
import type { ImportRequest } from './import-request.ts'

type Context = Pick<
  RequestContext,
  'settings' | 'table' | 'scope' | 'correlation' | 'now' | 'newId' | 'files'
>

/**
 * Starts an import, or returns the operation that imports or has imported the same file (by hash) in the tenant. A
 * file whose import failed, was canceled or is to be canceled is imported again. For `file_url`, only the workflow
 * learns the hash.
 * @throws VALIDATION.url.private_range, VALIDATION.field.format, RATE_LIMIT.exceeded when the tenant has too many
 * operations in progress
 */
export async function createImport(
  body: ImportRequest,
  context: Context,
): Promise<Decision<OperationStatus>> {
  if (typeof body !== 'string') {
    fileUrl(body.file_url, 'file_url')
    const operation = operationOf({ kind: 'url', url: body.file_url }, '', context)
    return startDecision(operation, [], context, () => Promise.reject(fail('INTERNAL.unexpected')))
  }
  const bytes = new TextEncoder().encode(body)
  const hash = fileHash()
  hash.update(bytes)
  return createFromFile(bytes, hash.digest(), context)
}

async function createFromFile(
  bytes: Uint8Array,
  hash: string,
  context: Context,
): Promise<Decision<OperationStatus>> {
  const { tenant } = context.scope
  const { holder, current: first } = await readReservation(context.table, tenant, hash, context.now())
  if (first) return { ...accepted(first), headers: { 'Idempotency-Status': 'replayed' } }
  await checkInProgressLimit(context.table, tenant, context.settings)
  const operation = operationOf({ kind: 'inline' }, hash, context)
  // The file is stored before the commit, so every operation has its file. Without a commit, the file is left for
  // deletion.
  await context.files().write(fileKey(operation.id), chunksOf(bytes), 'text/csv')
  // On conflict, another upload of the same file was first.
  return startDecision(operation, [reserveFile(operation, hash, holder)], context, () =>
    createFromFile(bytes, hash, context),
  )
}

function operationOf(
  source: Operation['source'],
  hash: string,
  { settings, newId, correlation, scope }: Pick<Context, 'settings' | 'newId' | 'correlation' | 'scope'>,
): Operation {
  const origin = { tenant_id: scope.tenant, correlation_id: correlation.id }
  return newOperation({ id: newId(), ...origin, source, file_hash: hash }, settings)
}

/** @param decideAgain called after a failed write, except when too many operations are in progress */
function startDecision(
  operation: Operation,
  writes: readonly Write[],
  { settings }: Pick<Context, 'settings'>,
  decideAgain: () => Promise<Decision<OperationStatus>>,
): Decision<OperationStatus> {
  const { id, tenant_id: tenant, source } = operation
  return {
    ...accepted(operation),
    writes: [...createOperation(operation, 'imports', settings), ...writes],
    audit: { action: 'import', target: `operation/${id}`, tenant, after: { source: source.kind } },
    onConflict: async (existing) => {
      if (isCountItem(existing)) throw tooManyInProgress(settings)
      return decideAgain()
    },
  }
}

function accepted(operation: Operation): Decision<OperationStatus> {
  return { status: 202, body: operationStatus(operation), location: `/operations/${operation.id}` }
}

async function* chunksOf(bytes: Uint8Array) {
  yield bytes
}
