import type { Budget } from '#shared/platform/base/clock.ts'
import { ownerOf } from '#shared/platform/table/keys.ts'
import { type Change, keyOfChange } from '#shared/platform/table/table.ts'
import type { Transit } from './memory-table.ts'
import type { Process } from './process.ts'

const attemptMilliseconds = 3000

/** Carries the calls of a process to the table. */
export function transitOf(process: Process, budget: Budget): Transit {
  return ({ name, changes, effect, conflict, partial }) =>
    process.call({
      name: [name, ...changes.map(entityOf)].join(' '),
      effect,
      conflict: conflict && (() => conflict(process.clock.jitter() < 0.5 ? 'first' : 'last')),
      partial,
      timeoutMilliseconds: Math.min(attemptMilliseconds, budget.remaining()),
    })
}

function entityOf(change: Change): string {
  return ownerOf(keyOfChange(change).pk).kind
}
