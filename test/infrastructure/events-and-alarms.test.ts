import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { pascalCase } from '#lib/functions/function-names.ts'
import { validMilliseconds } from '#shared/otp/code-item.ts'
import { retryDelaySeconds } from '#shared/platform/aws/queue-function.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { alarmGroupOf, gatewayPathOf } from '#shared/platform/request/route.ts'
import { idsOf, propertiesOf, type Resource, resourcesOf, templatesOf } from './synthesis.ts'

const { template, watch, settings } = await templatesOf('prod')
const alarmOf = (id: string) => propertiesOf(watch, `${id}Alarm`)

test.each(routes)('if $route.operation fails, an alarm counts its failed requests', ({ route }) => {
  const watched = alarmGroupOf(route)
  const { AlarmDescription: text, Metrics, Threshold } = alarmOf(`${pascalCase(watched)}Failing`)
  expect(text).toContain(route.latency ? route.impact : route.operation)
  const metrics = JSON.stringify(Metrics)
  expect(metrics).toContain('"MetricName":"failed_requests"')
  expect(metrics).toContain(`{"Name":"watched","Value":"${watched}"}`)
  if (!route.latency) return
  // A function that does not start or crashes counts nothing itself.
  expect(metrics).toContain('"MetricName":"Errors"')
  expect(metrics).toContain(`{"Name":"Resource","Value":"${gatewayPathOf(route, settings)}"}`)
  expect(Threshold).toBeCloseTo(6 * (route.operation === 'refunds.create' ? 0.05 : 0.1), 6)
})

test.each(routes)(
  'the methods of $route.operation have metrics only if it has a latency budget',
  ({ route }) => {
    const path = gatewayPathOf(route, settings).replaceAll('/', '~1')
    const [stage] = resourcesOf(template, 'AWS::ApiGateway::Stage').map(([, { Properties }]) => Properties)
    const found = stage?.MethodSettings.find(
      (one: Resource['Properties']) => one.ResourcePath === `/${path}` && one.HttpMethod === route.method,
    )
    expect(found?.MetricsEnabled ?? false).toBe(route.latency !== undefined)
  },
)

/** The pauses before the retries of a message. */
const pauses = (attempts: number, jitter: number) =>
  Array.from({ length: attempts - 1 }, (_, n) => retryDelaySeconds(n + 2, { jitter: () => jitter })).reduce(
    (sum, pause) => sum + pause,
    0,
  )

test('a mail is retried as long as its code is valid', () => {
  const { maxReceiveCount } = propertiesOf(template, 'Mail').RedrivePolicy
  expect(pauses(maxReceiveCount, 0.5)).toBeGreaterThanOrEqual(validMilliseconds / 1000)
})

const scheduled = subscriptions.filter(({ source }) => source === 'every.minute')

test.each(scheduled)('$name that is not invoked, or always fails, raises an alarm', ({ name }) => {
  const { Metrics, ...alarm } = alarmOf(`${pascalCase(name)}NotRunning`)
  expect(alarm).toMatchObject({
    ComparisonOperator: 'LessThanThreshold',
    Threshold: 1,
    EvaluationPeriods: 2,
    TreatMissingData: 'breaching',
  })
  expect(Metrics[0].Expression).toMatch(/^FILL\(\w+Runs, 0\) - FILL\(\w+Errors, 0\)$/)
})

const queued = subscriptions.flatMap(({ name, source }) =>
  typeof source === 'object' && 'queue' in source ? [{ name, ...source }] : [],
)

describe.each(queued)('waiting messages for $name', ({ name, queue }) => {
  const id = `${pascalCase(name)}Late`

  test('raise an alarm by the age of the oldest', () => {
    expect(alarmOf(id)).toMatchObject({
      MetricName: 'ApproximateAgeOfOldestMessage',
      Statistic: 'Maximum',
      Dimensions: [{ Name: 'QueueName', Value: `<${pascalCase(queue)}.QueueName>` }],
    })
  })

  test('do not raise it while one is retried', () => {
    expect(alarmOf(id).Threshold).toBeGreaterThan(pauses(taskQueues[queue].attempts(settings), 1))
  })
})

describe('the probe', () => {
  test.each(['dev', 'staging', 'prod'])('runs each minute on %s, even during a freeze', async (stage) => {
    const { template: frozen } = await templatesOf(stage, { freeze: 'all' })
    expect(propertiesOf(frozen, 'AddressProbeEachMinute')).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
    })
  })

  test('does not run on the local stage', async () => {
    expect((await templatesOf('local')).template.Resources).not.toHaveProperty('AddressProbeEachMinute')
  })
})

test('a stage without backups does not miss them', async () => {
  const { watch: ofDev } = await templatesOf('dev')
  expect(idsOf(ofDev, 'AWS::CloudWatch::Alarm').filter((id) => id.startsWith('Backup'))).toEqual([])
})
