import type { Reach } from '#bin/commands/ask/reach.ts'
import type { LogLine } from '#bin/commands/ask/search-logs.ts'
import type { Inspection } from '#bin/commands/dead-letters/inspect-dead-letters.ts'
import { codeHash } from '#shared/codes/code-audit.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { openTable } from '#test/support/tables.ts'
import { testKeys } from '#test/support/test-keys.ts'
import { mayRead } from '#test/tooling/console-policy.ts'

/** What the tests stand in for. */
interface StandIns {
  /** The lines of all logs. */
  lines?: readonly LogLine[]
  /** The dead letters of queues; others have none. */
  letters?: Readonly<Record<string, Pick<Inspection, 'letters' | 'attempts'>>>
  stack?: string
}

/** Returns what questions read of a table of the tests. */
export function reachTo(tableName: string, { lines = [], letters = {}, stack }: StandIns = {}): Reach {
  return {
    stack,
    openTable: (units) => asConsole(openTable(tableName, { units })),
    async lettersOf(name, table) {
      const none = { receive: async () => [], remove: async () => {}, putBack: async () => {} }
      return { name, table, ...(letters[name] ?? { letters: none }) }
    },
    async searchLogs({ from, to, anyOf, limit }) {
      const found = lines.filter(
        ({ at, fields }) =>
          from <= at && at < to && Object.values(fields).some((one) => anyOf.includes(String(one))),
      )
      return { lines: found.slice(0, limit), calls: 1, complete: found.length <= limit }
    },
    hashOfCode: async (tenant, text) => codeHash(await testKeys.derivedKey('codes'), tenant, text),
  }
}

/** Returns a table that denies what the policy of the console does not permit: it is enough for all questions. */
function asConsole(table: Table): Table {
  const permit = (action: string, partitions: readonly string[]) => {
    if (!mayRead(action, partitions)) throw new Error(`AccessDenied: ${action} ${partitions.join(' ')}`)
  }
  const { get, getMany, readRange } = table
  return Object.assign(Object.create(table) as Table, {
    async get(key) {
      permit('GetItem', [key.pk])
      return get.call(table, key)
    },
    async getMany(keys) {
      const partitions = keys.map(({ pk }) => pk)
      permit('BatchGetItem', partitions)
      return getMany.call(table, keys)
    },
    async readRange(range) {
      permit('Query', [range.partition])
      return readRange.call(table, range)
    },
  } satisfies Partial<Table>)
}
