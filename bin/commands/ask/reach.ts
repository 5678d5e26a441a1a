import type { Units } from '#shared/platform/base/units.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { type DeployedStack, openTable } from '../deployment.ts'
import { type Inspection, inspectionOf } from '../inspect-dead-letters.ts'
import { type SearchLogs, searchLogs } from './search-logs.ts'

/** What questions read of a deployment: the local run, or a stack with the permissions of the caller. */
export interface Reach {
  /** The name that `--stack` takes; undefined for the local run. */
  stack: string | undefined
  /** Opens the table. @param units receives what the calls consume */
  openTable(units: Units): Table
  /** Opens the dead letters of a queue, or of a function that the table's stream feeds. */
  lettersOf(queue: string, table: Table): Promise<Inspection>
  /** Searches the log lines of all functions. */
  searchLogs: SearchLogs
  /** Returns the hash of a code's text in the audit of its tenant. */
  hashOfCode(tenant: string, text: string): Promise<string>
}

/** The name of the stack of the local run. */
const localStack = 'commerce-local'

/** @param name the name that `--stack` takes; undefined for the local run */
export function reachOf(name: string | undefined, stack: DeployedStack): Reach {
  return {
    stack: name,
    openTable: (units) => openTable(stack, units),
    lettersOf: (queue, table) => inspectionOf(stack, queue, table),
    searchLogs: searchLogs(name ?? localStack, stack.access),
    hashOfCode: async () => {
      throw new Error('codes have no hash yet')
    },
  }
}
