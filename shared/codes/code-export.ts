import { largestId, smallestId, timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { csvLines } from '../platform/formats/csv-writer.ts'
import { readAll } from '../platform/listing/merge.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { partitionsOf, shardsOf } from '../platform/table/keys.ts'
import { asCode } from './code-store.ts'

/** Returns the file name of an export. @param now milliseconds since 1970 */
export function exportName(tenant: string, now: number): string {
  return `codes_${tenant}_${timestamp(now).slice(0, 10).replaceAll('-', '')}.csv`
}

/**
 * Yields the codes of a tenant as CSV, oldest first, one page of the table at a time: pages side by side could take all of the
 * 3,000 read units a second of a partition, which other requests need too. Codes created meanwhile may be included: a cutoff
 * at the current time would miss codes from a machine whose clock is ahead.
 * @param beforeMore runs before the third page, and may refuse it
 * @throws POLICY.export.row_limit when there are more rows than the limit
 */
export async function* exportChunks(
  tenant: string,
  includeDeleted: boolean,
  { table, settings }: Pick<WorkContext, 'table' | 'settings'>,
  beforeMore: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { columns, maxRows } = settings['codes.export']
  const partitions = partitionsOf(tenant, 'code', shardsOf(settings, tenant).reads)
  const atOnce = settings['lists.readBudget']
  const range = { low: smallestId, high: largestId, descending: false, atOnce }
  let [rows, pages] = [0, 0]
  yield Buffer.from(csvLines([columns]))
  for await (const items of readAll(table, partitions, range)) {
    pages += 1
    if (pages > 1) await beforeMore()
    const codes = items.map(asCode).filter(({ soft_deleted }) => includeDeleted || !soft_deleted)
    rows += codes.length
    if (rows > maxRows) {
      throw fail('POLICY.export.row_limit', { details: { max: maxRows, alternative: 'GET /codes' } })
    }
    yield Buffer.from(csvLines(codes.map((code) => columns.map((column) => String(code[column])))))
  }
}
