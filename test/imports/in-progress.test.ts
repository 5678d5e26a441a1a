import { describe, expect, test } from '@jest/globals'
import { endAbandoned } from '#shared/operations/end-abandoned.ts'
import { timeOf } from '#shared/platform/base/clock.ts'
import type { Workflow } from '#shared/platform/jobs/workflow.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { longTimeoutSettings } from '#test/support/settings.ts'
import { editor, type RunOptions, startImports } from './import-service.ts'

type Around = NonNullable<RunOptions['around']>

const max = 3
const service = await startImports({
  settings: { ...longTimeoutSettings, 'imports.inProgressPerTenant': max },
})

let files = 0
/** Returns a different file each time. */
const upload = (tenant: string, headers = {}) =>
  service.upload(tenant, `email\nuser${files++}@example.com\n`, headers)
const begin = async (tenant: string) => (await upload(tenant)).json.operation_id as string
const byUrl = (tenant: string, headers = {}) =>
  service.call({
    method: 'POST',
    path: '/imports',
    as: { ...editor, tenant },
    headers,
    body: { file_url: `https://files.example/${files++}.csv` },
  })
const inProgress = async (tenant: string) =>
  Number((await service.table.get(keyOf(tenant, 'operation_count', 'imports')))?.in_progress)
async function fill(tenant: string): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < max) ids.push(await begin(tenant))
  return ids
}

describe('an import above the limit', () => {
  test('is rejected with 429, Retry-After and the limit, and stores no file', async () => {
    await fill('full')
    const before = service.files.size
    const { status, json, headers } = await upload('full')
    expect([status, json.error.code, headers['Retry-After']]).toEqual([429, 'RATE_LIMIT.exceeded', '1'])
    expect(json.error.details).toEqual({ reason: 'operations_in_progress', max })
    expect(service.files.size).toBe(before)
  })

  test.each([
    ['uploads', upload],
    ['addresses', byUrl],
  ])('never starts, however many %s arrive concurrently', async (what, post) => {
    const tenant = `crowd-${what}`
    const answers = await Promise.all(Array.from({ length: 12 }, () => post(tenant)))
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array(max).fill(202),
      ...Array(9).fill(429),
    ])
  })

  test('leaves a counter that expires a day after the latest operation started', async () => {
    const [id = ''] = (await fill('stuck')).slice(-1)
    const count = await service.table.get(keyOf('stuck', 'operation_count', 'imports'))
    expect(count?.expires_at).toBe(Math.floor(timeOf(id) / 1000) + 24 * 3600)
  })

  test('of another tenant has another counter', async () => {
    await fill('one')
    expect((await upload('other')).status).toBe(202)
  })
})

describe('a replay is returned although the tenant has reached the limit', () => {
  test('of a request by file_url', async () => {
    const headers = { 'Idempotency-Key': 'by-url' }
    const body = { file_url: 'https://files.example/same.csv' }
    const as = { ...editor, tenant: 'replay-url' }
    const send = () => service.call({ method: 'POST', path: '/imports', as, headers, body })
    const first = await send()
    await begin('replay-url')
    await begin('replay-url')
    expect(await send()).toMatchObject({ status: 202, body: first.body })
  })

  test('of an upload whose import was canceled', async () => {
    const headers = { 'Idempotency-Key': 'upload' }
    const send = () => service.upload('replay-upload', 'email\nsame@example.com\n', headers)
    const first = await send()
    await service.cancel('replay-upload', first.json.operation_id)
    await fill('replay-upload')
    expect(await send()).toMatchObject({ status: 202, body: first.body })
  })
})

describe('an operation is no longer counted', () => {
  const gone: Workflow = { start: async () => {}, stateOf: async () => 'ended' }
  const later = () => ({
    ...service,
    clock: { ...service.steps.clock, now: () => Date.now() + 90_000 },
  })

  const rejecting: Around = (step, _input, work) =>
    step === 'prepare' ? Promise.reject(new Error('broken')) : work()

  test.each<[string, (tenant: string, id: string) => Promise<unknown>]>([
    ['succeeds', (tenant, id) => service.run(tenant, id)],
    ['has a workflow that gives up', (tenant, id) => service.run(tenant, id, { around: rejecting })],
    ['is canceled before it runs', service.cancel],
    [
      'is canceled while it runs',
      (tenant, id) =>
        service.run(tenant, id, {
          around: async (step, _input, work) => {
            if (step === 'rows') await service.cancel(tenant, id)
            return work()
          },
        }),
    ],
    ['is ended by the sweeper', () => endAbandoned(gone, later())],
  ])('after it %s', async (name, end) => {
    const tenant = name.replaceAll(' ', '-')
    await end(tenant, await begin(tenant))
    expect(await inProgress(tenant)).toBe(0)
  })

  test('which makes no count if it has expired meanwhile', async () => {
    const id = await begin('expired')
    await service.table.transact([
      { remove: keyOf('expired', 'operation_count', 'imports'), condition: 'none' },
    ])
    await service.cancel('expired', id)
    expect(await inProgress('expired')).toBe(Number.NaN)
  })

  test('but does not take a count below zero', async () => {
    const id = await begin('low')
    const update = keyOf('low', 'operation_count', 'imports')
    await service.table.update({ update, set: { in_progress: 0 }, condition: 'none' })
    await service.run('low', id)
    expect(await inProgress('low')).toBe(0)
  })

  test('after it fails', async () => {
    await service.run('fails', (await service.upload('fails', 'name\nAnn\n')).json.operation_id)
    expect(await inProgress('fails')).toBe(0)
  })

  test('once, although the sweeper, a cancellation and the workflow end it concurrently', async () => {
    const [id = ''] = await fill('once')
    await Promise.all([
      service.cancel('once', id),
      service.run('once', id),
      service.cancel('once', id),
      service.run('once', id),
    ])
    expect(await inProgress('once')).toBe(max - 1)
  })

  test('so that the next one can start', async () => {
    const [id = ''] = await fill('next')
    await service.cancel('next', id)
    expect((await upload('next')).status).toBe(202)
  })
})
