import { begunOf, newOperation, type Operation } from '../operations/operation.ts'
import { checkCount, isCount, tooMany } from '../operations/operation-count.ts'
import { begunOperation } from '../operations/operation-store.ts'
import { fail } from '../platform/base/failure.ts'
import { fileUrl } from '../platform/formats/public-address.ts'
import type { Context } from '../platform/request/endpoint.ts'
import type { Reply } from '../platform/request/reply.ts'
import { claimed, fileHash, readClaim } from './import-claim.ts'
import { fileKey } from './import-places.ts'
import type { NewImport } from './new-import.ts'

/**
 * Starts an import, or returns the operation that imports or has imported the same file (by hash) in the tenant. A
 * file whose import failed or was canceled is imported again. For `file_url`, only the workflow learns the hash.
 * @throws VALIDATION.url.private_range, VALIDATION.field.format, RATE_LIMIT.exceeded when the tenant has too many
 * operations in progress
 */
export async function beginImport(body: NewImport, tenant: string, context: Context): Promise<Reply> {
  if (typeof body !== 'string') {
    fileUrl(body.file_url, 'file_url')
    const operation = operationOf(tenant, { kind: 'url', url: body.file_url }, '', context)
    return begun(operation, [], context, () => Promise.reject(fail('INTERNAL.unexpected')))
  }
  const bytes = new TextEncoder().encode(body)
  const hash = fileHash()
  hash.update(bytes)
  return beginFile(bytes, hash.digest(), tenant, context)
}

async function beginFile(bytes: Uint8Array, hash: string, tenant: string, context: Context): Promise<Reply> {
  const { holder, first } = await readClaim(context.table, tenant, hash, context.now())
  if (first) return { ...accepted(first), headers: { 'Idempotency-Status': 'replayed' } }
  await checkCount(context.table, tenant, context.settings)
  const operation = operationOf(tenant, { kind: 'inline' }, hash, context)
  // The file is stored before the commit, so every operation has its file. Without a commit, the file is left for
  // deletion.
  await context.files().write(fileKey(operation.id), chunksOf(bytes), 'text/csv')
  // On conflict, another upload of the same file was first.
  return begun(operation, [claimed(operation, hash, holder)], context, () =>
    beginFile(bytes, hash, tenant, context),
  )
}

function operationOf(
  tenant: string,
  source: Operation['source'],
  hash: string,
  { settings, newId, committer }: Context,
): Operation {
  const { id: correlation_id } = committer.correlation
  return newOperation({ id: newId(), tenant_id: tenant, correlation_id, source, file_hash: hash }, settings)
}

/** @param refused decides again after a failed write, except when too many operations are in progress */
function begun(
  operation: Operation,
  writes: Reply['writes'] & object,
  { settings }: Context,
  refused: () => Promise<Reply>,
): Reply {
  const { id, tenant_id: tenant, source } = operation
  return {
    ...accepted(operation),
    writes: [...begunOperation(operation, 'imports', settings), ...writes],
    audit: { action: 'import', target: `operation/${id}`, tenant, after: { source: source.kind } },
    onConflict: async (existing) => {
      if (isCount(existing)) throw tooMany(settings)
      return refused()
    },
  }
}

function accepted(operation: Operation): Reply {
  return { status: 202, body: begunOf(operation), location: `/operations/${operation.id}` }
}

async function* chunksOf(bytes: Uint8Array) {
  yield bytes
}
