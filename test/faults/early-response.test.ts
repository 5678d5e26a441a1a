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
  body: () => v.strictObject({ milliseconds: v.number() }),
  reply: { status: () => 201, schema: () => v.strictObject({ id: v.string() }) },
  errors: [],
  uses: ['table.write'],
  impact: 'Nothing.',
})
const dawdle = defineEndpoint(route, {
  async decide({ body }, { newId, correlation }) {
    await sleep(body.milliseconds)
    const item = { ...keyOf('t', 'order', newId()), seen: correlation.id }
    return created({ id: item.sk }, { writes: [create(item)] })
  },
})

let written: string[]
const service = await startService()
beforeEach(() => {
  written = []
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, 'write').mockImplementation((text) => written.push(String(text)) > 0)
})
afterEach(() => void jest.restoreAllMocks())

/** Calls the function with this remaining time, like Lambda. It logs as on AWS. */
async function call(milliseconds: number, left: number, headers: Record<string, string> = {}) {
  const handler = httpFunction(dawdle, {}, () => ({ ...service.runtime, log: jsonLog('test') }))
  const deadline = Date.now() + left
  const context = { getRemainingTimeInMillis: () => deadline - Date.now() } as Context
  const event = postEvent('/tests/dawdle', headers, { milliseconds }) as unknown as APIGatewayProxyEvent
  const answer = await handler(event, context)
  return {
    ...answer,
    headers: answer.headers ?? {},
    json: JSON.parse(answer.body),
    answeredAt: Date.now(),
    deadline,
  }
}
const lines = () => written.map((line) => JSON.parse(line))

test('a function near its timeout responds early with the correlation id of its request, and logs one error', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const headers = { 'X-Correlation-Id': 'asked-so', traceparent, Origin: 'http://localhost:5173' }
  const answer = await call(1500, 800, headers)
  expect(answer.answeredAt).toBeLessThan(answer.deadline)
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
  expect(lines()[0].duration_milliseconds).toBeGreaterThanOrEqual(400)
  // The process resumes with the next request and finishes its pending work, which logs nothing more.
  await sleep(1500)
  expect(lines()).toHaveLength(1)
})

test('a generated correlation id is the same in the early response, the log and the written items', async () => {
  const answer = await call(1000, 800)
  const id = answer.json.error.correlation_id
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect([answer.headers['X-Correlation-Id'], lines()[0].correlation_id]).toEqual([id, id])
  await sleep(1000)
  expect((await service.items('t', 'order')).map(({ seen }) => seen)).toContain(id)
})

test('a malformed correlation id is not used', async () => {
  const answer = await call(1000, 600, { 'X-Correlation-Id': 'a b@example.com' })
  expect(answer.json.error.correlation_id).toMatch(/^[0-9a-f-]{36}$/)
  expect(written.join()).not.toContain('example.com')
})

test('of two concurrent requests each gets its own early response, and one in time is unaffected', async () => {
  const [slow, other, quick] = await Promise.all([
    call(1500, 700, { 'X-Correlation-Id': 'slow' }),
    call(1500, 600, { 'X-Correlation-Id': 'other' }),
    call(0, 5000, { 'X-Correlation-Id': 'quick' }),
  ])
  expect([slow.statusCode, other.statusCode, quick.statusCode]).toEqual([504, 504, 201])
  expect([slow, other].map(({ json }) => json.error.correlation_id)).toEqual(['slow', 'other'])
  expect(
    lines()
      .map(({ correlation_id }) => correlation_id)
      .toSorted(),
  ).toEqual(['other', 'quick', 'slow'])
})
