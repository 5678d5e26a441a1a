import type { Role } from '../platform/identity/caller.ts'
import { inState, type StateCondition } from '../platform/table/table.ts'
import { liveStates } from '../settings/live-states.ts'
import type { Settings } from '../settings/register.ts'

export const codeStates = [...liveStates, 'soft_deleted'] as const
export type LiveState = (typeof liveStates)[number]
type CodeState = (typeof codeStates)[number]

export type CodeTrigger = 'update' | 'admin_update' | 'soft_delete' | 'restore' | 'hard_delete' | 'share'

/**
 * Returns the states from which a trigger may start. Both the check after a read and the condition of a write use
 * this table.
 */
function startsOf(trigger: CodeTrigger, settings: Settings): readonly CodeState[] {
  const starts: Record<CodeTrigger, readonly CodeState[]> = {
    update: liveStates,
    admin_update: settings['codes.adminUpdateOfSoftDeleted'] === 'allowed' ? codeStates : liveStates,
    soft_delete: liveStates,
    restore: ['soft_deleted'],
    hard_delete: codeStates,
    share: liveStates,
  }
  return starts[trigger]
}

/** Returns whether the trigger may start from this state. */
export function mayStart(trigger: CodeTrigger, from: CodeState, settings: Settings): boolean {
  return startsOf(trigger, settings).includes(from)
}

/** Returns the same rule as a write condition, with further attributes that must match. */
export function startCondition(
  trigger: CodeTrigger,
  settings: Settings,
  matches: Record<string, string | number> = {},
): StateCondition {
  return inState(startsOf(trigger, settings), matches)
}

export function updateTrigger(role: Role | undefined): 'update' | 'admin_update' {
  return role === 'Admin' ? 'admin_update' : 'update'
}

/** Returns whether the setting codes.transitions permits an update between two states. */
export function mayUpdateState(from: CodeState, to: LiveState, settings: Settings): boolean {
  return settings['codes.transitions'].some((one) => one.from === from && one.to === to)
}

/** Returns the state of a code after its restore. */
export function stateAfterRestore(before: LiveState | undefined, settings: Settings): LiveState {
  const initial = settings['codes.initialState']
  return settings['codes.stateAfterRestore'] === 'previous' ? (before ?? initial) : initial
}
