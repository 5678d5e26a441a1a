import type { Settings } from '../../settings/register.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { FileStore } from '../files/file-store.ts'
import { s3Files } from '../files/s3-files.ts'
import { type Budget, startBudget } from '../limits/budget.ts'
import { powertoolsLog } from '../logging/log.ts'
import { deployedSettings } from '../settings/deployed.ts'
import { dynamodbClient } from '../table/dynamodb-client.ts'
import { dynamodbTable } from '../table/dynamodb-table.ts'
import type { Table } from '../table/table.ts'

/** What a step of a workflow may use. */
export interface StepContext {
  settings: Settings
  table: Table
  /** The table with a budget of its own, to end the operation even if the step's time is spent. */
  tableToEnd(): Table
  files: FileStore
  clock: Clock
  /** Aborts when the step's time is spent. */
  signal: AbortSignal
}

/** Below what a function has beyond the time of its step. */
const endingMilliseconds = 4000

/** Does one step. It may run again with the same input, whatever came of the time before. */
export type Step<Input, Output> = (input: Input, context: StepContext) => Promise<Output>

/**
 * Makes a step a function on AWS. What it throws is logged without its message and thrown on as one word: whatever
 * fails shows in the workflow's history, which anybody who operates it can read.
 * @param seconds that it may take, below those that its function has
 */
export function deployedStep<Input, Output>(
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
      log.worked({ code: 'IMPORT_STEP_FAILED', done: 0, failed: 1, fault })
      throw new Error('STEP_FAILED')
    }
  }
}
