import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { checkConcurrency } from '#lib/check-concurrency.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { alarmDefinitions } from '#lib/monitoring/alarm-definitions.ts'
import { stageNamed } from '#lib/stage.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'
import { type SynthesisOptions, withProvisioned } from './stage-settings.ts'
import { type Resource, resourceNamed, resourcesOf, synthesise, type Template } from './synthesis.ts'

/** Each synthesis is a process. */
const provisioned = {
  dev: await synthesise('dev', { changes: withProvisioned }),
  staging: await synthesise('staging', { changes: withProvisioned }),
  prod: await synthesise('prod', { changes: withProvisioned }),
}
const stages = Object.entries(provisioned)
const reservedOnProd = resourcesOf(provisioned.prod.template, 'AWS::Lambda::Function')
  .map(([, { Properties }]) => Number(Properties.ReservedConcurrentExecutions ?? 0))
  .reduce((sum, one) => sum + one, 0)

/** Returns the provisioned concurrency of the aliases that have some. */
function executionsIn(template: Template): Record<string, number> {
  return Object.fromEntries(
    resourcesOf(template, 'AWS::Lambda::Alias').flatMap(([id, { Properties }]) => {
      const { ProvisionedConcurrencyConfig: config } = Properties
      return config ? [[id.replace(/[0-9A-F]{8}$/, ''), config.ProvisionedConcurrentExecutions]] : []
    }),
  )
}

const all = { CodesActOnCodeLive: 3, OrdersCreateLive: 5, OrdersListLive: 3, RefundsCreateLive: 10 }

describe.each(stages)('limits.provisionedConcurrency on %s', (_stage, { template, watch }) => {
  test('is the provisioned concurrency of the aliases of its operations, and of no other', () => {
    expect(executionsIn(template)).toEqual(all)
  })

  test('has an alarm on the calls that exceed it, of each alias', () => {
    const { Properties: alarm } = resourceNamed(
      watch,
      'AWS::CloudWatch::Alarm',
      'ProvisionedConcurrencyExceededAlarm',
    )
    const metrics = alarm.Metrics.flatMap(({ MetricStat }: Resource['Properties']) => MetricStat ?? [])
    expect(metrics).toHaveLength(Object.keys(all).length)
    for (const { Metric, Stat } of metrics) {
      expect([Metric.Namespace, Metric.MetricName, Stat]).toEqual([
        'AWS/Lambda',
        'ProvisionedConcurrencySpilloverInvocations',
        'Sum',
      ])
      const [name, resource] = Metric.Dimensions
      expect(name).toMatchObject({ Name: 'FunctionName', Value: { Ref: expect.any(String) } })
      expect(resource).toEqual({ Name: 'Resource', Value: { 'Fn::Join': ['', [name.Value, ':live']] } })
    }
  })
})

describe('without provisioned concurrency', () => {
  test.each(['dev', 'staging', 'prod'])('%s has no such alias and no such alarm', async (stage) => {
    const { template, watch } = await synthesise(stage)
    expect(executionsIn(template)).toEqual({})
    expect(JSON.stringify(watch)).not.toContain('ProvisionedConcurrencyExceeded')
  })

  test('the local stage stays, because it has no aliases', async () => {
    const { template } = await synthesise('local', { changes: withProvisioned })
    expect(executionsIn(template)).toEqual({})
  })
})

describe('a deployment that keeps a freeze', () => {
  test.each<[NonNullable<SynthesisOptions['freeze']>, object]>([
    ['writes', { OrdersListLive: 3 }],
    ['all', {}],
  ])('of %s provisions only what is not stopped', async (freeze, expected) => {
    const { template } = await synthesise('prod', { changes: withProvisioned, freeze })
    expect(executionsIn(template)).toEqual(expected)
  })
})

test('a rollout that is gradual keeps the provisioned concurrency on the alias that CodeDeploy moves', () => {
  const { UpdatePolicy } = resourceNamed(
    provisioned.prod.template,
    'AWS::Lambda::Alias',
    'OrdersCreateLive',
  ) as Resource & { UpdatePolicy?: object }
  expect(UpdatePolicy).toHaveProperty('CodeDeployLambdaAliasUpdate')
})

test('the alarm on shared executions does not count those that are provisioned without a reservation', () => {
  const { settings, watch } = provisioned.prod
  const { Properties: alarm } = resourceNamed(watch, 'AWS::CloudWatch::Alarm', 'ConcurrencyHighAlarm')
  const { Expression } = alarm.Metrics.find((one: Resource['Properties']) => one.Expression)
  expect(Expression).toBe(`100 * unreserved / ${settings['limits.concurrency'] - reservedOnProd - 11}`)
})

test('the runbook says how to compare the executions with those that are ready', () => {
  const definition = alarmDefinitions.find(({ id }) => id === 'ProvisionedConcurrencyExceeded')
  expect(definition?.commands).toContain(
    'aws lambda get-provisioned-concurrency-config --function-name NAME --qualifier live',
  )
})

describe('a profile is refused', () => {
  test('if it provisions an unknown operation', () => {
    const settings = { ...localSettings, 'limits.provisionedConcurrency': { 'orders.make': 1 } }
    expect(String(thrownBy(() => checkOperations(settings, routes, 'p.json')))).toContain(
      '  limits.provisionedConcurrency: there is no operation orders.make',
    )
  })

  test.each([
    ['prod', { 'orders.create': 226 }, reservedOnProd],
    ['prod', { 'orders.create': 226, 'refunds.create': 100 }, reservedOnProd],
    ['dev', { 'orders.create': 901 }, 0],
  ])('if the quota of %s cannot hold %j', (stage, executions, reserved) => {
    const needed = reserved + executions['orders.create'] + 100
    expect(problemsOf(stage, executions, needed)).toEqual([])
    expect(problemsOf(stage, executions, needed - 1)).toEqual([
      `  limits.concurrency: ${needed - 1} is too small. Stage ${stage} ${reserved ? `reserves ${reserved} concurrent executions and ` : ''}provisions ${executions['orders.create']} for functions without a reservation, and AWS keeps 100 for functions without a reservation: ask for a quota of at least ${needed}`,
    ])
  })

  test('if it provisions more than is reserved', () => {
    expect(problemsOf('prod', { 'refunds.create': 100 })).toEqual([])
    expect(problemsOf('prod', { 'refunds.create': 101 })).toEqual([
      '  limits.provisionedConcurrency: refunds.create reserves 100 executions, and AWS refuses 101: choose at most 100',
    ])
  })

  test('if it provisions more functions than one alarm can sum', () => {
    const some = (count: number) =>
      Object.fromEntries(
        routes
          .filter(({ sharedFunction }) => !sharedFunction)
          .slice(0, count)
          .map(({ route }) => [route.operation, 1]),
      )
    expect(problemsOf('prod', some(10))).toEqual([])
    expect(problemsOf('prod', some(11))).toEqual([
      '  limits.provisionedConcurrency: 11 functions: choose at most 10',
    ])
  })

  test('on no stage that is not on AWS', () => {
    expect(problemsOf('local', { 'orders.create': 5000 })).toEqual([])
  })
})

/** Returns the problems of a stage with provisioned concurrency, as they are printed. */
function problemsOf(stage: string, executions: Record<string, number>, quota = 1000): string[] {
  const settings = {
    ...localSettings,
    'limits.provisionedConcurrency': executions,
    'limits.concurrency': quota,
  }
  const thrown = thrownBy(() => checkConcurrency(stageNamed(stage), settings, 'p.json'))
  return thrown instanceof Error ? thrown.message.split('\n').slice(1) : []
}
