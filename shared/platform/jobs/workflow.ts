/** A workflow whose runs are identified by name. */
export interface Workflow {
  /** Starts a run, unless one of this name was started before. */
  start(name: string, input: Record<string, string>): Promise<void>
  /** Returns the state of a run. `ended`: it succeeded, failed, timed out or was stopped. */
  stateOf(name: string): Promise<'absent' | 'running' | 'ended'>
}
