import { afterAll, afterEach, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'
import { startDynamodbProxy } from './dynamodb-proxy.ts'
import type { Call, Fault } from './faults.ts'
import { bundleFunctions } from './function-process.ts'

const path = '/codes:import'
const scope = 'codes:read codes:write'
const count = 30
const file = [
  'code,type,name,expiry_at',
  ...Array.from({ length: count }, (_, n) => `KILL-${n},percent-10,Ten off,2099-01-01T00:00:00Z`),
].join('\r\n')

let tenants = 0

const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
const service = await startService({ tableName: await createTable() })
const functions = await bundleFunctions({ import: 'codes/import-codes' }, localSettings, {
  AWS_ENDPOINT_URL: proxy.endpoint,
  TABLE_NAME: service.tableName,
})
afterEach(async () => {
  await functions.killAll()
  proxy.reset()
})
afterAll(async () => {
  await functions.stop()
  await proxy.stop()
})

/** Returns the gateway's event for an import. The body of a binary media type is in base64. */
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

/** The retry of a client after the lease of the dead process expired. */
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
  operation === 'TransactWriteItems' && JSON.stringify(body).includes('code_lock#')
const kills: [string, Fault, number][] = [
  ['before its first row reached the table', 'hold-request', 0],
  ['in the middle, before a row reached the table', 'hold-request', 13],
  ['in the middle, after a row took effect', 'hold', 13],
  ['before its last row reached the table', 'hold-request', count - 1],
]

test.each(kills)('an import killed %s: the retry imports the rest, and every row once', async (...kill) => {
  const [, fault, rows] = kill
  const tenant = `killed-${tenants++}`
  const event = await eventOf(tenant)
  let begun = 0
  const held = proxy.inject({ when: (call) => isRow(call) && begun++ >= rows, times: count, fault })
  const target = await functions.start('import')
  target.begin(event)
  await held.injected
  await target.kill()
  proxy.reset()

  const successor = await functions.start('import')
  const early = await successor.send(event)
  expect([early.statusCode, JSON.parse(early.body).error.code]).toEqual([503, 'DEPENDENCY.unavailable'])
  const before = await service.items(tenant, 'code')
  expect(before.length).toBeLessThan(count)
  expect(before.length).toBeGreaterThanOrEqual(fault === 'hold' ? rows + 1 : rows)

  const answer = await retryLater(tenant)
  expect([answer.status, answer.json.counts]).toEqual([207, { total: count, succeeded: count, failed: 0 }])
  const codes = await service.items(tenant, 'code')
  expect(codes.map(({ id }) => id)).toEqual(answer.json.items.map(({ id }: { id: string }) => id).toSorted())
  expect(codes.map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)))
  expect(await service.items(tenant, 'code_lock')).toHaveLength(count)
  expect((await service.items(tenant, 'audit')).map(({ action }) => action)).toEqual(['import'])
  const replay = await successor.send(event)
  expect(replay).toMatchObject({ statusCode: 207, headers: { 'Idempotency-Status': 'replayed' } })
  expect(replay.body).toBe(answer.body)
})
