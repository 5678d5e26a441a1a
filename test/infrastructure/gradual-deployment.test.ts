import { describe, expect, test } from '@jest/globals'
import { functionOf, routes } from '#functions/routes.ts'
import { pascalCase } from '#lib/function-entries.ts'
import { type Resource, referenceOf, resourcesOf, synthesise } from './synthesis.ts'

/** Each synthesis is a process. */
const prod = await synthesise('prod')
const { template } = prod
const { template: bypassing } = await synthesise('prod', { bypassesRollout: true })
const resources = template.Resources as Record<string, Resource & { UpdatePolicy?: unknown }>
const aliases = resourcesOf(template, 'AWS::Lambda::Alias') as [string, (typeof resources)[string]][]
const behindGateway = [
  ...new Set(routes.map((entry) => functionOf(entry).name)),
  ...['platform.preflight', 'platform.unknown-route'],
]

test('the gateway can invoke functions through their aliases only', () => {
  const permitted = resourcesOf(template, 'AWS::Lambda::Permission')
    .filter(([, { Properties }]) => Properties.Principal === 'apigateway.amazonaws.com')
    .map(([, { Properties }]) => referenceOf(Properties.FunctionName).replace(/[0-9A-F]{8}$/, ''))
  expect(permitted.sort()).toEqual(behindGateway.map((name) => `${pascalCase(name)}Live`).sort())
})

/** Returns the deployment group of a function's alias. */
function groupOf(name: string): Resource {
  const [alias] = aliases.filter(([id]) => id.startsWith(`${pascalCase(name)}Live`))
  const update = alias?.[1].UpdatePolicy as { CodeDeployLambdaAliasUpdate: Record<string, string> }
  const { ApplicationName: application, DeploymentGroupName: group } = update.CodeDeployLambdaAliasUpdate
  const [[, its] = []] = resourcesOf(template, 'AWS::CodeDeploy::Application')
  expect(its?.Properties.ApplicationName).toBe(application)
  const found = resourcesOf(template, 'AWS::CodeDeploy::DeploymentGroup').filter(
    ([, { Properties }]) => Properties.DeploymentGroupName === group,
  )
  expect(found).toHaveLength(1)
  return (found[0] as [string, Resource])[1]
}

describe('a deployment', () => {
  test.each(behindGateway)('of %s rolls back if its new version fails', (name) => {
    const { Properties: group } = groupOf(name)
    expect(group.AutoRollbackConfiguration).toEqual({
      Enabled: true,
      Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'],
    })
    expect(group.AlarmConfiguration.Enabled).toBe(true)
    const [{ Name: alarmName }] = group.AlarmConfiguration.Alarms
    const { Properties: alarm } = resources[referenceOf(alarmName)] as Resource
    const [alias] = aliases.filter(([id]) => id.startsWith(`${pascalCase(name)}Live`))
    const version = alias?.[1].Properties.FunctionVersion
    for (const { Id, MetricStat } of alarm.Metrics.slice(1)) {
      const dimension = Id === 'errors' ? 'ExecutedVersion' : 'function_version'
      expect(MetricStat.Metric.Dimensions).toContainEqual({ Name: dimension, Value: version })
    }
    expect(alarm.Metrics.map(({ Id }: { Id: string }) => Id).slice(1)).toEqual(['errors', 'failures'])
  })

  test.each(behindGateway)('of %s is not blocked by the alarm of the previous version', (name) => {
    const { Properties: group } = groupOf(name)
    expect(group.AlarmConfiguration.Alarms).toHaveLength(1)
    const { Properties: alarm } = resources[referenceOf(group.AlarmConfiguration.Alarms[0].Name)] as Resource
    const [, version] = alarm.AlarmName['Fn::Join'][1]
    expect(version['Fn::GetAtt']).toEqual([expect.stringMatching(/CurrentVersion/), 'Version'])
  })

  test.each([
    ['prod', 'CodeDeployDefault.LambdaCanary10Percent5Minutes'],
    ['dev', 'CodeDeployDefault.LambdaAllAtOnce'],
  ])('to %s shifts traffic by %s', async (stage, config) => {
    const { template: its } = await synthesise(stage)
    const groups = resourcesOf(its, 'AWS::CodeDeploy::DeploymentGroup')
    expect(groups).toHaveLength(behindGateway.length)
    for (const [, { Properties }] of groups) expect(Properties.DeploymentConfigName).toBe(config)
  })

  test('moves the aliases of all other functions at once', () => {
    const gradual = aliases.filter(([, { UpdatePolicy }]) => UpdatePolicy !== undefined)
    const ids = gradual.map(([id]) => id.replace(/[0-9A-F]{8}$/, ''))
    expect(ids.sort()).toEqual(behindGateway.map((name) => `${pascalCase(name)}Live`).sort())
  })
})

describe('a deployment that bypasses CodeDeploy', () => {
  const aliasesOf = (its: typeof template) =>
    resourcesOf(its, 'AWS::Lambda::Alias').map(([, { UpdatePolicy }]) => UpdatePolicy)

  test('lets CloudFormation update every alias', () => {
    expect(aliasesOf(template)).toContainEqual({ CodeDeployLambdaAliasUpdate: expect.anything() })
    expect(new Set(aliasesOf(bypassing))).toEqual(new Set([undefined]))
  })

  test('keeps the deployment groups for the next one', () => {
    const groupsOf = (its: typeof template) =>
      resourcesOf(its, 'AWS::CodeDeploy::DeploymentGroup').map(([id]) => id)
    expect(groupsOf(bypassing)).toEqual(groupsOf(template))
  })
})

test('versions are kept when a newer one replaces them, and removed if their deployment fails', () => {
  const policies = resourcesOf(template, 'AWS::Lambda::Version').map(([, version]) => [
    version.DeletionPolicy,
    version.UpdateReplacePolicy,
  ])
  expect(policies.length).toBeGreaterThan(0)
  for (const policy of policies) expect(policy).toEqual(['RetainExceptOnCreate', 'Retain'])
})

describe('a version', () => {
  const versionsOf = (its: typeof template) => resourcesOf(its, 'AWS::Lambda::Version').map(([id]) => id)
  const known = new Set(versionsOf(template))
  const newAfter = async (options: Parameters<typeof synthesise>[1]) =>
    versionsOf((await synthesise('prod', options)).template).filter((id) => !known.has(id))

  test('stays if nothing changes', async () => {
    expect(await newAfter({})).toEqual([])
  })

  test('is new for the function whose code changed, and for no other', async () => {
    const changed = await newAfter({ codeShas: { 'orders.create': 'another' } })
    expect(changed).toEqual([expect.stringMatching(/^OrdersCreateCurrentVersion/)])
  })

  test('is new for every function whose configuration changed', async () => {
    const timeout = { ...prod.settings['requests.timeoutHeader'], maxMilliseconds: 5000 }
    const changed = await newAfter({ changes: { 'requests.timeoutHeader': timeout } })
    expect(changed.length).toBeGreaterThanOrEqual(behindGateway.length)
  })
})
