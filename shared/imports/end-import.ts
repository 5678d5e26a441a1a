import { endOperation, partialCompletion } from '../operations/end-operation.ts'
import { completionOutcome, countsOf, type Operation } from '../operations/operation.ts'
import type { OperationRef } from '../operations/operation-store.ts'
import { fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { gatherRejects } from './reject-file.ts'

/**
 * Writes the completion record, the last step of an import. An import with a cancel request ends as canceled, with
 * its counts so far, if rows were left. One of which chunks are not counted fails, and its sender repeats it: they were imported
 * into a table from which a restore has taken their rows.
 */
export async function completeImport(
  ref: OperationRef,
  context: Pick<WorkContext, 'table' | 'clock' | 'files' | 'settings'>,
): Promise<void> {
  await endOperation(
    ref,
    async (operation) => {
      const whole = isWhole(operation)
      if (!whole && operation.cancel_requested === 'no')
        return { trigger: 'fail', failure: fail('TRANSIENT.error') }
      const counts = countsOf(operation)
      const rejects = await gatherRejects(operation, context)
      const completion = { outcome: completionOutcome(counts, whole), counts, ...rejects }
      return { trigger: whole ? 'succeed' : 'cancel', completion }
    },
    context,
  )
}

/** The workflow's input for the failure step. */
type FailedRef = OperationRef & { fault?: { Error?: string } }

/** Ends the operation after another step failed for good, whatever its progress. */
export async function failImport(
  ref: FailedRef,
  context: Pick<WorkContext, 'table' | 'clock'>,
): Promise<void> {
  const late = ref.fault?.Error === 'States.Timeout'
  await endOperation(
    ref,
    (operation) =>
      operation.cancel_requested === 'yes'
        ? { trigger: 'cancel', completion: partialCompletion(operation) }
        : { trigger: 'fail', failure: fail(late ? 'DEPENDENCY.timeout' : 'INTERNAL.unexpected') },
    context,
  )
}

function isWhole({ columns, chunks_done, chunks_total }: Operation): boolean {
  return columns.length > 0 && chunks_done === chunks_total
}
