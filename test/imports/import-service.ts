import { endImport } from '#shared/imports/end-import.ts'
import type { ImportStep } from '#shared/imports/import.ts'
import { importRows } from '#shared/imports/import-rows.ts'
import { type Download, prepareImport } from '#shared/imports/prepare-import.ts'
import type { Operation } from '#shared/operations/operation.ts'
import { asOperation, type OperationRef } from '#shared/operations/operation-store.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { WorkContext } from '#shared/platform/request/context.ts'
import { type Item, keyOf } from '#shared/platform/table/keys.ts'
import { movableSystemClock } from '#test/support/clocks.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { type Answer, type Service, type ServiceOptions, startService } from '#test/support/service.ts'
import { importStates, stepOf } from './import-states.ts'
import { type MachineWorld, type Run, runMachine } from './run-machine.ts'

export const editor = { role: 'Editor', sub: 'u1' }

type Steps = Pick<WorkContext, 'table' | 'tableWithin' | 'clock' | 'budget' | 'settings' | 'files'>

export interface ImportService extends Service {
  /** The dependencies of the steps; a test can change them. */
  steps: Steps
  upload(tenant: string, file: string | Uint8Array, headers?: Record<string, string>): Promise<Answer>
  /** Starts the workflow like the queue. */
  run(tenant: string, operationId: string, options?: RunOptions): Promise<Run>
  read(tenant: string, operationId: string): Promise<Answer>
  cancel(tenant: string, operationId: string): Promise<Answer>
  operation(tenant: string, operationId: string): Promise<Operation>
  /** Returns the customers of a tenant, sorted by e-mail. */
  customers(tenant: string): Promise<Item[]>
}

export interface RunOptions extends Partial<Download> {
  /** Wraps each call of a step. */
  around?: (step: ImportStep, input: unknown, work: () => Promise<unknown>) => Promise<unknown>
  waited?: () => Promise<void>
}

/** Starts the service with the import workflow, run by its deployed definition. */
export async function startImports(options: ServiceOptions = {}): Promise<ImportService> {
  const service = await startService(options)
  const { settings, runtime, table } = service
  const files = runtime.openFiles(undefined as never)
  const steps: Steps = {
    settings,
    table,
    tableWithin: () => table,
    files: () => files,
    // Nobody waits for a retry or for the rate of writes: sleeping puts the time of the steps forward.
    clock: options.clock ?? movableSystemClock(),
    budget: startBudget(systemClock, 600_000),
  }
  const as = (name: string): Steps => ({
    ...steps,
    table: declaredTable(name, steps.table),
    tableWithin: (milliseconds) => declaredTable(name, steps.tableWithin(milliseconds)),
  })
  const definition = importStates()

  function worldOf({
    around = (_step, _input, work) => work(),
    waited,
    ...download
  }: RunOptions): MachineWorld {
    const work: Record<ImportStep, (input: never) => Promise<unknown>> = {
      prepare: (input) => prepareImport(input, as('imports.prepare'), download),
      rows: (input) => importRows(input, as('imports.rows')),
      end: (input) => endImport(input, as('imports.end')),
    }
    return {
      invoke: (resource, input) => {
        const step = stepOf(resource)
        // Input and output of a function are JSON.
        const sent = JSON.parse(JSON.stringify(input))
        return around(step, sent, () => work[step](sent as never))
      },
      ...(waited && { waited }),
    }
  }

  return {
    ...service,
    steps,
    upload: (tenant, body, headers = {}) =>
      service.call({
        method: 'POST',
        path: '/imports',
        as: { ...editor, tenant },
        headers: { 'Content-Type': 'text/csv', ...headers },
        body,
      }),
    run: (tenant, operation_id, runOptions = {}) =>
      runMachine(definition, { tenant, operation_id } satisfies OperationRef, worldOf(runOptions)),
    read: (tenant, id) => service.call({ path: `/operations/${id}`, as: { ...editor, tenant } }),
    cancel: (tenant, id) =>
      service.call({ method: 'POST', path: `/operations/${id}:cancel`, as: { ...editor, tenant }, body: {} }),
    async operation(tenant, id) {
      const item = await table.get(keyOf(tenant, 'operation', id))
      if (!item) throw new Error('no such operation')
      return asOperation(item)
    },
    async customers(tenant) {
      const found = await service.items(tenant, 'customer')
      return found.sort((a, b) => (String(a.email) < String(b.email) ? -1 : 1))
    },
  }
}
