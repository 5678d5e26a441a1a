import type { Change } from '#shared/platform/table/table.ts'
import { serviceError } from '#test/simulation/memory-store.ts'
import type { TableCall, Transit } from '#test/simulation/memory-table.ts'
import type { MovableClock } from '#test/support/clocks.ts'
import { connectionError } from '#test/support/memory-runtime.ts'
import { failureError } from './dynamodb-failures.ts'
import type { ActiveFault, FaultPlans, RecordedCall } from './faults.ts'

/** The operations of DynamoDB, by the calls of the table. */
const operations: Record<string, string> = {
  get: 'GetItem',
  'read-range': 'Query',
  'find-by-id': 'Query',
  'get-many': 'BatchGetItem',
  transact: 'TransactWriteItems',
  put: 'PutItem',
  update: 'UpdateItem',
  'insert-many': 'BatchExecuteStatement',
}

/**
 * Injects faults into the calls of a table in memory, as the proxy does on the wire. A caller that gives up does not
 * wait: the clock advances by its time limit.
 */
export function faultyTransit(plans: FaultPlans, clock: MovableClock): Transit {
  const giveUp = async (milliseconds: number): Promise<never> => {
    // Concurrent work goes on first, because it takes less time.
    for (let before = -1; before !== plans.calls.length; ) {
      before = plans.calls.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    clock.advance(milliseconds)
    throw serviceError('TimeoutError')
  }
  return async (tableCall) => {
    const { name, changes, input } = tableCall
    // Each call takes a millisecond, so ids of different requests are in order.
    clock.advance(1)
    const body = name === 'transact' ? { TransactItems: changes.map(transactItem) } : input
    const { call, injectFault } = plans.record(operations[name] ?? name, body)
    return injectFault ? happen(injectFault, call, tableCall, giveUp) : tableCall.effect()
  }
}

function transactItem(change: Change) {
  if ('item' in change) return { Put: change }
  if ('update' in change) return { Update: change }
  return 'remove' in change ? { Delete: change } : { ConditionCheck: change }
}

async function happen<Result>(
  { fault, injected, released }: ActiveFault,
  call: RecordedCall,
  { effect, milliseconds }: TableCall<Result>,
  giveUp: (milliseconds: number) => Promise<never>,
): Promise<Result> {
  const takeEffect = () => {
    try {
      return effect()
    } finally {
      injected.resolve(call)
    }
  }
  const takeEffectUnseen = () => {
    try {
      takeEffect()
    } catch {
      // The caller never learns that the table rejected it.
    }
  }
  if (typeof fault === 'object') {
    if ('until' in fault) {
      void fault.until.then(takeEffectUnseen)
      return giveUp(milliseconds)
    }
    await fault.first(call)
    return takeEffect()
  }
  switch (fault) {
    case 'lose-request':
      injected.resolve(call)
      throw connectionError()
    case 'lose-answer':
      takeEffectUnseen()
      throw connectionError()
    case 'no-arrival':
      injected.resolve(call)
      return giveUp(milliseconds)
    case 'no-answer':
      takeEffectUnseen()
      return giveUp(milliseconds)
    case 'hold-request':
      injected.resolve(call)
      if ((await released.promise) === 'dropped') throw connectionError()
      return effect()
    case 'hold':
      try {
        return takeEffect()
      } finally {
        await released.promise
      }
    default:
      injected.resolve(call)
      throw failureError(fault, call.operation, call.body)
  }
}
