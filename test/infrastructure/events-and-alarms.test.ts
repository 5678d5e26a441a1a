import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { pascalCase, preflight, unknownRoute } from '#lib/function-entries.ts'
import { validMilliseconds } from '#shared/otp/code-item.ts'
import { retryDelaySeconds } from '#shared/platform/aws/queue-function.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { idsOf, propertiesOf, type Resource, resourcesOf, templatesOf } from './synthesis.ts'

const { template, watch, settings } = await templatesOf('prod')
const alarms = resourcesOf(watch, 'AWS::CloudWatch::Alarm')
const alarmOf = (id: string) => propertiesOf(watch, `${id}Alarm`)
/** The alarm of these names that notifies people: the composite one, if it pages. */
const notifyingOf = (...ids: string[]): Resource['Properties'] =>
  ids.flatMap((id) => watch.Resources[id]?.Properties ?? [])[0]

describe('alarms', () => {
  const functions = [...subscriptions, ...steps, preflight, unknownRoute].map(({ name, impact }) => ({
    name,
    impact,
  }))

  test.each(functions)('if $name fails, an alarm states: $impact', ({ name, impact }) => {
    const id = `${pascalCase(name)}Failing`
    const { AlarmDescription: text } = notifyingOf(`${id}Page`, `${id}Alarm`)
    expect(text).toMatch(/\. [A-Z].*\.$/)
    expect(text.startsWith(impact)).toBe(true)
    const metrics = JSON.stringify(alarmOf(id))
    expect(metrics).toContain('"MetricName":"Errors"')
    expect(metrics).toContain(`"FunctionName","Value":"<${pascalCase(name)}>"`)
  })

  test.each(routes)('if $route.operation fails requests, an alarm states: $route.impact', ({ route }) => {
    const id = pascalCase(route.operation)
    const page = notifyingOf(`${id}BurnsFastAlarm`, `${id}FailingPage`)
    expect(page.AlarmDescription.startsWith(route.impact)).toBe(true)
    const parts = alarms.filter(([part]) => page.AlarmRule.includes(`"<${part}.Arn>"`))
    expect(parts.length).toBeGreaterThan(0)
    for (const [, { Properties: alarm }] of parts) {
      const metrics = JSON.stringify(alarm.Metrics)
      expect(metrics).toContain('"MetricName":"failed_requests"')
      expect(metrics).toContain(`{"Name":"operation","Value":"${route.operation}"}`)
      // A function that does not start or crashes counts nothing itself.
      expect(metrics).toContain('"MetricName":"Errors"')
    }
  })

  test.each([
    ['95', 20],
    ['99', 100],
  ])('on the p%s of a latency count only from %d requests on', (percentile, fewest) => {
    const latencies = alarms.flatMap(([id, { Properties: alarm }]) =>
      /(Slow|OftenSlow)Alarm/.test(id) ? [JSON.stringify(alarm.Metrics)] : [],
    )
    const matching = latencies.filter((text) => text.includes(`"p${percentile}"`))
    expect(matching.length).toBeGreaterThan(0)
    expect(matching.filter((text) => !text.includes(`Count >= ${fewest}, `))).toEqual([])
  })

  test('are raised when a version of the managed rules of the web ACL expires within 30 days', () => {
    const { Metrics, ...alarm } = alarmOf('ManagedRulesExpiring')
    expect(alarm).toMatchObject({ Threshold: 30, ComparisonOperator: 'LessThanThreshold' })
    const measured = JSON.stringify(Metrics)
    const { Rules: rules } = propertiesOf(template, 'WebAcl')
    const versions = rules.flatMap(({ Statement }: Resource['Properties']) => {
      const { Name, Version } = Statement.ManagedRuleGroupStatement ?? {}
      return Version === undefined ? [] : [[Name, Version]]
    })
    expect(versions).toHaveLength(2)
    for (const [name, version] of versions)
      expect(measured).toMatch(
        new RegExp(
          `"ManagedRuleGroup","Value":"${name}"[^\\]]*"Version","Value":"${version}"}],"MetricName":"DaysToExpiry"`,
        ),
      )
  })
})

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

test.each(scheduled)('$name that is not invoked, or always fails, raises a page', ({ name }) => {
  const { Metrics, ...alarm } = alarmOf(`${pascalCase(name)}NotRunning`)
  expect(alarm).toMatchObject({
    ComparisonOperator: 'LessThanThreshold',
    Threshold: 1,
    EvaluationPeriods: 2,
    TreatMissingData: 'breaching',
  })
  expect(Metrics[0].Expression).toMatch(/^FILL\(\w+Runs, 0\) - FILL\(\w+Errors, 0\)$/)
  expect(propertiesOf(watch, `${pascalCase(name)}NotRunningPage`).AlarmActions).toEqual(['<Pages>'])
})

const queued = subscriptions.flatMap(({ name, source }) =>
  typeof source === 'object' && 'queue' in source ? [{ name, ...source }] : [],
)

describe.each(queued)('waiting messages for $name', ({ name, queue, daily }) => {
  const id = `${pascalCase(name)}Late`

  test(`raise a ${daily ? 'ticket' : 'page'} by the age of the oldest`, () => {
    expect(alarmOf(id)).toMatchObject({
      MetricName: 'ApproximateAgeOfOldestMessage',
      Statistic: 'Maximum',
      Dimensions: [{ Name: 'QueueName', Value: `<${pascalCase(queue)}.QueueName>` }],
    })
    expect(notifyingOf(`${id}Page`, `${id}Alarm`).AlarmActions).toEqual([daily ? '<Tickets>' : '<Pages>'])
  })

  test('do not raise a page while one is retried', () => {
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
