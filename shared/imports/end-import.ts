import { endOperation, soFar } from '../operations/end-operation.ts'
import { countsOf, type Operation, outcomeOf } from '../operations/operation.ts'
import type { OperationRef } from '../operations/operation-store.ts'
import { fail } from '../platform/errors/failure.ts'
import type { StepContext } from '../platform/steps/step.ts'
import { gatherRejects } from './reject-file.ts'

/**
 * The last step of an import: its completion record. One that was to be canceled ends so where something was left to
 * do, with what was done until then.
 */
export async function completeImport(ref: OperationRef, context: StepContext): Promise<void> {
  await endOperation(
    ref,
    async (operation) => {
      const whole = isWhole(operation)
      if (!whole && operation.cancel_requested === 'no')
        return { trigger: 'fail', failure: fail('INTERNAL.unexpected') }
      const counts = countsOf(operation)
      const rejects = await gatherRejects(operation, context)
      const completion = { outcome: outcomeOf(counts, whole), counts, ...rejects }
      return { trigger: whole ? 'succeed' : 'cancel', completion }
    },
    context,
  )
}

/** What the workflow says of a step that failed for good. */
export type FailedRef = OperationRef & { fault?: { Error?: string } }

/** The step that follows any other that failed for good: the operation ends, whatever was done of it. */
export async function failImport(ref: FailedRef, context: StepContext): Promise<void> {
  const late = ref.fault?.Error === 'States.Timeout'
  await endOperation(
    ref,
    (operation) =>
      operation.cancel_requested === 'yes'
        ? { trigger: 'cancel', completion: soFar(operation) }
        : { trigger: 'fail', failure: fail(late ? 'DEPENDENCY.timeout' : 'INTERNAL.unexpected') },
    context,
  )
}

function isWhole({ columns, chunks_done, chunks_total }: Operation): boolean {
  return columns.length > 0 && chunks_done === chunks_total
}
