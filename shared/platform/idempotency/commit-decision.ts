import { fail } from '../base/failure.ts'
import type { Item } from '../table/keys.ts'
import { commit, type PlatformChanges } from './commit.ts'
import type { Revisable, Run } from './decision.ts'

/**
 * The maximum number of decisions of a request, unless its budget ends it earlier. When several requests change one
 * item at once, all but one decide again each time.
 */
const maxDecisions = 20
const firstDelayMilliseconds = 10
const maxDelayMilliseconds = 200

/** The result of a decision, and the changes of the platform that depend on it. */
interface Rendered<Result> extends PlatformChanges {
  result: Result
}

/**
 * Renders a decision and commits it. On a conflict, decides, renders and commits again. Nothing is committed whose result
 * cannot be rendered.
 * @returns the result of the committed decision; or the existing item if the guard of another run was first
 * @throws the error of the first write whose condition failed, unless the decision handles it
 */
export async function commitDecision<Decision extends Revisable<Decision>, Result>(
  context: Pick<Run, 'table' | 'clock' | 'caller' | 'correlation'>,
  first: Decision,
  render: (decision: Decision) => Rendered<Result>,
): Promise<{ result: Result } | { existing: Item }> {
  let decision = first
  for (let count = 1; ; count += 1) {
    const { result, ...changes } = render(decision)
    const conflict = await commit(context, decision, changes)
    if (!conflict) return { result }
    if ('guarded' in conflict) return { existing: conflict.guarded }
    const { write, existing } = conflict
    // A check is of an item that no decision depends on: another decision would fail as well.
    if ('check' in write || !decision.onConflict || count === maxDecisions) throw fail(write.onFailure)
    // The first failure reveals what a decision did not know. Only later ones are contention, which a pause spreads.
    if (count > 1) await context.clock.sleep(context.clock.jitter() * delayAfter(count))
    decision = await decision.onConflict(existing)
  }
}

function delayAfter(count: number): number {
  return Math.min(maxDelayMilliseconds, firstDelayMilliseconds * 2 ** count)
}
