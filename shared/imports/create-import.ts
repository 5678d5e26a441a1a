import * as v from 'valibot'
import {
  newOperation,
  type Operation,
  type OperationStatus,
  operationStatus,
} from '../operations/operation.ts'
import {
  checkInProgressLimit,
  createOperation,
  isCountItem,
  tooManyInProgress,
} from '../operations/operation-store.ts'
import { fileUrl } from '../platform/formats/public-address.ts'
import type { Decision } from '../platform/idempotency/decision.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { type BodyType, defaultBodyKilobytes } from '../platform/request/route.ts'
import type { Write } from '../platform/table/table.ts'
import { openPoint, perSettings } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { fileHash, readReservation, reserveFile } from './file-reservation.ts'
import { fileKey } from './import.ts'

const File = v.pipe(
  v.string(),
  v.description(
    'CSV in UTF-8, separated by commas; a byte order mark is optional. A header, then one row per customer. The column email is required; name, country and created_at are optional.',
  ),
)
const Address = v.pipe(
  v.strictObject({
    file_url: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(2048),
      v.metadata({ format: 'uri' }),
      openPoint('imports.request'),
    ),
  }),
  v.title('ImportRequest'),
)

/** The body of POST /imports: the file itself, or its URL. */
export function ImportRequest(_settings: Settings, type: BodyType) {
  return type === 'text/csv' ? File : Address
}
type ImportRequest = v.InferOutput<ReturnType<typeof ImportRequest>>

/** Returns the media types of the body in this deployment. */
export const importTypes = perSettings((settings): BodyType[] =>
  settings['imports.request'].map((shape) => (shape === 'text/csv' ? 'text/csv' : 'application/json')),
)

/** Returns the largest accepted body of any type, in bytes. */
export function importBytes(settings: Settings): number {
  const inline = settings['imports.request'].includes('text/csv')
  return inline ? settings['imports.maxBytes'].inline : defaultBodyKilobytes * 1024
}

type Context = Pick<
  RequestContext,
  'settings' | 'table' | 'scope' | 'correlation' | 'now' | 'newId' | 'files'
>

/**
 * Starts an import, or returns the operation that imports or has imported the same file (by hash) in the tenant. A
 * file whose import failed, was canceled or is to be canceled is imported again. For `file_url`, only the workflow
 * learns the hash.
 *
 * A message starts the workflow, which runs the other steps:
 * 1. `prepareImport` fetches the file of a `file_url`, and splits the file into chunks.
 * 2. `importRows` imports the rows of one chunk, for `chunksAtOnce` chunks at a time.
 * 3. `endImport` gathers the rejected rows, and ends the operation with its result or its failure.
 *
 * A step that runs twice has the effect of one run. A cancellation stops an import between chunks. `endAbandoned` ends an
 * operation whose workflow did not.
 * @throws VALIDATION.url.private_range, VALIDATION.field.format, RATE_LIMIT.exceeded when the tenant has too many
 * operations in progress
 */
export async function createImport(
  body: ImportRequest,
  context: Context,
): Promise<Decision<OperationStatus>> {
  // On conflict, another upload of the same file was first.
  const decideAgain = () => createImport(body, context)
  if (typeof body !== 'string') {
    fileUrl(body.file_url, 'file_url')
    const operation = operationOf({ kind: 'url', url: body.file_url }, '', context)
    return startImport(operation, [], context, decideAgain)
  }
  const { table, scope, settings, files, now } = context
  const bytes = new TextEncoder().encode(body)
  const hash = fileHash()
  hash.update(bytes)
  const digest = hash.digest()
  const { holder, current: first } = await readReservation(table, scope.tenant, digest, now())
  if (first) return { ...accepted(first), headers: { 'Idempotency-Status': 'replayed' } }
  await checkInProgressLimit(table, scope.tenant, settings)
  const operation = operationOf({ kind: 'inline' }, digest, context)
  // The file is stored before the commit, so every operation has its file. Without a commit, the file is left for
  // deletion.
  await files().write(fileKey(operation.id), piecesOf(bytes), 'text/csv')
  return startImport(operation, [reserveFile(operation, digest, holder)], context, decideAgain)
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
function startImport(
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

async function* piecesOf(bytes: Uint8Array) {
  yield bytes
}
