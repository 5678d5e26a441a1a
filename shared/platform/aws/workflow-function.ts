import { newId } from '../base/clock.ts'
import { openWork, type WorkContext } from '../request/context.ts'
import { deployedTable } from './dynamodb-table.ts'
import { powertoolsLog } from './powertools-log.ts'
import { eventFunction } from './runtime.ts'
import { s3Files } from './s3-files.ts'

/**
 * Turns a step of a workflow into a function. An error is logged without its message and rethrown as a fixed code:
 * errors appear in the workflow's history, which every operator can read.
 * @param work may run again with the same input, whatever the result of the previous run
 * @param seconds the time limit of the step, below the timeout of its function
 */
export function workflowFunction<Input, Output>(
  work: (input: Input, context: WorkContext) => Promise<Output>,
  seconds: number,
) {
  const adapters = { log: powertoolsLog, table: deployedTable, files: s3Files }
  return eventFunction<Input, Output>(adapters, async (input, runtime) => {
    const correlation = { id: newId(runtime.clock), trace: {} }
    const context = openWork(runtime, { operation: 'imports', correlation, milliseconds: seconds * 1000 })
    try {
      return await work(input, context)
    } catch (fault) {
      context.log.job({ code: 'IMPORT_STEP_FAILED', done: 0, failed: 1, fault })
      throw new Error('STEP_FAILED')
    }
  })
}
