import { createHash } from 'node:crypto'
import type { Operation } from '../operations/operation.ts'
import { asOperation } from '../operations/operation-store.ts'
import { keyOf } from '../platform/table/keys.ts'
import type { Table } from '../platform/table/table.ts'
import type { Write } from '../platform/table/writes.ts'

/** The hash by which a file is known in its tenant; of its bytes without a byte order mark. */
export function fileHash() {
  const hash = createHash('sha256')
  return { update: (bytes: Uint8Array) => hash.update(bytes), digest: () => hash.digest('base64url') }
}

/** What is known of a file in its tenant. */
export interface Claim {
  /** The operation that claimed the file, whatever became of it. */
  holder: string | undefined
  /** That operation, where it imports the file or has imported it: the file is not imported again. */
  first: Operation | undefined
}

/** @param now milliseconds since 1970 */
export async function readClaim(table: Table, tenant: string, hash: string, now: number): Promise<Claim> {
  const item = await table.get(keyOf(tenant, 'import_claim', hash))
  if (!item) return { holder: undefined, first: undefined }
  const holder = String(item.operation_id)
  const found = await table.get(keyOf(tenant, 'operation', holder))
  const operation = found && asOperation(found)
  const holds = operation && operation.state !== 'failed' && operation.state !== 'canceled'
  return { holder, first: holds && operation.expires_at > now / 1000 ? operation : undefined }
}

/** An operation takes a file that nobody imports: from nobody, or from one that failed, was canceled or is forgotten. */
export function claimed(
  { tenant_id, id, expires_at }: Operation,
  hash: string,
  holder: string | undefined,
): Write {
  return {
    item: { ...keyOf(tenant_id, 'import_claim', hash), operation_id: id, expires_at },
    condition: holder === undefined ? { absent: true } : { matches: { operation_id: holder } },
    otherwise: 'TRANSIENT.error',
  }
}
