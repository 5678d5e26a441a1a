import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { APIGatewayProxyResult } from 'aws-lambda'
import { bundle } from '#bin/bundle.ts'
import { systemClock } from '#shared/platform/clock.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { type Call, type DynamodbProxy, type Fault, startDynamodbProxy } from './dynamodb-proxy.ts'

const path = '/codes:import'
const scope = 'codes:read codes:write'
const count = 30
const file = [
  'code,type,name,expiry_at',
  ...Array.from({ length: count }, (_, n) => `KILL-${n},percent-10,Ten off,2099-01-01T00:00:00Z`),
].join('\r\n')

let scratch: string
let code: string
let proxy: DynamodbProxy
let service: Service
let tenants = 0
const children = new Set<ChildProcess>()

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'import-kill-'))
  const entries = { import: join(import.meta.dirname, '../../functions/codes/import-codes/handler.ts') }
  const bundles = await bundle({ entries, outdir: scratch, settings: JSON.stringify(localSettings) })
  code = pathToFileURL(join(bundles.import?.directory ?? '', 'index.mjs')).href
  proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
  service = await startService()
})
afterEach(async () => {
  for (const child of children) await kill(child)
  proxy.reset()
})
afterAll(async () => {
  await proxy.stop()
  await rm(scratch, { recursive: true, force: true })
})

/** The function in a process of its own, ready for its first event. */
async function startFunction(): Promise<ChildProcess> {
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL: proxy.endpoint,
    TABLE_NAME: service.tableName,
  }
  const runner = join(import.meta.dirname, 'run-function.mjs')
  const child = fork(runner, [code], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  children.add(child)
  await once(child, 'message')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** The import as the gateway hands it to the function: a body of a binary media type is in base 64. */
async function eventOf(tenant: string) {
  const headers = {
    Authorization: `Bearer ${await tokenFor({ tenant, scope })}`,
    'Content-Type': 'text/csv',
    'Idempotency-Key': 'key',
  }
  return {
    resource: path,
    path,
    httpMethod: 'POST',
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
    stageVariables: null,
    requestContext: { requestId: crypto.randomUUID(), stage: 'test', path: `/test${path}` },
    body: Buffer.from(file).toString('base64'),
    isBase64Encoded: true,
  }
}

async function send(child: ChildProcess, event: object): Promise<APIGatewayProxyResult> {
  child.send(event)
  const [reply] = await once(child, 'message')
  return reply
}

/** The retry of a client after the lease of the dead process has run out. */
async function retryLater(tenant: string) {
  const clock = { ...systemClock, now: () => Date.now() + 31_000 }
  const later = await startService({ tableName: service.tableName, clock })
  return later.call({
    method: 'POST',
    path,
    as: { tenant, scope },
    headers: { 'Content-Type': 'text/csv', 'Idempotency-Key': 'key' },
    body: file,
  })
}

const isRow = ({ operation, body }: Call) =>
  operation === 'TransactWriteItems' && JSON.stringify(body).includes('code_claim#')
const deaths: [string, Fault, number][] = [
  ['before its first row reached the table', 'hold-request', 0],
  ['in the middle, before a row reached the table', 'hold-request', 13],
  ['in the middle, after a row took effect', 'hold', 13],
  ['before its last row reached the table', 'hold-request', count - 1],
]

test.each(deaths)('an import killed %s: the retry makes the rest, and every row once', async (...death) => {
  const [, fault, rows] = death
  const tenant = `killed-${tenants++}`
  const event = await eventOf(tenant)
  let begun = 0
  const held = proxy.inject({ when: (call) => isRow(call) && begun++ >= rows, times: count, fault })
  const victim = await startFunction()
  victim.send(event)
  await held.struck
  await kill(victim)
  proxy.reset()

  const heir = await startFunction()
  const early = await send(heir, event)
  expect([early.statusCode, JSON.parse(early.body).error.code]).toEqual([
    409,
    'CONFLICT.idempotency.in_progress',
  ])
  const before = await service.items(tenant, 'code')
  expect(before.length).toBeLessThan(count)
  expect(before.length).toBeGreaterThanOrEqual(fault === 'hold' ? rows + 1 : rows)

  const answer = await retryLater(tenant)
  expect([answer.status, answer.json.counts]).toEqual([207, { total: count, succeeded: count, failed: 0 }])
  const codes = await service.items(tenant, 'code')
  expect(codes.map(({ id }) => id)).toEqual(answer.json.items.map(({ id }: { id: string }) => id).toSorted())
  expect(codes.map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)))
  expect(await service.items(tenant, 'code_claim')).toHaveLength(count)
  expect((await service.items(tenant, 'audit')).map(({ action }) => action)).toEqual(['import'])
  const replay = await send(heir, event)
  expect([replay.statusCode, replay.headers?.['Idempotency-Status']]).toEqual([207, 'replayed'])
  expect(replay.body).toBe(answer.body)
})
