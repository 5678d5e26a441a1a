import type { Condition } from '../platform/table/table.ts'
import { inState } from '../platform/table/writes.ts'

export const states = ['pending', 'running', 'succeeded', 'failed', 'canceled'] as const
export type State = (typeof states)[number]

/** What moves an operation; `count` and `request_cancel` leave it where it is. */
export type Trigger = 'start' | 'count' | 'request_cancel' | 'succeed' | 'fail' | 'cancel'

/**
 * Every transition of an operation (contract, 'States and transitions'). The rule that reads an operation and the
 * condition under which it is written are both made from this table.
 */
const transitions: Record<Trigger, { from: readonly State[]; to: State }> = {
  start: { from: ['pending'], to: 'running' },
  count: { from: ['running'], to: 'running' },
  request_cancel: { from: ['running'], to: 'running' },
  succeed: { from: ['running'], to: 'succeeded' },
  fail: { from: ['pending', 'running'], to: 'failed' },
  cancel: { from: ['pending', 'running'], to: 'canceled' },
}

/** The rule: whether the trigger may move an operation that is in this state. */
export function mayMove(trigger: Trigger, from: State): boolean {
  return transitions[trigger].from.includes(from)
}

/** The same as the condition of a write, with more that the item must hold. */
export function moveCondition(trigger: Trigger, matches: Record<string, string | number> = {}): Condition {
  return inState(transitions[trigger].from, matches)
}

export function stateAfter(trigger: Trigger): State {
  return transitions[trigger].to
}

/** Whether nothing moves it any more. */
export function isOver(state: State): boolean {
  return Object.values(transitions).every(({ from }) => !from.includes(state))
}
