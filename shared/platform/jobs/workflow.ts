import type { Settings } from '../../settings/register.ts'
import type { Budget, Clock } from '../base/clock.ts'
import type { FileStore } from '../formats/file-store.ts'
import type { Table } from '../table/table.ts'

/** The dependencies of a step of a workflow. */
export interface StepContext {
  settings: Settings
  clock: Clock
  /** The remaining time of the step. */
  budget: Budget
  table: Table
  files: FileStore
  /** Opens the table with a separate time limit, in milliseconds, to end the operation after the step's time. */
  tableWithin(milliseconds: number): Table
}

/** Runs one step. It may run again with the same input, whatever the result of the previous run. */
export type Step<Input, Output> = (input: Input, context: StepContext) => Promise<Output>

/** A workflow whose runs are identified by name. */
export interface Workflow {
  /** Starts a run, unless one of this name was started before. */
  start(name: string, input: Record<string, string>): Promise<void>
  /** Returns the state of a run. `ended`: it succeeded, failed, timed out or was stopped. */
  stateOf(name: string): Promise<'absent' | 'running' | 'ended'>
}
