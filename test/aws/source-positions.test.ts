import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Bundle, bundle } from '#bin/build/bundle.ts'
import { localSettings } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'

const functions = join(import.meta.dirname, '../../functions')
const entries = {
  handle: join(functions, 'webhooks/handle-event/handler.ts'),
  receive: join(functions, 'webhooks/receive-event/handler.ts'),
}
let scratch: string
let bundles: Record<string, Bundle>

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'source-positions-'))
  bundles = await bundle({ entries, outdir: scratch, settings: JSON.stringify(localSettings) })
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

/** Lets the bundled function handle an event that nobody stored. @returns its lines of the log */
async function logged(): Promise<Record<string, unknown>[]> {
  const event = {
    Records: [{ messageId: 'm-1', body: 'unknown', attributes: { ApproximateReceiveCount: '2' } }],
  }
  const file = pathToFileURL(join(bundles.handle?.directory ?? '', 'index.mjs')).href
  const script = `const { handler } = await import(${JSON.stringify(file)})
    await handler(${JSON.stringify(event)}, { getRemainingTimeInMillis: () => 60_000 })
    process.exit()`
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    AWS_ENDPOINT_URL_DYNAMODB: process.env.DYNAMODB_ENDPOINT,
    TABLE_NAME: await createTable(),
    WEBHOOKS_QUEUE_URL: 'http://127.0.0.1:1/webhooks',
  }
  const run = promisify(execFile)
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script], { env })
  return `${stdout}${stderr}`.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
}

describe('the log of a bundled function that no caller waits for', () => {
  let line: Record<string, unknown> | undefined
  beforeAll(async () => {
    line = (await logged()).find(({ code }) => code === 'EVENT_NOT_HANDLED')
  })

  test('names the message of an error', () => {
    expect(line?.fault).toMatchObject({ message: 'an event was queued that is not in the inbox' })
  })

  test('names the line of the source at which it was thrown', async () => {
    const source = await readFile(join(functions, '../shared/webhooks/handle-event.ts'), 'utf8')
    const lines = source.split('\n')
    const at = lines.findIndex((text) => text.includes('an event was queued that is not in the inbox')) + 1
    const frame = new RegExp(`^at shared/webhooks/handle-event\\.ts:${at}:\\d+$`)
    expect(line).toMatchObject({ fault: { at: expect.arrayContaining([expect.stringMatching(frame)]) } })
  })

  test('names the message of the queue, and the attempt', () => {
    expect(line).toMatchObject({ message_id: 'm-1', attempt: 2 })
  })
})

test('a function behind the gateway is deployed without a source map, which would slow its start', () => {
  expect(existsSync(join(bundles.receive?.directory ?? '', 'index.mjs.map'))).toBe(false)
})

test('no position in a source map holds a path of the machine that built it', async () => {
  const map = await readFile(join(bundles.handle?.directory ?? '', 'index.mjs.map'), 'utf8')
  expect(map).not.toContain(join(functions, '..'))
})
