import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { pascalCase } from '#lib/function-entries.ts'
import { gatewayPathOf } from '#shared/platform/request/route.ts'
import { resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { watch, settings } = await synthesise('prod')
const local = await synthesise('local')
/** All routes except the one for webhooks. */
const budgeted = routes
  .map(({ route }) => route)
  .filter(({ auth }) => auth !== 'signature')
  .map((route) => ({ ...route, budget: route.operation === 'refunds.create' ? 0.05 : 0.1 }))

test.each(routes)('$route.operation has an alarm on its tail latency', ({ route }) => {
  const id = `${pascalCase(route.operation)}TailAlarm`
  const { Properties: alarm } = resourceNamed(watch, 'AWS::CloudWatch::Alarm', id)
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
    const { Properties: composite } = resourceNamed(watch, 'AWS::CloudWatch::CompositeAlarm', `${id}Alarm`)
    expect(composite.AlarmActions).toHaveLength(1)
    expect(composite.OKActions).toEqual(composite.AlarmActions)
    const parts = JSON.stringify(composite.AlarmRule)
    expect(parts).toContain(' AND ')
    for (const [window, seconds, fewest] of [
      ['Long', long, 3],
      ['Short', short, 1],
    ] as const) {
      const type = 'AWS::CloudWatch::Alarm'
      const { Properties: alarm } = resourceNamed(watch, type, `${id}${window}Alarm`)
      expect(parts).toContain(`${id}${window}Alarm`)
      expect(alarm).not.toHaveProperty('AlarmActions')
      expect(alarm).toMatchObject({ ComparisonOperator: 'GreaterThanThreshold', EvaluationPeriods: 1 })
      expect(alarm.Threshold).toBeCloseTo(times * budget, 6)
      const [share, ...counts] = alarm.Metrics
      expect(share.Expression).toMatch(new RegExp(`^IF\\(SUM\\(.*\\) >= ${fewest}, 100 \\* `))
      for (const { MetricStat } of counts) expect(MetricStat.Period).toBe(seconds)
      const dimensionOf: Record<string, object> = {
        failed_requests: { Name: 'operation', Value: operation },
        Errors: { Name: 'FunctionName', Value: expect.anything() },
        Count: { Name: 'Resource', Value: gatewayPathOf(route, settings) },
      }
      for (const { MetricStat } of counts) {
        const { MetricName, Dimensions } = MetricStat.Metric
        expect(Dimensions).toContainEqual(dimensionOf[MetricName])
      }
      const names = new Set(
        counts.map(({ MetricStat }: never) => (MetricStat as never as Stat).Metric.MetricName),
      )
      expect([...names].sort()).toEqual(['Count', 'Errors', 'failed_requests'])
    }
  })
})

describe.each(budgeted.filter(({ latency }) => latency))('the latency budget of $operation', (route) => {
  const { operation } = route

  test('has alarms on its p95 and its p99', () => {
    const id = pascalCase(operation)
    const often = resourceNamed(watch, 'AWS::CloudWatch::Alarm', `${id}OftenSlowAlarm`).Properties
    expect(JSON.stringify(often.Metrics)).toContain('"Stat":"p95"')
    expect(often.Threshold).toBe(route.latency?.p95)
    const seldom = resourceNamed(watch, 'AWS::CloudWatch::Alarm', `${id}SlowAlarm`).Properties
    expect(JSON.stringify(seldom.Metrics)).toContain('"Stat":"p99"')
    expect(seldom.Threshold).toBe(route.latency?.p99)
  })
})

interface Stat {
  Stat: string
  Metric: { MetricName: string }
}

test('no two alarms share a window, and the local stage, whose engine rejects them, has none', () => {
  const rules = resourcesOf(watch, 'AWS::CloudWatch::CompositeAlarm').map(([, { Properties }]) =>
    JSON.stringify(Properties.AlarmRule),
  )
  const windows = resourcesOf(watch, 'AWS::CloudWatch::Alarm').filter(([id]) => /Burns/.test(id))
  for (const [id] of windows) expect(rules.filter((rule) => rule.includes(id))).toHaveLength(1)
  expect(windows).toHaveLength(4 * budgeted.length)
  expect(resourcesOf(local.template, 'AWS::CloudWatch::CompositeAlarm')).toHaveLength(0)
  expect(resourcesOf(local.template, 'AWS::CloudWatch::Alarm')).toHaveLength(0)
})
