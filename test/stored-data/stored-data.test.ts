import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { version } from '#bin/describe/version.ts'
import { importSteps } from '#shared/imports/import.ts'
import { lazy } from '#shared/platform/base/cached-load.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { responseOf, type StoredData, secretsOf, serviceOn, shapeOf } from './stored-data.ts'
import { effectsOf } from './stored-messages.ts'
import { writeRelease } from './write-release.ts'

const files = globSync(join(import.meta.dirname, '*.json'))
const releases = files.map((file): StoredData => JSON.parse(readFileSync(file, 'utf8')))
/** Optional attributes differ between them. */
const seeds = [20, 21, 22]
const written = lazy(async () => {
  const data: StoredData[] = []
  for (const seed of seeds) data.push(await writeRelease(seed))
  return data
})

test('this version has stored data', () => {
  expect(releases.map((release) => release.version)).toContain(version)
})

test('a release keeps what each queue and each step of an import receives', async () => {
  const receivers = new Set((await written()).flatMap(({ messages }) => messages.map((one) => one.receiver)))
  expect([...receivers].sort()).toEqual([...Object.keys(taskQueues), ...Object.keys(importSteps)].sort())
})

test.each(files)('%s is named by its version', (file) => {
  expect(basename(file, '.json')).toBe(JSON.parse(readFileSync(file, 'utf8')).version)
})

describe.each(releases)('the data that $version stored', (release) => {
  const service = serviceOn(release)
  const named = release.exchanges.map(({ request, response }, at) => ({
    name: `${at}: ${request.method} ${request.path}`,
    request,
    response,
  }))

  test.each(named.filter(({ response }) => response.replay))(
    'gives the same response to $name',
    async ({ request, response }) => {
      expect(await responseOf(await service, request)).toEqual(response)
    },
  )

  test.each(named.filter(({ response }) => !response.replay))(
    'is read as before, perhaps with more fields: $name',
    async ({ request, response }) => {
      const { status, body = '' } = await responseOf(await service, request)
      const { next_cursor: _, prev_cursor, links, error, ...read } = JSON.parse(response.body ?? '')
      const before = error ? { error: { code: error.code } } : read
      expect({ status, body: JSON.parse(body) }).toMatchObject({ status: response.status, body: before })
    },
  )

  // Another seed has other items.
  test.each(['"Cookie":', '"Idempotency-Key":"cart-', '?force=true', '"tenant":"blocked"'])(
    'is used by a request with %s',
    (part) => {
      expect(JSON.stringify(release.exchanges.map(({ request }) => request))).toContain(part)
    },
  )

  test.each(release.subscribers)(
    'has the secret of the subscriber $id',
    async ({ secret, ...subscriber }) => {
      expect(await secretsOf(await service, subscriber)).toEqual([secret])
    },
  )

  const messages = release.messages.map((message, at) => ({ ...message, name: `${at}: ${message.receiver}` }))
  const isJson = ({ body }: { body: string }) => body.startsWith('{')

  test.each(messages)('is changed by the message $name as before', async ({ effects, ...message }) => {
    expect(effects.filter((effect) => !effect.startsWith('next: '))).not.toEqual([])
    expect(await effectsOf(release, message)).toEqual(expect.arrayContaining(effects))
  })

  test.each(messages.filter(isJson))(
    'is changed likewise by the message $name with a field of a later release',
    async ({ effects, body, ...message }) => {
      const later = JSON.stringify({ ...JSON.parse(body), later: { any: 1 } })
      expect(await effectsOf(release, { ...message, body: later })).toEqual(expect.arrayContaining(effects))
    },
  )

  // Those that start the daily comparisons are about all accounts.
  const subject = /^\{.*"(tenant|detail|message_id)":/
  test.each(messages.filter(({ body }) => subject.test(body)))(
    'is not changed by the message $name if it does not say what it is about',
    async ({ body, effects: _, ...message }) => {
      const { tenant, detail, message_id, ...rest } = JSON.parse(body)
      await expect(effectsOf(release, { ...message, body: JSON.stringify(rest) })).rejects.toThrow()
    },
  )

  test('has no attribute that this version does not write: a rollback reads what it writes', async () => {
    const shape = new Set(shapeOf((await written()).flatMap(({ items }) => items)))
    expect(shapeOf(release.items).filter((attribute) => !shape.has(attribute))).toEqual([])
  })
})
