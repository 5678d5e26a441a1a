import { createHash } from 'node:crypto'
import { isEnded, type Operation } from '../operations/operation.ts'
import { asOperation } from '../operations/operation-store.ts'
import { keyOf } from '../platform/table/keys.ts'
import type { Table, Write } from '../platform/table/table.ts'

/** Hashes a file, without its byte order mark, to identify it in its tenant. */
export function fileHash() {
  const hash = createHash('sha256')
  return { update: (bytes: Uint8Array) => hash.update(bytes), digest: () => hash.digest('base64url') }
}

/** The reservation of a file in its tenant: only one operation imports it. */
interface FileReservation {
  /** The operation that last reserved the file, whatever its state. */
  holder: string | undefined
  /** That operation if it imports or has imported the file: the file is not imported again. */
  current: Operation | undefined
}

/** @param now milliseconds since 1970 */
export async function readReservation(
  table: Table,
  tenant: string,
  hash: string,
  now: number,
): Promise<FileReservation> {
  const item = await table.get(keyOf(tenant, 'file_reservation', hash))
  if (!item) return { holder: undefined, current: undefined }
  const holder = String(item.operation_id)
  const found = await table.get(keyOf(tenant, 'operation', holder))
  const operation = found && asOperation(found)
  return { holder, current: operation && holdsFile(operation, now) ? operation : undefined }
}

/** Returns whether an operation imports or has imported its file. One that is to be canceled does not. */
function holdsFile({ state, cancel_requested, expires_at }: Operation, now: number): boolean {
  const imports = isEnded(state) ? state === 'succeeded' : cancel_requested === 'no'
  return imports && expires_at > now / 1000
}

/** Reserves a file for an operation. It must have no reservation, or one whose operation does not hold the file. */
export function reserveFile(
  { tenant_id, id, expires_at }: Operation,
  hash: string,
  holder: string | undefined,
): Write {
  return {
    item: { ...keyOf(tenant_id, 'file_reservation', hash), operation_id: id, expires_at },
    condition: holder === undefined ? { absent: true } : { matches: { operation_id: holder } },
    onFailure: 'TRANSIENT.error',
  }
}
