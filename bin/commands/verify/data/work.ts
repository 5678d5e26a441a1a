import { importTimeoutSeconds } from '#shared/operations/end-abandoned.ts'
import { isEnded } from '#shared/operations/operation.ts'
import { asOperation } from '#shared/operations/operation-store.ts'
import { dayMilliseconds, minuteMilliseconds, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import { asIdempotencyRecord } from '#shared/platform/idempotency/idempotency-record.ts'
import type { SagaEntry } from '#shared/platform/idempotency/pending-saga.ts'
import { type Item, idOfEntry } from '#shared/platform/table/keys.ts'
import { type ItemPromise, type SharedPromise, typedOwnerOf } from './promise.ts'

const forever = 'nothing is pending forever'

/** The work of an entry, and the entity that has it. */
const working = {
  'pending-operation': 'operation',
  'registered-subscriber': 'subscriber',
} as const

/**
 * A sweep looks at entries that are due each minute, and moves or removes them. One that is due for a day was not looked at. A
 * restored table is as old as its restore: nothing ran on it before.
 */
export const duePromise: SharedPromise<{ due?: number; started?: number; at?: string }> = {
  facts({ pk, sk, tenant }, state) {
    const { entity } = typedOwnerOf({ pk })
    if (entity === 'pending-operation') state(String(tenant), `${entity}/${sk}`, { started: timeOf(sk) })
    if (entity === 'pending-saga' || entity === 'unsettled-refund')
      state(String(tenant), `${entity}/${idOfEntry(sk)}`, { due: Date.parse(sk.slice(0, sk.indexOf('#'))) })
  },
  judge([entry], _, { at, restoredAt = 0 }, broken) {
    const { started = 0, due = started + importTimeoutSeconds * 1000 } = entry ?? {}
    if (Math.max(due, restoredAt) < at - dayMilliseconds)
      broken(forever, `it is due since ${timestamp(due)}, and no sweep has looked at it for a day`)
  },
}

/** Each operation in progress, and each subscriber, has the entry by which sweeps find it. */
export const entryPromise: SharedPromise<{ kind: 'work' | 'entry'; at?: string }> = {
  facts(item, state) {
    const { entity, tenant } = typedOwnerOf(item)
    const isWork = entity === 'operation' ? !isEnded(asOperation(item).state) : entity === 'subscriber'
    const at = typeof item.updated_at === 'string' ? { at: item.updated_at } : {}
    if (isWork) state(tenant, `${entity}/${item.sk}`, { kind: 'work', ...at })
    if (entity in working)
      state(String(item.tenant), `${working[entity as keyof typeof working]}/${item.sk}`, { kind: 'entry' })
  },
  judge(facts, _, __, broken) {
    if (facts.every(({ kind }) => kind === 'work'))
      broken(forever, 'it has no entry by which a sweep finds it')
  },
}

/** Each pending saga that the service can finish has the entry by which the sweep finds it. */
export const sagaPromise: SharedPromise<{ kind: 'record' | 'entry'; sk: string; at?: string }> = {
  facts(item, state) {
    const { entity } = typedOwnerOf(item)
    if (entity === 'idempotency') {
      const record = asIdempotencyRecord(item)
      if (record.state === 'pending' && record.saga.entry !== undefined)
        state('', item.pk, { kind: 'record', sk: record.saga.entry, at: timestamp(record.lease_until) })
    }
    if (entity === 'pending-saga')
      state('', (item as unknown as SagaEntry).record.pk, { kind: 'entry', sk: item.sk })
  },
  judge(facts, _, __, broken) {
    const record = facts.find(({ kind }) => kind === 'record')
    if (record && !facts.some(({ kind, sk }) => kind === 'entry' && sk === record.sk))
      broken(forever, 'it is pending, and its saga has no entry by which the sweep finds it')
  },
}

/** What an item counts, and what is counted. */
interface CountFact {
  counted?: number
  /** One that is counted now. */
  one?: boolean
  at?: string
}

/** A tenant's count of operations in progress, and that of its legal holds, are their numbers. */
export const countPromise: SharedPromise<CountFact> = {
  facts(item, state, judging) {
    const { entity, tenant } = typedOwnerOf(item)
    if (entity === 'operation') {
      const { state: ofOperation, updated_at: at } = asOperation(item)
      const one = !isEnded(ofOperation)
      // A tenant has many operations that have ended. Only one that has just ended says something about the count.
      if (one || Date.parse(at) > judging.at - minuteMilliseconds)
        state(tenant, 'operation_count', { one, at })
    }
    if (entity === 'operation_count') state(tenant, entity, { counted: Number(item.in_progress) })
    if (entity === 'legal_hold')
      state(
        tenant,
        entity,
        'target' in item ? { one: true, ...setAt(item) } : { counted: Number(item.holds) },
      )
  },
  judge(facts, { about }, __, broken) {
    const count = facts.find(({ counted }) => counted !== undefined)?.counted
    const number = facts.filter(({ one }) => one).length
    // The count of operations expires a day after the latest one has started.
    if (count === undefined ? about === 'legal_hold' && number > 0 : count !== number)
      broken('counts are exact', `it counts ${count ?? 'nothing'}, and there are ${number}`)
  },
}

function setAt({ set_at }: Item): { at?: string } {
  return typeof set_at === 'string' ? { at: set_at } : {}
}

/** An operation counts each of its rows once. */
export const rowsPromise: ItemPromise = (item, _, broken) => {
  if (typedOwnerOf(item).entity !== 'operation') return
  const { state, chunks_done, chunks_total, rows_succeeded, rows_failed, result } = asOperation(item)
  if (chunks_done > chunks_total)
    broken('each row counts once', `${chunks_done} of ${chunks_total} chunks are done`)
  const { succeeded, failed, total } = result?.counts ?? { succeeded: 0, failed: 0, total: 0 }
  const isWhole = succeeded === rows_succeeded && failed === rows_failed && total === succeeded + failed
  if (state === 'succeeded' && !isWhole)
    broken(
      'each row counts once',
      `it reports ${succeeded} + ${failed} of ${total} rows, and has counted ${rows_succeeded} + ${rows_failed}`,
    )
}
