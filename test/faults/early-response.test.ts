import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import * as v from 'valibot'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { jsonLog } from '#shared/platform/base/log.ts'
import { created, defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create } from '#shared/platform/table/table.ts'
import { startService } from '../support/service.ts'
import { postEvent } from './function-process.ts'

const route = defineRoute({
  operation: 'tests.dawdle',
  method: 'POST',
  path: '/tests/dawdle',
  summary: 'Dawdle',
  description: 'Takes longer than its function may.',
  auth: 'none',
  idempotency: 'none',
  body: () => v.strictObject({ held: v.boolean() }),
  reply: { status: () => 201, schema: () => v.strictObject({ id: v.string() }) },
  errors: [],
  uses: [],
  table: { put: ['order'] },
  impact: 'Nothing.',
})
/** The end of what the endpoint waits for. */
let released: PromiseWithResolvers<void>
const dawdle = defineEndpoint(route, {
  async decide({ body }, { newId, correlation }) {
    if (body.held) await released.promise
    const item = { ...keyOf('t', 'order', newId()), seen: correlation.id }
    return created({ id: item.sk }, { writes: [create(item)] })
  },
})

let written: string[]
const service = await startService()
beforeEach(() => {
  written = []
  released = Promise.withResolvers()
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, 'write').mockImplementation((text) => written.push(String(text)) > 0)
})
afterEach(() => void jest.restoreAllMocks())

/** Calls the function with this remaining time, like Lambda. It logs as on AWS. An endpoint that is held does not end. */
async function call(held: boolean, left: number, headers: Record<string, string> = {}) {
  const handler = httpFunction(dawdle, {}, () => ({ ...service.runtime, log: jsonLog('test') }))
  const deadline = Date.now() + left
  const context = { getRemainingTimeInMillis: () => deadline - Date.now() } as Context
  const event = postEvent('/tests/dawdle', headers, { held }) as unknown as APIGatewayProxyEvent
  // Node runs the timer that is due first first, however late both are.
  const answer = await Promise.race([handler(event, context), sleep(left, undefined, { ref: false })])
  if (!answer) throw new Error('Lambda ended the function before its response')
  return { ...answer, headers: answer.headers ?? {}, json: JSON.parse(answer.body) }
}
const lines = () => written.map((line) => JSON.parse(line))
/** The process resumes with the next request and finishes its pending work. */
async function resume(id: string) {
  released.resolve()
  while (!(await service.items('t', 'order')).some(({ seen }) => seen === id)) await sleep(10)
}

test('a function near its timeout responds early with the correlation id of its request, and logs one error', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const headers = { 'X-Correlation-Id': 'asked-so', traceparent, Origin: 'http://localhost:5173' }
  const answer = await call(true, 800, headers)
  expect(answer).toMatchObject({ statusCode: 504, json: { error: { code: 'DEPENDENCY.timeout' } } })
  expect(answer.json.error.correlation_id).toBe('asked-so')
  expect(answer.headers).toMatchObject({
    'X-Correlation-Id': 'asked-so',
    traceparent,
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'Access-Control-Allow-Origin': 'http://localhost:5173',
    'Strict-Transport-Security': expect.any(String),
  })
  const line = {
    level: 'ERROR',
    code: 'REQUEST_FAILED',
    operation: 'tests.dawdle',
    status: 504,
    error_code: 'DEPENDENCY.timeout',
    message_id: 'error.dependency.timeout',
    correlation_id: 'asked-so',
    traceparent,
  }
  expect(lines()).toMatchObject([line])
  expect(lines()[0].duration_milliseconds).toBeGreaterThan(0)
  await resume('asked-so')
  await sleep(50)
  expect(lines()).toHaveLength(1)
})

test('a generated correlation id is the same in the early response, the log and the written items', async () => {
  const answer = await call(true, 800)
  const id = answer.json.error.correlation_id
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect([answer.headers['X-Correlation-Id'], lines()[0].correlation_id]).toEqual([id, id])
  await resume(id)
})

test('of two concurrent requests each gets its own early response, and one in time is unaffected', async () => {
  const [slow, other, quick] = await Promise.all([
    call(true, 700, { 'X-Correlation-Id': 'slow' }),
    call(true, 600, { 'X-Correlation-Id': 'other' }),
    call(false, 60_000, { 'X-Correlation-Id': 'quick' }),
  ])
  expect([slow.statusCode, other.statusCode, quick.statusCode]).toEqual([504, 504, 201])
  expect([slow, other].map(({ json }) => json.error.correlation_id)).toEqual(['slow', 'other'])
  expect(
    lines()
      .map(({ correlation_id }) => correlation_id)
      .toSorted(),
  ).toEqual(['other', 'quick', 'slow'])
})
