import { hastenSaga, type SagaEntry } from '#shared/platform/idempotency/pending-saga.ts'
import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import { inParallel } from '#shared/platform/table/table.ts'
import type { Operator } from '../stack/operator-audit.ts'

/** Returns the entries of all pending sagas of a tenant, whether they are due or not. */
export async function pendingSagasOf(
  { table }: Pick<Operator, 'table'>,
  tenant: string,
): Promise<SagaEntry[]> {
  const entries = (await pendingEntries(table, 'pending-saga')) as unknown as SagaEntry[]
  return entries.filter((entry) => entry.tenant === tenant)
}

/** Lets the next run of the sweep try pending sagas, and removes the entries of those that have ended. */
export async function tryNow(operator: Operator, entries: readonly SagaEntry[]): Promise<void> {
  await inParallel(entries, (entry) => hastenSaga(entry, operator))
}
