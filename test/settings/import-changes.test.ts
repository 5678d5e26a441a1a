import { expect, test } from '@jest/globals'
import { endAbandoned } from '#shared/operations/end-abandoned.ts'
import { timeOf } from '#shared/platform/base/clock.ts'
import type { SettingKey } from '#shared/settings/register.ts'
import { type ImportService, startImports } from '#test/imports/import-service.ts'
import { movableClock } from '#test/support/clocks.ts'
import { outcome } from '#test/support/outcome.ts'
import { localSettings, otherSettings, profile } from '#test/support/settings.ts'
import { serving } from '../formats/file-network.ts'

const file = 'email\na@example.com\nb@\nc@\nd@\n'
const max = otherSettings['imports.maxRows']
const hour = 3600

const begin = async (service: ImportService) =>
  (await service.upload('acme', `${file}${crypto.randomUUID()}@\n`)).json.operation_id as string
/** Runs an import of this many rows, and returns how it ended. */
async function endOf(service: ImportService, rows: number): Promise<unknown[]> {
  const lines = Array.from({ length: rows }, (_, n) => `${n}@example.com\n`)
  const id = (await service.upload('many', `email\n${lines.join('')}`)).json.operation_id as string
  await service.run('many', id)
  const { state, error } = (await service.read('many', id)).json
  return [state, error?.code, error?.details]
}

/** Settings; the steps that both deployments run; and their results: with the local settings, and with these others. */
type Row = [
  keys: SettingKey[],
  steps: (service: ImportService) => Promise<unknown>,
  local: unknown,
  other: unknown,
]
const rows: Row[] = [
  [
    ['imports.request'],
    async (service) => {
      const answer = await service.upload('acme', file)
      return [outcome(answer), answer.headers['Accept-Post']]
    },
    ['202', undefined],
    ['415 VALIDATION.content_type.unsupported', 'application/json'],
  ],
  [
    ['imports.maxBytes', 'limits.tooLarge'],
    async (service) => outcome(await service.upload('acme', `email\n${'x'.repeat(300)}\n`)),
    '202',
    '413 VALIDATION.body.invalid',
  ],
  [
    ['imports.maxRows'],
    async (service) => {
      const ends = [await endOf(service, max), await endOf(service, max + 1)]
      return [...ends, (await service.customers('many')).length]
    },
    [['succeeded', undefined, undefined], ['succeeded', undefined, undefined], max + 1],
    [['succeeded', undefined, undefined], ['failed', 'VALIDATION.csv.too_many_rows', { max }], max],
  ],
  [
    ['imports.writeUnitsPerSecond'],
    // The units of one second of all imports.
    async (service) => {
      const start = 1_800_000_000_000
      const clock = movableClock(start)
      const id = await begin(service)
      const other = (await service.upload('other', 'email\nb@example.com\n')).json.operation_id
      Object.assign(service.steps, { clock })
      await service.run('acme', id)
      await service.run('other', other)
      return Math.floor(clock.now() / 1000) - start / 1000
    },
    0,
    2,
  ],
  [
    ['imports.timeoutSeconds'],
    async (service) => {
      const id = await begin(service)
      const running = { start: async () => {}, stateOf: async () => 'running' as const }
      const age = otherSettings['imports.timeoutSeconds'] + 16 * 60
      const clock = movableClock(timeOf(id) + age * 1000)
      await endAbandoned(running, { ...service, settings: service.steps.settings, clock })
      return (await service.read('acme', id)).json.error?.code
    },
    undefined,
    'DEPENDENCY.timeout',
  ],
  [
    ['imports.result'],
    async (service) => {
      const id = await begin(service)
      await service.run('acme', id)
      const { counts, rejects, rejects_url: url } = (await service.read('acme', id)).json.result
      return [counts.failed, rejects.length, new URL(url).searchParams.get('seconds')]
    },
    [4, 4, '300'],
    [4, 2, '60'],
  ],
  [
    ['imports.fetch'],
    // The minimum speed of a file’s host.
    async (service) => {
      const as = { tenant: 'slow-host', role: 'Editor' }
      const body = { file_url: 'https://files.example/customers.csv' }
      const { json } = await service.call({ method: 'POST', path: '/imports', as, body })
      const slow = { file: Buffer.from(file), afterMilliseconds: 1500 }
      await service.run('slow-host', json.operation_id, { network: serving([slow]) })
      return (await service.read('slow-host', json.operation_id)).json.state
    },
    'succeeded',
    'failed',
  ],
  [
    ['imports.inProgressPerTenant'],
    async (service) => {
      for (let n = 0; n < 2; n += 1) await service.upload('busy', `email\n${n}@example.com\n`)
      return outcome(await service.upload('busy', 'email\nlast@example.com\n'))
    },
    '202',
    '429 RATE_LIMIT.exceeded',
  ],
  [
    ['operations.cancel'],
    async (service) => {
      const call = async (verb: string) => {
        const path = `/operations/${await begin(service)}:${verb}`
        const as = { tenant: 'acme', role: 'Editor' }
        return outcome(await service.call({ method: 'POST', path, as, body: {} }))
      }
      return [await call('cancel'), await call('stop')]
    },
    ['200', '404 NOT_FOUND.route'],
    ['404 NOT_FOUND.route', '202'],
  ],
  [
    ['operations.retryAfter', 'operations.retentionDays'],
    async (service) => {
      const id = await begin(service)
      const { headers } = await service.read('acme', id)
      const { expires_at } = await service.operation('acme', id)
      const days = (Number(expires_at) - Math.floor(timeOf(id) / 1000)) / (24 * hour)
      await service.run('acme', id)
      return [headers['Retry-After'], days, (await service.read('acme', id)).headers['Retry-After']]
    },
    ['1', localSettings['operations.retentionDays'], undefined],
    ['5', 7, undefined],
  ],
]

test.each(rows)('%j', async (keys, steps, ...expected) => {
  const changes = Object.fromEntries(keys.map((key) => [key, otherSettings[key]]))
  const others = profile('shared/settings/profiles/local.json', changes)
  const results = [await startImports(), await startImports({ settings: others })].map(steps)
  expect(await Promise.all(results)).toEqual(expected)
})
