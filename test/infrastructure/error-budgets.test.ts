import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { pascalCase } from '#lib/function-entries.ts'
import { gatewayPathOf } from '#shared/platform/request/route.ts'
import { idsOf, propertiesOf, templatesOf } from './synthesis.ts'

const { watch, settings } = await templatesOf('prod')
/** All routes except the one for webhooks. */
const budgeted = routes
  .map(({ route }) => route)
  .filter(({ auth }) => auth !== 'signature')
  .map((route) => ({ ...route, budget: route.operation === 'refunds.create' ? 0.05 : 0.1 }))

test.each(routes)('$route.operation has an alarm on its tail latency', ({ route }) => {
  const alarm = propertiesOf(watch, `${pascalCase(route.operation)}TailAlarm`)
  expect(alarm).toMatchObject({ Threshold: 2.5, ComparisonOperator: 'GreaterThanThreshold' })
  const [ratio, ...metrics] = alarm.Metrics
  const stats = metrics.map(({ Id, MetricStat }: { Id: string; MetricStat: Stat }) => [Id, MetricStat.Stat])
  const named = Object.fromEntries(stats.map(([id, stat]: string[]) => [stat, id]))
  expect(ratio.Expression).toBe(`IF(${named.SampleCount} >= 100, ${named.p99} / ${named.p95}, 0)`)
})

describe.each(budgeted)('the error budget of $operation', (route) => {
  const { operation, budget } = route

  test.each([
    ['Fast', 14.4, 3600, 300],
    ['Slow', 6, 21_600, 1800],
  ])('%s: alarms at a burn rate of %f in both windows', (name, times, long, short) => {
    const id = `${pascalCase(operation)}Burns${name}`
    const composite = propertiesOf(watch, `${id}Alarm`)
    expect(composite.AlarmActions).toHaveLength(1)
    expect(composite.OKActions).toEqual(composite.AlarmActions)
    const [first, second] = ['Long', 'Short'].map((window) => `ALARM("<${id}${window}Alarm.Arn>")`)
    expect(composite.AlarmRule).toBe(`(${first} AND ${second})`)
    for (const [window, seconds, fewest] of [
      ['Long', long, 3],
      ['Short', short, 1],
    ] as const) {
      const alarm = propertiesOf(watch, `${id}${window}Alarm`)
      expect(alarm).not.toHaveProperty('AlarmActions')
      expect(alarm).toMatchObject({ ComparisonOperator: 'GreaterThanThreshold', EvaluationPeriods: 1 })
      expect(alarm.Threshold).toBeCloseTo(times * budget, 6)
      const [share, ...counts] = alarm.Metrics
      expect(share.Expression).toMatch(new RegExp(`^IF\\(SUM\\(.*\\) >= ${fewest}, 100 \\* `))
      for (const { MetricStat } of counts) expect(MetricStat.Period).toBe(seconds)
      const measured = counts.map(({ MetricStat: { Metric } }: { MetricStat: Stat }) => [
        Metric.MetricName,
        Metric.Dimensions,
      ])
      const having = (Name: string, Value: unknown) => expect.arrayContaining([{ Name, Value }])
      expect(Object.fromEntries(measured)).toEqual({
        failed_requests: having('operation', operation),
        Errors: having('FunctionName', expect.stringMatching(/^<\w+>$/)),
        Count: having('Resource', gatewayPathOf(route, settings)),
      })
    }
  })
})

test.each(budgeted.filter(({ latency }) => latency))(
  'the latency budget of $operation has alarms on its p95 and its p99',
  ({ operation, latency }) => {
    for (const [name, percentile] of [
      ['OftenSlow', 'p95'],
      ['Slow', 'p99'],
    ] as const) {
      const { Metrics, Threshold } = propertiesOf(watch, `${pascalCase(operation)}${name}Alarm`)
      expect(JSON.stringify(Metrics)).toContain(`"Stat":"${percentile}"`)
      expect(Threshold).toBe(latency?.[percentile])
    }
  },
)

interface Stat {
  Stat: string
  Metric: { MetricName: string; Dimensions: object[] }
}

test('no two alarms share a window', () => {
  const windows = idsOf(watch, 'AWS::CloudWatch::Alarm').filter((id) => /Burns/.test(id))
  expect(windows).toHaveLength(4 * budgeted.length)
})
