import { afterEach, describe, expect, test } from '@jest/globals'
import { fileLimits } from '#shared/imports/split-file.ts'
import { endAbandoned } from '#shared/operations/end-abandoned.ts'
import { moveOperation } from '#shared/operations/operation-store.ts'
import { serving } from '#test/formats/file-network.ts'
import { editor, startImports } from '#test/imports/import-service.ts'
import { Stopped } from '#test/imports/run-machine.ts'
import { movableClock } from '#test/support/clocks.ts'
import { someOf } from '#test/support/runs.ts'
import { localSettings } from '#test/support/settings.ts'
import { FaultPlans } from './faults.ts'
import { faultyTransit } from './memory-faults.ts'

const clock = movableClock()
const faults = new FaultPlans()
const service = await startImports({ clock, transit: faultyTransit(faults, clock) })
afterEach(() => faults.reset())

/** One row more than a chunk holds. */
const rows = fileLimits(localSettings).chunk.rows + 1
const file = `email\n${Array.from({ length: rows }, (_, n) => `user${n}@example.com`).join('\n')}\n`
let tenants = 0
const newTenant = () => `same-file-${tenants++}`

const begin = async (tenant: string) => (await service.upload(tenant, file)).json.operation_id as string
const start = async (tenant: string, id: string) =>
  service.table.transact([moveOperation({ id, tenant_id: tenant }, 'start', clock.now())])

/** Runs an import until its workflow is stopped before the nth call of a step. */
async function stopBefore(tenant: string, id: string, stopped: string, nth = 0) {
  let calls = 0
  // One call after another, so what is done before is the same in each run.
  let before: Promise<unknown> = Promise.resolve()
  const run = service.run(tenant, id, {
    around: (step, _input, work) => {
      const call = before.then(() => {
        if (step === stopped && calls++ >= nth) throw new Stopped('stopped')
        return work()
      })
      before = call.catch(() => {})
      return call
    },
  })
  await expect(run).rejects.toThrow(Stopped)
}

type Step = (tenant: string, id: string) => Promise<unknown>
const stopping =
  (step: string, nth = 0): Step =>
  (tenant, id) =>
    stopBefore(tenant, id, step, nth)
const running: [string, Step][] = [
  ['that is not split yet', start],
  ['without any rows', stopping('rows')],
  ['with most of the rows', stopping('rows', 1)],
  ['with all rows', stopping('end')],
]
const fail: Step = (tenant, id) =>
  service.run(tenant, id, {
    around: (step, _input, work) => (step === 'rows' ? Promise.reject(new Error('killed')) : work()),
  })
/** The first import of a file, whether another upload starts a new import, and its state once it has ended. */
const firstImports: [string, Step[], 'same' | 'new', string][] = [
  ['a pending import', [], 'same', 'succeeded'],
  ...running.map(([name, step]): [string, Step[], 'same', string] => [
    `a running import ${name}`,
    [step],
    'same',
    'succeeded',
  ]),
  ['a pending import that is canceled', [service.cancel], 'new', 'canceled'],
  ...running.map(([name, step], n): [string, Step[], 'new', string] => [
    `a running import ${name} that is to be canceled`,
    [step, service.cancel],
    'new',
    n === 3 ? 'succeeded' : 'canceled',
  ]),
  ['a canceled import', [stopping('rows', 1), service.cancel, service.run], 'new', 'canceled'],
  ['a failed import', [fail], 'new', 'failed'],
  ['an import that has succeeded', [service.run], 'same', 'succeeded'],
  [
    'an import that has succeeded before its cancellation',
    [stopping('end'), service.cancel, service.run],
    'same',
    'succeeded',
  ],
  ['an expired import', [service.run, async () => clock.advance(31 * 24 * 3_600_000)], 'new', 'succeeded'],
]

async function firstImport(steps: readonly Step[]): Promise<[tenant: string, id: string]> {
  const tenant = newTenant()
  const id = await begin(tenant)
  for (const step of steps) await step(tenant, id)
  return [tenant, id]
}

const importsOf = async (tenant: string) =>
  new Set((await service.customers(tenant)).map(({ version }) => String(version).split('#')[0]))

describe.each(firstImports)('the same file as of %s', (name, steps, result, end) => {
  const nth = firstImports.findIndex(([other]) => other === name)
  test.each(someOf(['none', 'lose-request', 'lose-answer'] as const, nth))(
    `starts ${result === 'new' ? 'one new' : 'no'} import, also after a failure of the upload (%s)`,
    async (fault) => {
      const [tenant, first] = await firstImport(steps)
      if (fault !== 'none') {
        const when = ({ operation }: { operation: string }) => operation === 'TransactWriteItems'
        faults.inject({ when, times: Number.POSITIVE_INFINITY, fault })
        await service.upload(tenant, file)
        faults.reset()
      }
      const { json } = await service.upload(tenant, file)
      expect(json.operation_id === first ? 'same' : 'new').toBe(result)
      expect((await service.upload(tenant, file)).json.operation_id).toBe(json.operation_id)
      expect(await service.items(tenant, 'operation')).toHaveLength(result === 'new' ? 2 : 1)
    },
  )

  test.each([true, false])('leaves every import an end, also without its workflow (%s)', async (lost) => {
    const [tenant, first] = await firstImport(steps)
    const { json } = await service.upload(tenant, file)
    if (result === 'new') await service.run(tenant, json.operation_id)
    if (lost) {
      const workflow = { start: async () => {}, stateOf: async () => 'ended' as const }
      const later = { ...clock, now: () => clock.now() + 90_000 }
      await endAbandoned(workflow, { ...service, clock: later })
    } else await service.run(tenant, first)
    const again = (await service.operation(tenant, json.operation_id)).state
    const before = (await service.operation(tenant, first)).state
    // The sweeper ends what is left of an import without its workflow.
    const swept =
      steps.includes(service.run) || steps.includes(fail)
        ? end
        : steps.includes(service.cancel)
          ? 'canceled'
          : 'failed'
    expect(before).toBe(lost ? swept : end)
    if (lost && swept === 'failed' && !steps.includes(fail)) {
      const { error } = (await service.read(tenant, first)).json
      expect([error.code, error.retryable]).toEqual(['TRANSIENT.error', true])
    }
    if (result === 'new') expect(again).toBe('succeeded')
    if (result === 'new') expect(await importsOf(tenant)).toEqual(new Set([json.operation_id]))
  })

  test('by its URL is imported at once, after the first import, or not again', async () => {
    const [tenant, first] = await firstImport(steps)
    const ended = (await service.operation(tenant, first)).state === 'succeeded'
    const as = { ...editor, tenant }
    const body = { file_url: 'https://files.example/same.csv' }
    const { json } = await service.call({ method: 'POST', path: '/imports', as, body })
    let waits = 0
    await service.run(tenant, json.operation_id, {
      network: serving([Buffer.from(file)]),
      waited: async () => {
        waits += 1
        await service.run(tenant, first)
      },
    })
    expect(waits > 0).toBe(result === 'same' && !ended)
    expect((await service.operation(tenant, json.operation_id)).result?.counts.total).toBe(rows)
    const source = result === 'new' ? json.operation_id : first
    expect(await importsOf(tenant)).toEqual(new Set([source]))
  })
})
