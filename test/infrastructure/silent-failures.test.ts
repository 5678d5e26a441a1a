import { describe, expect, test } from '@jest/globals'
import { subscriptions } from '#functions/subscriptions.ts'
import { pascalCase } from '#lib/function-entries.ts'
import { retryDelaySeconds } from '#shared/platform/aws/queue-function.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { watch, settings } = await synthesise('prod')
const dev = await synthesise('dev')
const alarmOf = (id: string) => resourceNamed(watch, 'AWS::CloudWatch::Alarm', `${id}Alarm`).Properties
const pageOf = (id: string) => resourceNamed(watch, 'AWS::CloudWatch::CompositeAlarm', `${id}Page`).Properties

const scheduled = subscriptions.filter(({ source }) => source === 'every.minute')

test.each(scheduled)('$name that is not invoked, or always fails, raises a page', ({ name }) => {
  const alarm = alarmOf(`${pascalCase(name)}NotRunning`)
  expect(alarm).toMatchObject({
    ComparisonOperator: 'LessThanThreshold',
    Threshold: 1,
    EvaluationPeriods: 2,
    TreatMissingData: 'breaching',
  })
  expect(alarm.Metrics[0].Expression).toMatch(/^FILL\(\w+Runs, 0\) - FILL\(\w+Errors, 0\)$/)
  expect(pageOf(`${pascalCase(name)}NotRunning`).AlarmActions).toHaveLength(1)
})

describe('a public address that does not answer', () => {
  test('raises a page, also if nothing measures it', () => {
    expect(alarmOf('PublicAddressSilent')).toMatchObject({
      Namespace: 'commerce-prod',
      MetricName: 'successful_probes',
      Dimensions: [{ Name: 'service', Value: 'commerce-api' }],
      Statistic: 'Sum',
      Period: 300,
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 3,
      TreatMissingData: 'breaching',
    })
    expect(pageOf('PublicAddressSilent').AlarmActions).toHaveLength(1)
  })

  test.each(['dev', 'staging', 'prod'])(
    'is called each minute on %s, even during a freeze',
    async (stage) => {
      const { template } = await synthesise(stage, { freeze: 'all' })
      const schedule = resourceNamed(template, 'AWS::Scheduler::Schedule', 'AddressProbeEachMinute')
      expect(schedule.Properties).toMatchObject({ ScheduleExpression: 'rate(1 minute)', State: 'ENABLED' })
    },
  )

  test('is not called on the local stage', async () => {
    const { template } = await synthesise('local')
    const schedules = resourcesOf(template, 'AWS::Scheduler::Schedule').map(([id]) => id)
    expect(schedules.filter((id) => id.startsWith('AddressProbe'))).toEqual([])
  })
})

const queued = subscriptions.flatMap(({ name, source }) =>
  typeof source === 'object' && 'queue' in source
    ? [{ name, queue: source.queue, isDaily: source.daily === true }]
    : [],
)

describe.each(queued)('waiting messages for $name', ({ name, queue, isDaily }) => {
  const alarm = alarmOf(`${pascalCase(name)}Late`)

  test(`raise a ${isDaily ? 'ticket' : 'page'} by the age of the oldest`, () => {
    expect(alarm).toMatchObject({ MetricName: 'ApproximateAgeOfOldestMessage', Statistic: 'Maximum' })
    const [{ Value: value }] = alarm.Dimensions
    expect(value.Ref).toMatch(new RegExp(`^referencetocommerceprod${pascalCase(queue)}[0-9A-F]{8}QueueName$`))
    const notifying = isDaily ? alarm : pageOf(`${pascalCase(name)}Late`)
    expect(notifying.AlarmActions).toHaveLength(1)
  })

  test('do not raise a page while one is retried', () => {
    const attempts = taskQueues[queue].attempts(settings)
    const pauses = Array.from({ length: attempts - 1 }, (_, n) =>
      retryDelaySeconds(n + 2, { jitter: () => 1 }),
    )
    expect(alarm.Threshold).toBeGreaterThan(pauses.reduce((sum, pause) => sum + pause, 0))
  })
})

test('deliveries to one subscriber, delayed by up to 15 minutes, do not raise a page', () => {
  expect(alarmOf('DeliveriesSendLate').Threshold).toBe(1800)
})

test('a daily comparison that did not run for 26 hours raises a ticket', () => {
  const alarm = alarmOf('RefundsReconcileNotRunning')
  expect(alarm).toMatchObject({
    ComparisonOperator: 'LessThanThreshold',
    Threshold: 1,
    EvaluationPeriods: 26,
    TreatMissingData: 'breaching',
  })
  expect(alarm.Metrics[0].Expression).toBe('FILL(refundsReconcileRuns, 0) - FILL(refundsReconcileErrors, 0)')
  for (const { MetricStat: stat } of alarm.Metrics.slice(1)) expect(stat.Period).toBe(3600)
  expect(alarm.AlarmActions.map(referenceOf)).toEqual([expect.stringMatching(/^Tickets/)])
})

test('throttling of the table and its index raises a ticket', () => {
  const metrics = JSON.stringify(alarmOf('TableThrottled').Metrics)
  for (const name of ['ReadThrottleEvents', 'WriteThrottleEvents'])
    expect(metrics.match(new RegExp(name, 'g'))).toHaveLength(2)
  expect(metrics.match(/"GlobalSecondaryIndexName"/g)).toHaveLength(2)
})

describe('a backup that fails or does not start raises a ticket', () => {
  test('in the vault of the stage', () => {
    const [{ Name: dimension, Value: value }] = alarmOf('BackupMissing').Dimensions
    expect(dimension).toBe('BackupVaultName')
    expect(value.Ref).toMatch(/^referencetocommerceprodBackupVault/)
  })

  test('not on a stage without backups', () => {
    expect(
      resourcesOf(dev.watch, 'AWS::CloudWatch::Alarm').filter(([id]) => id.startsWith('Backup')),
    ).toEqual([])
  })
})
