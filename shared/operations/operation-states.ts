import { type Condition, inState } from '../platform/table/table.ts'

export const states = ['pending', 'running', 'succeeded', 'failed', 'canceled'] as const
export type State = (typeof states)[number]

/** The triggers of transitions; `progress` and `request_cancel` keep the state. */
export type Trigger = 'start' | 'progress' | 'request_cancel' | 'succeed' | 'fail' | 'cancel'

/** Every transition of an operation. Both the check after a read and the condition of a write use this table. */
const transitions: Record<Trigger, { from: readonly State[]; to: State }> = {
  start: { from: ['pending'], to: 'running' },
  progress: { from: ['running'], to: 'running' },
  request_cancel: { from: ['running'], to: 'running' },
  succeed: { from: ['running'], to: 'succeeded' },
  fail: { from: ['pending', 'running'], to: 'failed' },
  cancel: { from: ['pending', 'running'], to: 'canceled' },
}

/** Returns whether the trigger may move an operation that is in this state. */
export function mayMove(trigger: Trigger, from: State): boolean {
  return transitions[trigger].from.includes(from)
}

/** Returns the same rule as a write condition, with further attributes that must match. */
export function moveCondition(trigger: Trigger, matches: Record<string, string | number> = {}): Condition {
  return inState(transitions[trigger].from, matches)
}

export function stateAfter(trigger: Trigger): State {
  return transitions[trigger].to
}

/** Returns whether the state is final. */
export function isEnded(state: State): boolean {
  return Object.values(transitions).every(({ from }) => !from.includes(state))
}
