import { beforeAll, describe, expect, test } from '@jest/globals'
import { endAbandoned } from '#shared/operations/end-abandoned.ts'
import { timeOf } from '#shared/platform/base/clock.ts'
import { type ImportService, startImports } from '#test/imports/import-service.ts'
import { outcome } from '#test/support/outcome.ts'
import { localSettings, otherSettings, profile } from '#test/support/settings.ts'
import { serving } from '../formats/file-network.ts'
import { manualClock } from '../listing/manual-clock.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */

const file = 'email\na@example.com\nb@\nc@\nd@\n'
const chosen = [
  'imports.fetch',
  'imports.maxBytes',
  'imports.result',
  'limits.tooLarge',
  'operations.cancel',
  'operations.retentionDays',
  'operations.retryAfter',
] as const
const others = Object.fromEntries(chosen.map((key) => [key, otherSettings[key]]))
let local: ImportService
/** Accepts only file_url. */
let other: ImportService
let taking: ImportService
/** Permits few operations in progress. */
let busy: ImportService
beforeAll(async () => {
  const file = 'shared/settings/profiles/local.json'
  local = await startImports()
  const request = { 'imports.request': otherSettings['imports.request'] }
  other = await startImports({ settings: profile(file, request) })
  taking = await startImports({ settings: profile(file, others) })
  const key = 'imports.inProgressPerTenant'
  busy = await startImports({ settings: profile(file, { [key]: otherSettings[key] }) })
})

const begin = async (service: ImportService) =>
  (await service.upload('acme', `${file}${crypto.randomUUID()}@\n`)).json.operation_id as string

describe('settings of imports', () => {
  test('imports.request: the accepted uploads', async () => {
    expect(outcome(await local.upload('acme', file))).toBe('202')
    const refused = await other.upload('acme', file)
    expect(outcome(refused)).toBe('415 VALIDATION.content_type.unsupported')
    expect(refused.headers['Accept-Post']).toBe('application/json')
  })

  test('imports.maxBytes and limits.tooLarge: the maximum size of a file, and the error of a larger one', async () => {
    const large = `email\n${'x'.repeat(300)}\n`
    expect(outcome(await local.upload('acme', large))).toBe('202')
    expect(outcome(await taking.upload('acme', large))).toBe('413 VALIDATION.body.invalid')
  })

  test('imports.maxRows: the number of rows of a file, and the error of a file with more', async () => {
    const { 'imports.maxRows': max } = otherSettings
    const settings = { ...localSettings, 'imports.maxRows': max }
    const few = await startImports({ settings })
    const endOf = async (service: ImportService, rows: number) => {
      const lines = Array.from({ length: rows }, (_, n) => `${n}@example.com\n`)
      const id = (await service.upload('many', `email\n${lines.join('')}`)).json.operation_id as string
      await service.run('many', id)
      const { state, error } = (await service.read('many', id)).json
      return [state, error?.code, error?.details]
    }
    expect(await endOf(few, max)).toEqual(['succeeded', undefined, undefined])
    expect(await endOf(few, max + 1)).toEqual(['failed', 'VALIDATION.csv.too_many_rows', { max }])
    expect(await few.customers('many')).toHaveLength(max)
    expect((await endOf(local, max + 1))[0]).toBe('succeeded')
  })

  test('imports.writeUnitsPerSecond: the units of one second of all imports', async () => {
    const start = 1_800_000_000_000
    const secondsOf = async (units: number) => {
      const settings = { ...localSettings, 'imports.writeUnitsPerSecond': units }
      const paced = await startImports({ settings })
      const id = await begin(paced)
      const other = (await paced.upload('other', 'email\nb@example.com\n')).json.operation_id
      const clock = manualClock(start)
      Object.assign(paced.steps, { clock })
      await paced.run('acme', id)
      await paced.run('other', other)
      return Math.floor(clock.now() / 1000) - Math.floor(start / 1000)
    }
    expect([
      await secondsOf(localSettings['imports.writeUnitsPerSecond']),
      await secondsOf(otherSettings['imports.writeUnitsPerSecond']),
    ]).toEqual([0, 2])
  })

  test('imports.timeoutSeconds: the age at which an import fails', async () => {
    const running = { start: async () => {}, stateOf: async () => 'running' as const }
    const codeAfter = async (seconds: number, service: ImportService) => {
      const id = await begin(service)
      const clock = manualClock(timeOf(id) + seconds * 1000)
      await endAbandoned(running, { ...service, settings: service.steps.settings, clock })
      return (await service.read('acme', id)).json.error?.code
    }
    const seconds = otherSettings['imports.timeoutSeconds'] + 16 * 60
    const settings = { ...localSettings, 'imports.timeoutSeconds': otherSettings['imports.timeoutSeconds'] }
    expect(await codeAfter(seconds, local)).toBeUndefined()
    expect(await codeAfter(seconds, await startImports({ settings }))).toBe('DEPENDENCY.timeout')
  })

  test('imports.result: the number of returned rejects, and how long all of them are available', async () => {
    for (const [service, shown, seconds] of [
      [local, 4, 300],
      [taking, 2, 60],
    ] as const) {
      const id = await begin(service)
      await service.run('acme', id)
      const { result } = (await service.read('acme', id)).json
      expect([result.counts.failed, result.rejects.length]).toEqual([4, shown])
      expect(result.rejects_url).toContain(`seconds=${seconds}`)
    }
  })

  test('imports.fetch: the minimum speed of a file’s host', async () => {
    const slow = { file: Buffer.from(file), afterMilliseconds: 1500 }
    const stateAt = async (service: ImportService) => {
      const as = { tenant: 'slow-host', role: 'Editor' }
      const body = { file_url: 'https://files.example/customers.csv' }
      const { json } = await service.call({ method: 'POST', path: '/imports', as, body })
      await service.run('slow-host', json.operation_id, { network: serving([slow]) })
      return (await service.read('slow-host', json.operation_id)).json.state
    }
    expect([await stateAt(local), await stateAt(taking)]).toEqual(['succeeded', 'failed'])
  })

  test('imports.inProgressPerTenant: the number of operations in progress for each tenant', async () => {
    const last = async (service: ImportService) => {
      for (let n = 0; n < 2; n += 1) await service.upload('busy', `email\n${n}@example.com\n`)
      return outcome(await service.upload('busy', 'email\nlast@example.com\n'))
    }
    expect([await last(local), await last(busy)]).toEqual(['202', '429 RATE_LIMIT.exceeded'])
  })

  test('operations.cancel: the call of a cancellation and its response', async () => {
    const call = async (service: ImportService, verb: string) => {
      const path = `/operations/${await begin(service)}:${verb}`
      return outcome(
        await service.call({ method: 'POST', path, as: { tenant: 'acme', role: 'Editor' }, body: {} }),
      )
    }
    expect([await call(local, 'cancel'), await call(taking, 'stop')]).toEqual(['200', '202'])
    expect(await call(taking, 'cancel')).toBe('404 NOT_FOUND.route')
  })

  test('operations.retryAfter and operations.retentionDays: the Retry-After and the lifetime of operations', async () => {
    for (const [service, seconds, days] of [
      [local, '1', localSettings['operations.retentionDays']],
      [taking, '5', 7],
    ] as const) {
      const id = await begin(service)
      expect((await service.read('acme', id)).headers['Retry-After']).toBe(seconds)
      const { expires_at } = await service.operation('acme', id)
      expect(expires_at).toBe(Math.floor(timeOf(id) / 1000) + days * 24 * 3600)
      await service.run('acme', id)
      expect((await service.read('acme', id)).headers).not.toHaveProperty('Retry-After')
    }
  })
})
