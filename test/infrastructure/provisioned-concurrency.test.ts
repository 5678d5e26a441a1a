import { describe, expect, test } from '@jest/globals'
import { checkConcurrency } from '#lib/checks/check-concurrency.ts'
import { looks } from '#lib/monitoring/looks.ts'
import { stageNamed } from '#lib/stage.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'
import { type SynthesisOptions, withProvisioned } from './stage-settings.ts'
import { propertiesOf, type Resource, resourcesOf, type Template, templatesOf } from './synthesis.ts'

const provisioned = {
  dev: await templatesOf('dev', { changes: withProvisioned }),
  prod: await templatesOf('prod', { changes: withProvisioned }),
}
const { settings, template, watch } = provisioned.prod
const reservedOnProd = resourcesOf(template, 'AWS::Lambda::Function')
  .map(([, { Properties }]) => Number(Properties.ReservedConcurrentExecutions ?? 0))
  .reduce((sum, one) => sum + one, 0)

/** Returns the provisioned concurrency of the aliases that have some. */
function executionsIn(its: Template): Record<string, number> {
  return Object.fromEntries(
    resourcesOf(its, 'AWS::Lambda::Alias').flatMap(([id, { Properties }]) => {
      const { ProvisionedConcurrencyConfig: config } = Properties
      return config ? [[id, config.ProvisionedConcurrentExecutions]] : []
    }),
  )
}

const all = { CodesActOnCodeLive: 3, OrdersCreateLive: 5, OrdersListLive: 3, RefundsCreateLive: 10 }

describe.each(Object.entries(provisioned))('limits.provisionedConcurrency on %s', (_stage, its) => {
  test('is the provisioned concurrency of the aliases of its operations, and of no other', () => {
    expect(executionsIn(its.template)).toEqual(all)
  })
})

test.each(['dev', 'prod'])('without it %s has no such alias', async (stage) => {
  expect(executionsIn((await templatesOf(stage)).template)).toEqual({})
})

test('the dashboard shows the calls that exceed it, of each alias', () => {
  const { widgets } = JSON.parse(propertiesOf(watch, 'Dashboard').DashboardBody)
  const titled = ({ properties }: Resource['Properties']) =>
    properties.title === 'Calls beyond provisioned concurrency'
  const shown = JSON.stringify(widgets.find(titled))
  for (const live of Object.keys(all)) {
    const name = `<${live.replace(/Live$/, '')}>`
    const metric = ['AWS/Lambda', 'ProvisionedConcurrencySpilloverInvocations', 'FunctionName', name]
    expect(shown).toContain(JSON.stringify([...metric, 'Resource', `${name}:live`]).slice(0, -1))
  }
})

test('the local stage ignores it, because it has no aliases', async () => {
  const local = await templatesOf('local', { changes: withProvisioned })
  expect(executionsIn(local.template)).toEqual({})
})

test.each<[NonNullable<SynthesisOptions['freeze']>, object]>([
  ['writes', { OrdersListLive: 3 }],
  ['all', {}],
])('a deployment that keeps a freeze of %s provisions only what is not stopped', async (freeze, expected) => {
  const frozen = await templatesOf('prod', { changes: withProvisioned, freeze })
  expect(executionsIn(frozen.template)).toEqual(expected)
})

test('a rollout that is gradual keeps the provisioned concurrency on the alias that CodeDeploy moves', () => {
  expect(template.Resources.OrdersCreateLive?.UpdatePolicy).toHaveProperty('CodeDeployLambdaAliasUpdate')
})

test('the alarm on shared executions does not count those that are provisioned without a reservation', () => {
  const shared = settings['limits.concurrency'] - reservedOnProd - 11
  expect(propertiesOf(watch, 'ConcurrencyHighAlarm').Metrics).toContainEqual(
    expect.objectContaining({ Expression: `100 * unreserved / ${shared}` }),
  )
})

test('the runbook says how to compare the executions with those that are ready', () => {
  const definition = looks.find(({ id }) => id === 'ProvisionedConcurrencyExceeded')
  expect(definition?.commands).toContain(
    'aws lambda get-provisioned-concurrency-config --function-name NAME --qualifier live',
  )
})

describe('a profile is refused', () => {
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
