import { describe, expect, test } from '@jest/globals'
import { endAbandoned, importTimeoutSeconds } from '#shared/operations/end-abandoned.ts'
import { timeOf } from '#shared/platform/base/clock.ts'
import type { Workflow } from '#shared/platform/jobs/workflow.ts'
import { type Item, keyOf } from '#shared/platform/table/keys.ts'
import { startImports } from '#test/imports/import-service.ts'
import { Stopped } from '#test/imports/run-machine.ts'

const service = await startImports()

const rows = 700
/** Returns a different file for each tenant. The e-mails of the second half are repetitions of the first half. */
const fileOf = (tenant: string) =>
  `email,name\n${Array.from({ length: rows }, (_, n) =>
    n % 100 === 3 ? `bad${n},` : `${tenant}${n % (rows / 2)}@example.com,row ${n + 1}`,
  ).join('\n')}\n`
const begin = async (tenant: string) =>
  (await service.upload(tenant, fileOf(tenant))).json.operation_id as string

/** A workflow that ended or never existed. */
const gone = (state: 'absent' | 'ended', started: string[] = []): Workflow => ({
  start: async (name) => void started.push(name),
  stateOf: async () => state,
})
const later = (milliseconds: number) => ({
  ...service,
  clock: { ...service.steps.clock, now: () => Date.now() + milliseconds },
})

describe('an import whose steps fail at random', () => {
  test('permanently ends as failed, with the counts of the executed rows', async () => {
    const id = await begin('doomed')
    let chunks = 0
    await service.run('doomed', id, {
      around: async (step, _input, work) => {
        if (step === 'rows' && chunks++ > 0) throw new Error('killed')
        return work()
      },
    })
    const { state, error, result } = (await service.read('doomed', id)).json
    expect([state, result, error.code, error.details.counts]).toEqual([
      'failed',
      undefined,
      'INTERNAL.unexpected',
      { total: 625, succeeded: 618, failed: 7 },
    ])
  })
})

describe('an import that runs', () => {
  /** Fails as Lambda does while a freeze has stopped the functions of steps. */
  const refused = () =>
    Object.assign(new Error('Rate Exceeded.'), { name: 'Lambda.TooManyRequestsException' })

  test('waits during a freeze of an hour, and goes on after it', async () => {
    const id = await begin('frozen')
    let refusals = 0
    await service.run('frozen', id, {
      around: async (step, _input, work) => {
        // Attempts are at most 30 seconds apart.
        if (step === 'rows' && refusals < 120) {
          refusals += 1
          throw refused()
        }
        return work()
      },
    })
    const { state, result } = (await service.read('frozen', id)).json
    expect([refusals, state, result.counts.total]).toEqual([120, 'succeeded', rows])
  })

  test('during a restore fails, because the table has lost rows, and can be repeated', async () => {
    const id = await begin('restored')
    let before: Item | undefined
    await service.run('restored', id, {
      around: async (step, _input, work) => {
        if (step === 'rows')
          before ??= (await service.table.get(keyOf('restored', 'operation', id))) ?? undefined
        if (step === 'end' && before) {
          // The restored table is that of a time before the first chunk.
          await service.table.put({ item: before, condition: 'none' })
          for (const { pk, sk } of await service.items('restored', 'customer'))
            await service.table.transact([{ remove: { pk, sk }, condition: 'none' }])
        }
        return work()
      },
    })
    const { state, error } = (await service.read('restored', id)).json
    expect([state, error.code, error.retryable]).toEqual(['failed', 'TRANSIENT.error', true])
    const again = await begin('restored')
    await service.run('restored', again)
    expect((await service.read('restored', again)).json).toMatchObject({ state: 'succeeded' })
    expect(await service.customers('restored')).not.toEqual([])
  })

  test('and was created after the time of a restore ends without a trace', async () => {
    const id = await begin('forgotten')
    const run = await service.run('forgotten', id, {
      around: async (step, _input, work) => {
        if (step === 'rows')
          await service.table.transact([{ remove: keyOf('forgotten', 'operation', id), condition: 'none' }])
        return work()
      },
    })
    expect(run.status).toBe('succeeded')
    expect(await service.customers('forgotten')).toEqual([])
  })
})

describe('a cancellation', () => {
  test('before the workflow starts ends the operation, and the workflow does nothing', async () => {
    const id = await begin('early')
    const answer = await service.cancel('early', id)
    expect([answer.status, answer.json.state, answer.headers['Retry-After']]).toEqual([
      200,
      'canceled',
      undefined,
    ])
    await service.run('early', id)
    expect(await service.customers('early')).toEqual([])
    const actions = (await service.items('early', 'audit')).map(({ action, target }) => `${action} ${target}`)
    expect(actions).toEqual([`import operation/${id}`, `cancel operation/${id}`])
  })
})

describe('an operation without a workflow', () => {
  test('because its message was lost is started', async () => {
    const id = await begin('lost')
    const started: string[] = []
    await endAbandoned(gone('absent', started), later(30_000))
    expect(started).not.toContain(id)
    await endAbandoned(gone('absent', started), later(90_000))
    expect(started).toContain(id)
    expect((await service.read('lost', id)).json.state).toBe('pending')
  })

  test('ends as canceled if that was requested, and always at its deadline', async () => {
    const canceled = await begin('asked')
    const run = service.run('asked', canceled, {
      around: async (step, _input, work) => {
        if (step === 'rows') throw new Stopped('stopped')
        return work()
      },
    })
    await expect(run).rejects.toThrow(Stopped)
    await service.cancel('asked', canceled)
    await endAbandoned(gone('ended'), later(90_000))
    expect((await service.read('asked', canceled)).json.state).toBe('canceled')
    const late = await begin('late')
    const running: Workflow = { start: async () => {}, stateOf: async () => 'running' }
    const { oldest } = await endAbandoned(running, later(importTimeoutSeconds * 1000))
    expect(oldest).toBeLessThanOrEqual(timeOf(late))
    expect((await service.read('late', late)).json.state).toBe('pending')
    await endAbandoned(running, later((importTimeoutSeconds + 15 * 60) * 1000 + 60_000))
    expect((await service.read('late', late)).json.error.code).toBe('DEPENDENCY.timeout')
  })
})

test('of two imports the rows of the later one win, in whatever order they are written', async () => {
  const first = (await service.upload('order', 'email,name\na@example.com,first\n')).json.operation_id
  const second = (await service.upload('order', 'email,name\na@example.com,second\n')).json.operation_id
  await service.run('order', second)
  await service.run('order', first)
  expect(await service.customers('order')).toMatchObject([{ name: 'second' }])
})
