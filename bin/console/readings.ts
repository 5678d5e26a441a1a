import { largestId, smallestId } from '#shared/platform/base/clock.ts'
import { noUnits } from '#shared/platform/base/units.ts'
import { readAll } from '#shared/platform/listing/merge.ts'
import { partitionsOf } from '#shared/platform/table/keys.ts'
import { find } from '../commands/ask/find.ts'
import {
  readAudit,
  readDeadLetters,
  readDeliveries,
  readLedger,
  readOperations,
  readRefunds,
} from '../commands/ask/lists.ts'
import type { LineQuery, ReadLines } from '../commands/ask/query.ts'
import type { Reach } from '../commands/ask/reach.ts'
import type { ConsoleEntry } from './activity.ts'
import type { Question, Reading } from './source.ts'
import {
  auditEntry,
  deliveryEntry,
  entriesOf,
  ledgerEntry,
  operationEntry,
  refundEntry,
} from './table-entries.ts'

/** How many entries a view reads at once. */
export const readAtOnce = 500

/** The kinds of entries that are read of a table, and whether a tenant must be named. */
export const readableOfTable = {
  audit: 'with a tenant',
  ledger: 'with a tenant',
  subscriber: 'with a tenant',
  refund: 'always',
  delivery: 'always',
  operation: 'always',
} as const
export type KindOfTable = keyof typeof readableOfTable

/** Reads entries of the table, through the same functions as the commands. */
export function readTable(reach: Reach, question: Question & { kind: KindOfTable }): Promise<Reading> {
  switch (question.kind) {
    case 'audit':
      return read(readAudit, auditEntry, reach, question)
    case 'ledger':
      return read(readLedger, ledgerEntry, reach, question)
    case 'refund':
      return read(readRefunds, refundEntry, reach, question)
    case 'delivery':
      return read(readDeliveries, deliveryEntry, reach, question)
    case 'operation':
      return read(readOperations, operationEntry, reach, question)
    case 'subscriber':
      return readSubscribers(reach, question)
  }
}

async function read<Line>(
  list: ReadLines<Line>,
  asEntry: (line: Line) => ConsoleEntry,
  reach: Reach,
  question: Question,
): Promise<Reading> {
  const { lines, units, complete, cursor } = await list(reach, queryOf(question))
  return { entries: lines.map(asEntry), units: units.read, calls: 0, complete, cursor }
}

function queryOf(question: Question): LineQuery {
  const { tenant, from, to, status, actor, action, target, correlation, cursor } = question
  const results = ['allow', 'deny'] as const
  const result = results.find((one) => one === status)
  return {
    ...{ tenant, from, to, actor, action, target, correlationId: correlation, cursor, limit: readAtOnce },
    ...(result ? { result } : { status }),
  }
}

/** A tenant has few subscribers. */
async function readSubscribers(reach: Reach, { tenant = '' }: Question): Promise<Reading> {
  const units = noUnits()
  const range = { low: smallestId, high: largestId, descending: true, atOnce: readAtOnce }
  const entries: ConsoleEntry[] = []
  for await (const items of readAll(reach.openTable(units), partitionsOf(tenant, 'subscriber'), range))
    entries.push(...items.flatMap((item) => entriesOf(item)))
  return { entries, units: units.read, calls: 0, complete: true }
}

/** Reads the dead letters of all queues. They stay there. */
export async function readLetters(reach: Reach): Promise<Reading & { byQueue: Map<string, object[]> }> {
  const { lines, units, complete } = await readDeadLetters(reach, { limit: readAtOnce })
  const letters = lines.map(({ queue, message_id: id, at, ...rest }) => ({
    ...rest,
    queue,
    id,
    at: Date.parse(at),
  }))
  const byQueue = Map.groupBy(letters, ({ queue }) => queue)
  return { entries: [], byQueue, units: units.read, calls: 0, complete }
}

/** Finds everything about one thing, oldest first. */
export async function readTimeline(
  reach: Reach,
  what: string,
  { from, to, tenant }: Pick<Question, 'from' | 'to' | 'tenant'>,
): Promise<Reading> {
  const { entries, read } = await find(reach, what, { from, to, tenant })
  return {
    // Requests share a correlation id. The page keeps one entry of each id.
    entries: entries.map(({ at, kind, id, command, ...rest }) => ({
      ...{
        ...rest,
        kind: 'found',
        id: `${kind} ${id}@${at} ${rest.summary}`,
        what: kind,
        found_id: id,
        at: Date.parse(at),
      },
      ...(command !== undefined && { commands: [command] }),
    })),
    complete: read.complete,
    logs_failed: read.logs_failed,
    units: read.units.read,
    calls: read.calls,
  }
}
