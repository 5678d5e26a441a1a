import { transitionsOf } from '../platform/table/transitions.ts'

export const operationStates = ['pending', 'running', 'succeeded', 'failed', 'canceled'] as const
export type OperationState = (typeof operationStates)[number]

/** The triggers of transitions; `progress` and `request_cancel` keep the state. */
export type OperationTrigger = 'start' | 'progress' | 'request_cancel' | 'succeed' | 'fail' | 'cancel'

export const operationTransitions = transitionsOf<OperationTrigger, OperationState>({
  start: { from: ['pending'], to: 'running' },
  progress: { from: ['running'], to: 'running' },
  request_cancel: { from: ['running'], to: 'running' },
  succeed: { from: ['running'], to: 'succeeded' },
  fail: { from: ['pending', 'running'], to: 'failed' },
  cancel: { from: ['pending', 'running'], to: 'canceled' },
})

/** Returns whether the state is final. */
export function isEnded(state: OperationState): boolean {
  return operationTransitions.isFinal(state)
}
