import type { Settings } from '../../settings/register.ts'
import { type Budget, startBudget } from '../base/budget.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { powertoolsLog } from '../base/log.ts'
import type { FileStore } from '../formats/file-store.ts'
import type { Table } from '../table/table.ts'
import { deployedSettings } from './deployed-settings.ts'
import { dynamodbClient, dynamodbTable } from './dynamodb-table.ts'
import { s3Files } from './s3-files.ts'

/** The dependencies of a workflow step. */
export interface StepContext {
  settings: Settings
  table: Table
  /** Returns the table with a separate budget, to end the operation even if the step's time is up. */
  tableToEnd(): Table
  files: FileStore
  clock: Clock
  /** Aborts when the step's time is up. */
  signal: AbortSignal
}

/** Less than the time that a function has in addition to the time of its step. */
const endingMilliseconds = 4000

/** Runs one step. It may run again with the same input, whatever the result of the previous run. */
export type Step<Input, Output> = (input: Input, context: StepContext) => Promise<Output>

/**
 * Returns the Lambda handler of a step. An error is logged without its message and rethrown as a fixed code: errors
 * appear in the workflow's history, which every operator can read.
 * @param seconds the time limit of the step, below the timeout of its function
 */
export function workflowFunction<Input, Output>(
  work: Step<Input, Output>,
  seconds: number,
): (input: Input) => Promise<Output> {
  const log = powertoolsLog('commerce-api')
  return async (input) => {
    const budget = startBudget(systemClock, seconds * 1000)
    const tableWithin = (its: Budget) =>
      dynamodbTable(dynamodbClient(), process.env.TABLE_NAME ?? '', systemClock, its)
    try {
      return await work(input, {
        settings: deployedSettings(),
        table: tableWithin(budget),
        tableToEnd: () => tableWithin(startBudget(systemClock, endingMilliseconds)),
        files: s3Files(process.env.FILES_BUCKET ?? '', budget),
        clock: systemClock,
        signal: budget.signal,
      })
    } catch (fault) {
      log.job({ code: 'IMPORT_STEP_FAILED', done: 0, failed: 1, fault })
      throw new Error('STEP_FAILED')
    }
  }
}
