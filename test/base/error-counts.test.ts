import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { systemClock } from '#shared/platform/base/clock.ts'
import { type Failure, fail } from '#shared/platform/base/failure.ts'
import type { Log, RequestLine } from '#shared/platform/base/log.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { startService } from '../support/service.ts'
import { writtenLog } from '../support/written-log.ts'

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

const writtenBy = (write: (log: Log) => void): Line[] => writtenLog(write).map((text) => JSON.parse(text))

/** Returns the log lines of a function, one JSON record a line. */
const written = (lines: readonly RequestLine[]) => writtenBy((log) => lines.forEach(log.request))

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

test('an error of a caller is logged by its code, and is no metric', async () => {
  process.env.METRICS_NAMESPACE = namespace
  service.lines.length = 0
  await service.call({
    path: '/v1/orders/canary-id',
    as: { tenant: 'acme', role: 'Viewer', sub: 'canary-sub' },
  })
  await service.call({ path: '/v1/orders', headers: { Authorization: 'Bearer canary-token' } })
  const lines = written(service.lines)
  expect(lines.map(({ error_code }) => error_code)).toEqual(['NOT_FOUND.order', 'AUTH.invalid_credentials'])
  for (const line of lines) expect(line).not.toHaveProperty('_aws')
  expect(JSON.stringify(lines)).not.toContain('canary')
})

test('a failed request is counted for what its alarm watches, in the embedded metric format of CloudWatch', () => {
  process.env.METRICS_NAMESPACE = namespace
  const failure = { code: 'DEPENDENCY.timeout', http: 504, cause: new Error('quoted') }
  const correlation = { id: 'c', trace: {} }
  const line = { operation: 'codes.create', watched: 'codes', status: 504, failure, correlation }
  const [record] = written([{ ...line, durationMilliseconds: 1 } as unknown as RequestLine])
  expect(record).toMatchObject({ level: 'ERROR', error_code: 'DEPENDENCY.timeout', failed_requests: 1 })
  expect(record).toMatchObject({ operation: 'codes.create', watched: 'codes' })
  expect(record?._aws.CloudWatchMetrics).toMatchObject([
    { Namespace: namespace, Dimensions: [['watched'], ['service']] },
  ])
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
  const ownLimit = { 'X-Request-Timeout': '10000' }
  const correlation = { id: 'c', trace: {} }
  const answered = (status: number, failure?: object) =>
    written([
      {
        ...{ operation: 'o', watched: 'o', status, failure, correlation, durationMilliseconds: 1 },
      } as unknown as RequestLine,
    ])[0] as Line

  test('a 5xx counts as a failure of the version', () => {
    const line = answered(504, { code: 'DEPENDENCY.timeout', http: 504 })
    expect(line).toMatchObject({ ...version, error_code: 'DEPENDENCY.timeout' })
    expect(line._aws.CloudWatchMetrics).toMatchObject([
      { Dimensions: [['watched'], ['service']] },
      { Dimensions: [dimensions] },
    ])
    expect(problemsOf(line)).toEqual([])
  })

  /** Returns the log line of a request that fails after this time. */
  async function failing(failure: Failure, milliseconds: number, headers = {}): Promise<Line> {
    let at = start
    const decide = () => {
      at += milliseconds
      throw failure
    }
    const clock = { ...systemClock, now: () => at }
    const slow = await startService({ clock, only: [defineEndpoint(slowRoute, { decide })] })
    await slow.call({ path: '/slow', headers })
    const [line = {}] = written(slow.lines)
    return line
  }

  test.each<[string, Record<string, string>, number, number]>([
    ['at once, by the limit of its caller, is no failure', { 'X-Request-Timeout': '1' }, 0, 0],
    ['after the limit of its caller is no failure', { 'X-Request-Timeout': '4900' }, 4900, 0],
    ['after a limit that is enough is a failure', { 'X-Request-Timeout': '5000' }, 5000, 1],
    ['although the limit of its caller is no shorter than its own is a failure', ownLimit, 40, 1],
    ['without a limit of its caller is a failure', {}, 40, 1],
  ])('a timeout %s of the service', async (_what, headers, milliseconds, count) => {
    const line = await failing(fail('DEPENDENCY.timeout'), milliseconds, headers)
    const { error_code, failures = 0, failed_requests = 0 } = line
    expect({ error_code, failures, failed_requests }).toEqual({
      error_code: 'DEPENDENCY.timeout',
      failures: count,
      failed_requests: count,
    })
  })

  test('a 5xx that its caller caused is logged as such, and not as an error', async () => {
    const line = await failing(fail('DEPENDENCY.unavailable', { causedByCaller: true }), 0)
    expect(line).toMatchObject({ level: 'INFO', status: 503, caused_by_caller: true })
    expect(line).not.toHaveProperty('failures')
    expect(line).not.toHaveProperty('failed_requests')
  })

  test('another 503 under a short limit of the caller is a failure of the service', async () => {
    const line = await failing(fail('DEPENDENCY.unavailable'), 0, { 'X-Request-Timeout': '1' })
    expect(line).toMatchObject({ level: 'ERROR', failures: 1, failed_requests: 1 })
  })

  test('a 4xx is not a failure of the version', () => {
    const line = answered(404, { code: 'NOT_FOUND.order', http: 404 })
    expect(line).not.toHaveProperty('_aws')
  })

  test.each([
    ['tasks', (log: Log) => log.job({ code: 'TASKS_HANDLED' as never, done: 2, failed: 1 })],
    ['events', (log: Log) => log.relay({ code: 'EVENTS_RELAYED' as never, published: 2, failed: 1 })],
  ])(
    '%s of a batch that fail are logged, and are no metric: their function is not rolled back',
    (_what, write) => {
      const [line = {}] = writtenBy(write)
      expect(line).toMatchObject({ level: 'ERROR', failed: 1 })
      expect(line).not.toHaveProperty('_aws')
    },
  )
})

test('the age of the oldest pending item is a metric by kind of work', () => {
  process.env.METRICS_NAMESPACE = namespace
  const [record] = writtenBy((log) => log.pending('refunds', 901))
  expect(record).toMatchObject({ work: 'refunds', oldest_pending_seconds: 901 })
  expect(problemsOf(record as Line, 'Seconds')).toEqual([])
  expect(record?._aws.CloudWatchMetrics).toMatchObject([{ Dimensions: [['work']] }])
})

test('the differences from the payment provider are a metric, also if there are none', () => {
  process.env.METRICS_NAMESPACE = namespace
  const compared = { tenant: 'acme', account: 'acct_1', compared: 10, unrelated: 1 }
  const [none, some] = writtenBy((log) => {
    log.reconciled({ ...compared, differences: 0 })
    log.reconciled({ ...compared, differences: 2 })
  })
  expect(none).toMatchObject({ level: 'INFO', code: 'REFUNDS_RECONCILED', work: 'refunds', differences: 0 })
  expect(some).toMatchObject({ ...compared, level: 'ERROR', code: 'REFUNDS_DIFFER', differences: 2 })
  for (const line of [none, some]) {
    expect(problemsOf(line as Line)).toEqual([])
    expect(line?._aws.CloudWatchMetrics).toMatchObject([{ Dimensions: [['work']] }])
  }
})

test('successful probes are a metric, also if a probe fails', () => {
  process.env.METRICS_NAMESPACE = namespace
  const [succeeded, failed] = writtenBy((log) => {
    log.probed()
    log.probed(new Error('quoted'))
  })
  expect(succeeded).toMatchObject({ level: 'INFO', code: 'PROBE_SUCCEEDED', successful_probes: 1 })
  expect(failed).toMatchObject({ level: 'ERROR', code: 'PROBE_FAILED', successful_probes: 0 })
  for (const line of [succeeded, failed]) {
    expect(problemsOf(line as Line)).toEqual([])
    expect(line?._aws.CloudWatchMetrics).toMatchObject([{ Dimensions: [['service']] }])
  }
})

describe('a received event', () => {
  const event = { eventId: 'evt-1', correlation: { id: 'corr-1', trace: {} } }

  test('that is ignored is logged with its type', () => {
    const [line] = writtenBy((log) =>
      log.event({ code: 'EVENT_IGNORED', ...event, eventType: 'parcel.packed' }),
    )
    expect(line).toMatchObject({ level: 'INFO', code: 'EVENT_IGNORED', event_type: 'parcel.packed' })
  })

  test('that fails is named with its error, and not counted as ignored', () => {
    process.env.METRICS_NAMESPACE = namespace
    const fault = fail('NOT_FOUND.refund')
    const [line] = writtenBy((log) =>
      log.event({ code: 'EVENT_FAILED', ...event, eventType: 'refund.failed', fault }),
    )
    expect(line).toMatchObject({
      level: 'ERROR',
      code: 'EVENT_FAILED',
      event_id: 'evt-1',
      event_type: 'refund.failed',
      correlation_id: 'corr-1',
      error_code: 'NOT_FOUND.refund',
    })
    expect(line).not.toHaveProperty('_aws')
  })
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
