import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { pascalCase } from '#lib/service-function.ts'
import { gatewayPathOf } from '#shared/platform/http/route.ts'
import { resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { watch, settings } = await synthesise('prod')
const local = await synthesise('local')
const budgeted = routes.map(({ route }) => route).filter(({ errorBudgetPercent }) => errorBudgetPercent)

test('refunds may fail in 0.05 % of requests, the other interactive routes in 0.1 %', () => {
  const budgets = budgeted.map(({ operation, errorBudgetPercent }) => [operation, errorBudgetPercent])
  expect(Object.fromEntries(budgets)).toEqual({
    'orders.create': 0.1,
    'orders.read': 0.1,
    'orders.list': 0.1,
    'refunds.create': 0.05,
    'discount.verify': 0.1,
    'otp.verify': 0.1,
  })
})

describe.each(budgeted)('the error budget of $operation', (route) => {
  const { operation, errorBudgetPercent: budget = 0 } = route

  test.each([
    ['Fast', 14.4, 3600, 300],
    ['Slow', 6, 21_600, 1800],
  ])('%s: called at %f times its pace, over both windows', (name, times, long, short) => {
    const id = `${pascalCase(operation)}Burns${name}`
    const { Properties: told } = resourceNamed(watch, 'AWS::CloudWatch::CompositeAlarm', `${id}Alarm`)
    expect(told.AlarmActions).toHaveLength(1)
    const parts = JSON.stringify(told.AlarmRule)
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
      expect(share.Expression).toMatch(new RegExp(`^IF\\(\\(.*\\) >= ${fewest}, 100 \\* `))
      for (const { MetricStat } of counts) {
        expect(MetricStat.Period).toBe(seconds)
        expect(MetricStat.Metric.Dimensions).toContainEqual({
          Name: 'Resource',
          Value: gatewayPathOf(route, settings),
        })
      }
      const names = new Set(
        counts.map(({ MetricStat }: never) => (MetricStat as never as Stat).Metric.MetricName),
      )
      expect([...names].sort()).toEqual(['5XXError', 'Count'])
    }
  })

  test('has its p95 watched beside its p99', () => {
    const id = pascalCase(operation)
    const often = resourceNamed(watch, 'AWS::CloudWatch::Alarm', `${id}OftenSlowAlarm`).Properties
    expect(often).toMatchObject({ ExtendedStatistic: 'p95', Threshold: route.latency?.p95 })
    const seldom = resourceNamed(watch, 'AWS::CloudWatch::Alarm', `${id}SlowAlarm`).Properties
    expect(seldom).toMatchObject({ ExtendedStatistic: 'p99', Threshold: route.latency?.p99 })
  })
})

interface Stat {
  Metric: { MetricName: string }
}

test('no window belongs to two alarms, and the local stage, whose engine refuses them, has none', () => {
  const rules = resourcesOf(watch, 'AWS::CloudWatch::CompositeAlarm').map(([, { Properties }]) =>
    JSON.stringify(Properties.AlarmRule),
  )
  const windows = resourcesOf(watch, 'AWS::CloudWatch::Alarm').filter(([id]) => /Burns/.test(id))
  for (const [id] of windows) expect(rules.filter((rule) => rule.includes(id))).toHaveLength(1)
  expect(windows).toHaveLength(2 * rules.length)
  expect(resourcesOf(local.template, 'AWS::CloudWatch::CompositeAlarm')).toHaveLength(0)
  expect(resourcesOf(local.template, 'AWS::CloudWatch::Alarm')).toHaveLength(0)
})
