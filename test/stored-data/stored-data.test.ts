import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { version } from '#bin/describe/version.ts'
import { responseOf, type StoredData, secretsOf, serviceOn, shapeOf } from './stored-data.ts'
import { writeRelease } from './write-release.ts'

const files = globSync(join(import.meta.dirname, '*.json'))
const releases = files.map((file): StoredData => JSON.parse(readFileSync(file, 'utf8')))
/** Optional attributes differ between them. */
const seeds = [20, 21, 22]

test('this version has stored data', () => {
  expect(releases.map((release) => release.version)).toContain(version)
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

  test('has no attribute that this version does not write: a rollback reads what it writes', async () => {
    const written = []
    for (const seed of seeds) written.push(...(await writeRelease(seed)).items)
    const shape = new Set(shapeOf(written))
    expect(shapeOf(release.items).filter((attribute) => !shape.has(attribute))).toEqual([])
  })
})
