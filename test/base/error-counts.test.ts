import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import * as v from 'valibot'
import { systemClock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { jsonLog, type Log, type RequestLine } from '#shared/platform/base/log.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { startService } from '../support/service.ts'

const namespace = 'commerce-test'
const service = await startService()
const start = Date.now()
const slowRoute = defineRoute({
  operation: 'sample.slow',
  method: 'GET',
  path: '/slow',
  summary: '',
  description: '',
  auth: 'none',
  idempotency: 'none',
  reply: { status: () => 200, schema: () => v.strictObject({}) },
  errors: [],
  uses: [],
  impact: '',
})
afterEach(() => {
  for (const name of ['METRICS_NAMESPACE', 'AWS_LAMBDA_FUNCTION_NAME', 'AWS_LAMBDA_FUNCTION_VERSION'])
    delete process.env[name]
})

/** A log line as CloudWatch receives it. */
// biome-ignore lint/suspicious/noExplicitAny: lines have any members.
type Line = Record<string, any>

/** Returns the log lines of a function, one JSON record a line. */
const written = (lines: readonly RequestLine[]) =>
  writtenBy((log) => {
    for (const line of lines) log.request(line)
  })

function writtenBy(write: (log: Log) => void): Line[] {
  const texts: string[] = []
  const streams = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => texts.push(String(text)) > 0),
  )
  write(jsonLog('test', process.env))
  for (const stream of streams) stream.mockRestore()
  return texts.map((text) => JSON.parse(text))
}

/** Returns the violations of the embedded metric format. CloudWatch drops such metrics silently. */
function problemsOf(line: Line, unit = 'Count'): string[] {
  const { Timestamp, CloudWatchMetrics } = line._aws
  const fresh = Number.isInteger(Timestamp) && Math.abs(Timestamp - Date.now()) < 60_000
  const directives = (CloudWatchMetrics as Line[]).flatMap(({ Namespace, Dimensions, Metrics }) => [
    ...(/^[^:][\w.\-#/ ]{0,254}$/.test(Namespace) ? [] : ['namespace']),
    ...(Dimensions as string[][]).flatMap((names) => [
      ...(names.length <= 30 ? [] : ['too many dimensions']),
      ...names.filter(
        (name) => typeof line[name] !== 'string' || line[name] === '' || line[name].length > 1024,
      ),
    ]),
    ...(Metrics as Line[]).flatMap(({ Name, Unit }) => [
      ...(Number.isFinite(line[Name]) ? [] : [Name]),
      ...(Unit === unit ? [] : [`unit of ${Name}`]),
    ]),
    ...(Metrics.length > 0 && Metrics.length <= 100 ? [] : ['number of metrics']),
  ])
  return [...(fresh ? [] : ['timestamp']), ...directives]
}

test('an error response is counted by its code, in the embedded metric format of CloudWatch', async () => {
  process.env.METRICS_NAMESPACE = namespace
  service.lines.length = 0
  await service.call({
    path: '/v1/orders/canary-id',
    as: { tenant: 'canary-tenant', role: 'Viewer' },
  })
  await service.call({ path: '/v1/orders', headers: { Authorization: 'Bearer canary-token' } })
  const lines = written(service.lines)
  expect(lines.map(({ error_code, errors }) => [error_code, errors])).toEqual([
    ['NOT_FOUND.order', 1],
    ['AUTH.invalid_credentials', 1],
  ])
  for (const line of lines) {
    expect(problemsOf(line)).toEqual([])
    expect(line._aws.CloudWatchMetrics).toMatchObject([
      { Namespace: namespace, Dimensions: [['error_code']] },
    ])
  }
  expect(JSON.stringify(lines)).not.toContain('canary')
})

test('an internal error is counted by the code that its caller receives', () => {
  process.env.METRICS_NAMESPACE = namespace
  const failure = { code: 'DEPENDENCY.timeout', http: 504, cause: new Error('quoted') }
  const correlation = { id: 'c', trace: {} }
  const line = { operation: 'orders.create', status: 504, failure, correlation, durationMilliseconds: 1 }
  const [record] = written([line as unknown as RequestLine])
  expect(record).toMatchObject({ level: 'ERROR', error_code: 'DEPENDENCY.timeout', errors: 1 })
  expect(problemsOf(record as Line)).toEqual([])
  expect(JSON.stringify(record)).not.toContain('quoted')
})

describe('in a Lambda function', () => {
  beforeEach(() => {
    process.env.METRICS_NAMESPACE = namespace
    process.env.AWS_LAMBDA_FUNCTION_NAME = 'orders'
    process.env.AWS_LAMBDA_FUNCTION_VERSION = '7'
  })
  const version = { function_name: 'orders', function_version: '7', failures: 1 }
  const dimensions = ['function_name', 'function_version']
  const correlation = { id: 'c', trace: {} }
  const answered = (status: number, failure?: object) =>
    written([
      { operation: 'o', status, failure, correlation, durationMilliseconds: 1 } as unknown as RequestLine,
    ])[0] as Line

  test('a 5xx counts as a failure of the version and as an error of its code', () => {
    const line = answered(504, { code: 'DEPENDENCY.timeout', http: 504 })
    expect(line).toMatchObject({ ...version, error_code: 'DEPENDENCY.timeout', errors: 1 })
    expect(line._aws.CloudWatchMetrics).toMatchObject([
      { Dimensions: [['error_code']] },
      { Dimensions: [dimensions] },
    ])
    expect(problemsOf(line)).toEqual([])
  })

  test.each<[string, Record<string, string>, number]>([
    ['shorter than a second, by the limit of its caller, is no failure', { 'X-Request-Timeout': '40' }, 0],
    ['longer than a second is a failure', { 'X-Request-Timeout': '1100' }, 1],
    ['shorter than a second, without a limit of its caller, is a failure', {}, 1],
  ])('a timeout %s of the version', async (_what, headers, count) => {
    let at = start
    const clock = { ...systemClock, now: () => at }
    const only = [defineEndpoint(slowRoute, { decide: () => decideSlowly(headers) })]
    const slow = await startService({ clock, only })
    function decideSlowly(sent: Record<string, string>): never {
      at += Number(sent['X-Request-Timeout'] ?? 40)
      throw fail('DEPENDENCY.timeout')
    }
    await slow.call({ path: '/slow', headers })
    const [line = {}] = written(slow.lines)
    expect([line.error_code, line.failures ?? 0]).toEqual(['DEPENDENCY.timeout', count])
  })

  test('a 4xx is not a failure of the version', () => {
    const line = answered(404, { code: 'NOT_FOUND.order', http: 404 })
    expect(line).not.toHaveProperty('failures')
    expect(line._aws.CloudWatchMetrics).toHaveLength(1)
  })

  test.each([
    ['tasks', (log: Log) => log.job({ code: 'TASKS_HANDLED' as never, done: 2, failed: 1 })],
    ['events', (log: Log) => log.relay({ code: 'EVENTS_RELAYED' as never, published: 2, failed: 1 })],
  ])('%s of a batch that fail count as failures of the version', (_what, write) => {
    const [line = {}] = writtenBy(write)
    expect(line).toMatchObject(version)
    expect(line._aws.CloudWatchMetrics).toMatchObject([{ Dimensions: [dimensions] }])
    expect(problemsOf(line)).toEqual([])
  })

  test('a batch without failures counts nothing', () => {
    const [line] = writtenBy((log) => log.job({ code: 'TASKS_HANDLED' as never, done: 2, failed: 0 }))
    expect(line).not.toHaveProperty('_aws')
  })
})

test('the age of the oldest pending item is a metric by kind of work', () => {
  process.env.METRICS_NAMESPACE = namespace
  const [record] = writtenBy((log) => log.unfinished('refunds', 901))
  expect(record).toMatchObject({ work: 'refunds', oldest_unfinished_seconds: 901 })
  expect(problemsOf(record as Line, 'Seconds')).toEqual([])
  expect(record?._aws.CloudWatchMetrics).toMatchObject([{ Dimensions: [['work']] }])
})

test('successes count nothing, and neither does anything without a namespace', async () => {
  service.lines.length = 0
  await service.call({ path: '/health' })
  await service.call({ path: '/v1/orders' })
  const [refused] = written(service.lines).filter(({ code }) => code === 'REQUEST_REFUSED')
  expect(refused).toMatchObject({ error_code: expect.any(String) })
  expect(refused).not.toHaveProperty('_aws')
  process.env.METRICS_NAMESPACE = namespace
  const [healthy] = written(service.lines).filter(({ code }) => code === 'REQUEST_ANSWERED')
  expect(healthy).toMatchObject({ status: 200 })
  expect(healthy).not.toHaveProperty('_aws')
})
