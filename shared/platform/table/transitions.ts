import { inState, type StateCondition } from './table.ts'

/** The transitions of an entity. Both the check after a read and the condition of a write use the same table. */
interface Transitions<Trigger extends string, State extends string> {
  /** Returns whether the trigger may move an item that is in this state. */
  allows(trigger: Trigger, from: State): boolean
  /** Returns the same rule as a write condition, with further attributes that must match. */
  condition(trigger: Trigger, matches?: Record<string, string | number>): StateCondition
  /** Returns the state after the trigger. */
  stateAfter(trigger: Trigger): State
  /** Returns whether no trigger leaves the state. */
  isFinal(state: State): boolean
}

/** @param table the states in which each trigger may start, and the state that it leads to */
export function transitionsOf<Trigger extends string, State extends string>(
  table: Readonly<Record<Trigger, { from: readonly State[]; to: State }>>,
): Transitions<Trigger, State> {
  const all = Object.values<{ from: readonly State[] }>(table)
  return {
    allows: (trigger, from) => table[trigger].from.includes(from),
    condition: (trigger, matches = {}) => inState(table[trigger].from, matches),
    stateAfter: (trigger) => table[trigger].to,
    isFinal: (state) => !all.some(({ from }) => from.includes(state)),
  }
}
