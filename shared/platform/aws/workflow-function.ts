import { startBudget } from '../base/clock.ts'
import type { Step } from '../jobs/workflow.ts'
import { deployedTable } from './dynamodb-table.ts'
import { powertoolsLog } from './powertools-log.ts'
import { eventFunction } from './runtime.ts'
import { s3Files } from './s3-files.ts'

/**
 * Turns a step of a workflow into a function. An error is logged without its message and rethrown as a fixed code:
 * errors appear in the workflow's history, which every operator can read.
 * @param seconds the time limit of the step, below the timeout of its function
 */
export function workflowFunction<Input, Output>(work: Step<Input, Output>, seconds: number) {
  const adapters = { log: powertoolsLog, table: deployedTable, files: s3Files }
  return eventFunction<Input, Output>(adapters, async (input, runtime) => {
    const { settings, clock, log } = runtime
    const budget = startBudget(clock, seconds * 1000)
    try {
      return await work(input, {
        settings,
        clock,
        budget,
        table: runtime.openTable(budget),
        files: runtime.openFiles(budget),
        tableWithin: (milliseconds) => runtime.openTable(startBudget(clock, milliseconds)),
      })
    } catch (fault) {
      log.job({ code: 'IMPORT_STEP_FAILED', done: 0, failed: 1, fault })
      throw new Error('STEP_FAILED')
    }
  })
}
