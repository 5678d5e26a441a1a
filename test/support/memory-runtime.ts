import { startBudget } from '#shared/platform/base/clock.ts'
import type { AlertCode, AlertSubject, LogReport } from '#shared/platform/base/log.ts'
import type { Runtime } from '#shared/platform/request/context.ts'
import type { Table } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { MemoryStore } from '#test/simulation/memory-store.ts'
import { memoryTable, type TableCall } from '#test/simulation/memory-table.ts'
import { type MovableClock, movableClock } from './clocks.ts'
import { localSettings } from './settings.ts'
import { testKeys } from './test-keys.ts'

export interface MemoryRuntime extends Runtime {
  clock: MovableClock
  store: MemoryStore
  table: Table
  reports: LogReport[]
  alerts: [AlertCode, AlertSubject][]
  /** Called before each call of the table takes effect; it may throw the error of a lost request. */
  beforeCall: (call: TableCall<unknown>) => unknown
  /** Called after the effect; it may throw the error of a lost response. */
  afterCall: (call: TableCall<unknown>) => unknown
}

/** Returns the dependencies of a unit of work on a table in memory: no files, no tokens, no other service. */
export function memoryRuntime(changes: Partial<Settings> = {}): MemoryRuntime {
  const clock = movableClock(Date.parse('2026-03-01T12:00:00Z'))
  const store = new MemoryStore({ now: () => clock.now() })
  const reports: LogReport[] = []
  const alerts: MemoryRuntime['alerts'] = []
  const none = () => {
    throw new Error('not part of this test')
  }
  const openTable: Runtime['openTable'] = (budget, criticality = 'critical', units) =>
    memoryTable(store, { clock, budget, criticality, ...(units && { units }) }, async (call) => {
      await runtime.beforeCall(call)
      const result = call.effect()
      await runtime.afterCall(call)
      return result
    })
  const runtime: MemoryRuntime = {
    settings: { ...localSettings, ...changes },
    clock,
    store,
    table: openTable(startBudget(clock, Number.POSITIVE_INFINITY)),
    reports,
    alerts,
    log: {
      request: none,
      report: (report) => reports.push(report),
      relay: none,
      pending: none,
      job: none,
      event: none,
      alert: (code, _, about) => alerts.push([code, about]),
      reconciled: none,
      probed: none,
    },
    tokens: { verify: none },
    openTable,
    openFiles: none,
    secret: none,
    isBlocked: async () => false,
    remember: (_, load) => load(),
    ...testKeys,
    environment: (name) => (name === 'DEPLOYMENT' ? 'commerce-test' : undefined),
    beforeCall: () => {},
    afterCall: () => {},
  }
  return runtime
}

/** The error of a call whose connection breaks. */
export function connectionError(): Error {
  return Object.assign(new Error('reset'), { code: 'ECONNRESET' })
}
