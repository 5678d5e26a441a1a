import { describe, expect, test } from '@jest/globals'
import { lostPermissions, permissionsIn } from '#bin/commands/preflight/lost-permissions.ts'
import { functionOf, routes } from '#functions/routes.ts'
import { corsPreflight, pascalCase, unknownRoute } from '#lib/functions/function-names.ts'
import { idsOf, propertiesOf, resourcesOf, synthesize, type Template, templatesOf } from './synthesis.ts'

const { template, settings } = await templatesOf('prod')
const { template: bypassing } = await templatesOf('prod', { bypassesRollout: true })
const ofRoutes = routes.map((entry) => functionOf(entry).name)
const behindGateway = [...new Set([...ofRoutes, corsPreflight.name, unknownRoute.name])].map(pascalCase)
const ids = [...behindGateway].sort()

test('the gateway can invoke functions through their aliases only', () => {
  const permitted = resourcesOf(template, 'AWS::Lambda::Permission').flatMap(([, { Properties }]) =>
    Properties.Principal === 'apigateway.amazonaws.com' ? [Properties.FunctionName] : [],
  )
  expect(permitted.sort()).toEqual(ids.map((id) => `<${id}Live>`).sort())
})

test('preflight finds what each function may do: at least to write its log', async () => {
  const { stacks } = await synthesize('prod')
  const permissions = Object.values(stacks).flatMap(permissionsIn)
  const functions = Object.values(stacks).flatMap((one) => resourcesOf(one, 'AWS::Lambda::Function'))
  const logging = permissions.filter(([, all]) => [...all].some((one) => one.startsWith('logs:PutLogEvents')))
  expect(logging.map(([id]) => id).sort()).toEqual(functions.map(([id]) => id).sort())
})

test('preflight names a kind of items that a function may no longer use', async () => {
  const limit = { limit: 9, windowSeconds: 60, per: 'tenant', counts: 'requests' }
  const limited = await synthesize('prod', { changes: { 'limits.other': { 'orders.create': [limit] } } })
  const { stacks } = await synthesize('prod', { changes: { 'limits.other': {} } })
  expect(lostPermissions(Object.values(stacks), Object.values(limited.stacks))).toEqual([
    expect.stringMatching(/^OrdersCreate may no longer use .*dynamodb:UpdateItem on rate#\*/),
  ])
})

describe('a deployment', () => {
  test.each(behindGateway)('of %s rolls back if its new version fails', (id) => {
    const rollout = propertiesOf(template, `${id}Rollout`)
    expect(template.Resources[`${id}Live`]?.UpdatePolicy).toEqual({
      CodeDeployLambdaAliasUpdate: {
        ApplicationName: propertiesOf(template, 'DeploymentsApplication').ApplicationName,
        DeploymentGroupName: rollout.DeploymentGroupName,
      },
    })
    expect(rollout.AutoRollbackConfiguration).toEqual({
      Enabled: true,
      Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'],
    })
    expect(rollout.AlarmConfiguration).toEqual({ Enabled: true, Alarms: [{ Name: `<${id}NewVersion>` }] })
  })

  test.each(behindGateway)('of %s is judged by the failures of the new version, and by no other', (id) => {
    const { FunctionVersion: Value } = propertiesOf(template, `${id}Live`)
    const { AlarmName, Metrics } = propertiesOf(template, `${id}NewVersion`)
    const [, ...measured] = Metrics
    expect(measured.map(({ Id }: { Id: string }) => Id)).toEqual(['errors', 'failures'])
    expect(measured[0].MetricStat.Metric.Dimensions).toContainEqual({ Name: 'ExecutedVersion', Value })
    expect(measured[1].MetricStat.Metric.Dimensions).toContainEqual({ Name: 'function_version', Value })
    // The alarm of the previous version may still be raised.
    expect(AlarmName['Fn::Join'][1][1]).toBe(Value)
  })

  test('to prod shifts a tenth of the traffic first', () => {
    const groups = idsOf(template, 'AWS::CodeDeploy::DeploymentGroup')
    expect(groups).toHaveLength(behindGateway.length)
    for (const group of groups)
      expect(propertiesOf(template, group).DeploymentConfigName).toBe(
        'CodeDeployDefault.LambdaCanary10Percent5Minutes',
      )
  })

  test('to a stage without alarms moves every alias at once', async () => {
    const { template: its } = await templatesOf('dev')
    const aliases = resourcesOf(its, 'AWS::Lambda::Alias')
    expect(aliases.length).toBeGreaterThan(behindGateway.length)
    expect(aliases.filter(([, { UpdatePolicy }]) => UpdatePolicy)).toEqual([])
    expect(idsOf(its, 'AWS::CodeDeploy::DeploymentGroup')).toEqual([])
  })

  test('moves the aliases of all other functions at once', () => {
    const gradual = resourcesOf(template, 'AWS::Lambda::Alias').filter(([, { UpdatePolicy }]) => UpdatePolicy)
    expect(gradual.map(([id]) => id).sort()).toEqual(ids.map((id) => `${id}Live`).sort())
  })
})

describe('a deployment that bypasses CodeDeploy', () => {
  test('lets CloudFormation update every alias', () => {
    for (const [, alias] of resourcesOf(bypassing, 'AWS::Lambda::Alias'))
      expect(alias.UpdatePolicy).toBeUndefined()
  })

  test('keeps the deployment groups for the next one', () => {
    const type = 'AWS::CodeDeploy::DeploymentGroup'
    expect(idsOf(bypassing, type)).toEqual(idsOf(template, type))
  })
})

describe('a version', () => {
  const versionsOf = (its: Template) => idsOf(its, 'AWS::Lambda::Version')
  const newAfter = async (options: Parameters<typeof templatesOf>[1]) => {
    const changed = await templatesOf('prod', options)
    return versionsOf(changed.template).filter((id) => !versionsOf(template).includes(id))
  }

  test('is new for the function whose code changed, and for no other', async () => {
    const changed = await newAfter({ codeShas: { 'orders.create': 'another' } })
    expect(changed).toEqual([expect.stringMatching(/^OrdersCreateCurrentVersion/)])
  })

  test('is new for every function whose configuration changed', async () => {
    const timeout = { ...settings['requests.timeoutHeader'], maxMilliseconds: 5000 }
    const changed = await newAfter({ changes: { 'requests.timeoutHeader': timeout } })
    expect(changed.length).toBeGreaterThanOrEqual(behindGateway.length)
  })
})
