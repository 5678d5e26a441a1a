import { afterEach, beforeAll, expect, jest, test } from '@jest/globals'
import { type Log, powertoolsLog, type RequestLine } from '#shared/platform/logging/log.ts'
import { type Service, startService } from '#test/support/service.ts'

const namespace = 'commerce-test'
let service: Service
beforeAll(async () => {
  service = await startService()
})
afterEach(() => {
  delete process.env.METRICS_NAMESPACE
})

/** A line as CloudWatch gets it. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever members a line has.
type Line = Record<string, any>

/** What the log of a function writes of requests, one JSON record a line. */
const written = (lines: readonly RequestLine[]) =>
  writtenBy((log) => {
    for (const line of lines) log.request(line)
  })

function writtenBy(write: (log: Log) => void): Line[] {
  const texts: string[] = []
  const streams = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => texts.push(String(text)) > 0),
  )
  write(powertoolsLog('test'))
  for (const stream of streams) stream.mockRestore()
  return texts.map((text) => JSON.parse(text))
}

/** What breaks the published rules of the embedded metric format; CloudWatch drops such metrics without a word. */
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

test('an answer that is an error counts under its code, in a line that CloudWatch takes as a metric', async () => {
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

test('a fault of the service counts as what its caller was told', () => {
  process.env.METRICS_NAMESPACE = namespace
  const failure = { code: 'DEPENDENCY.timeout', http: 504, cause: new Error('quoted') }
  const correlation = { id: 'c' }
  const line = { operation: 'orders.create', status: 504, failure, correlation, durationMilliseconds: 1 }
  const [told] = written([line as unknown as RequestLine])
  expect(told).toMatchObject({ level: 'ERROR', error_code: 'DEPENDENCY.timeout', errors: 1 })
  expect(problemsOf(told as Line)).toEqual([])
  expect(JSON.stringify(told)).not.toContain('quoted')
})

test('how long the oldest has been under way is a metric by kind of work', () => {
  process.env.METRICS_NAMESPACE = namespace
  const [told] = writtenBy((log) => log.unfinished('refunds', 901))
  expect(told).toMatchObject({ work: 'refunds', oldest_unfinished_seconds: 901 })
  expect(problemsOf(told as Line, 'Seconds')).toEqual([])
  expect(told?._aws.CloudWatchMetrics).toMatchObject([{ Dimensions: [['work']] }])
})

test('what succeeds counts nothing, nor does anything without a namespace', async () => {
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
