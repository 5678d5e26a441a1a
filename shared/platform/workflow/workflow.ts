/** A workflow whose runs are known by name. */
export interface Workflow {
  /** Starts a run, unless one of this name was started before. */
  start(name: string, input: Record<string, string>): Promise<void>
  /** `over` whether it succeeded, failed, timed out or was stopped. */
  stateOf(name: string): Promise<'absent' | 'running' | 'over'>
}
