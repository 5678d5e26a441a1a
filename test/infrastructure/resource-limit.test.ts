import { describe, expect, test } from '@jest/globals'
import { behindDomain, moreRoutes, withDomain } from './stage-settings.ts'
import { resourcesOf, type Synthesis, synthesize, type Template } from './synthesis.ts'

/** CloudFormation accepts 500 resources and 200 parameters and outputs each in one stack. */
const limits = { resources: 450, parameters: 190, outputs: 190 }
const prod = await synthesize('prod', { changes: withDomain })
const grown = await synthesize('prod', { changes: withDomain, moreRoutes })
const stages: [stage: string, Synthesis][] = [
  ['local', await synthesize('local')],
  ['dev', await synthesize('dev', { changes: behindDomain })],
  ['prod', prod],
  [`prod with ${moreRoutes.length} more routes`, grown],
]

const sizesOf = ({ Resources, Parameters = {}, Outputs = {} }: Template) => ({
  resources: Object.keys(Resources).length,
  parameters: Object.keys(Parameters).length,
  outputs: Object.keys(Outputs).length,
})

test.each(stages)('the stage %s stays within the limits of each stack', (_stage, { stacks }) => {
  const exceeding = Object.entries(stacks).flatMap(([name, template]) =>
    Object.entries(sizesOf(template)).flatMap(([kind, size]) => {
      const limit = limits[kind as keyof typeof limits]
      return size > limit ? [`${name}: ${size} ${kind}, above ${limit}`] : []
    }),
  )
  expect(exceeding).toEqual([])
})

describe('an additional route', () => {
  const added = Object.entries(grown.stacks.ExtraArea?.Resources ?? {})

  test('has its function, log, permissions, alias, deployment group and methods in the nested stack of its area', () => {
    expect(added.map(([, { Type }]) => Type)).toEqual(
      expect.arrayContaining([
        'AWS::ApiGateway::Method',
        'AWS::CloudWatch::Alarm',
        'AWS::CodeDeploy::DeploymentGroup',
        'AWS::IAM::Policy',
        'AWS::IAM::Role',
        'AWS::Lambda::Alias',
        'AWS::Lambda::Function',
        'AWS::Lambda::Version',
        'AWS::Logs::LogGroup',
      ]),
    )
    expect(resourcesOf(grown.stacks.ExtraArea as Template, 'AWS::Lambda::Function')).toHaveLength(
      moreRoutes.length,
    )
  })

  test('adds only a path and its OPTIONS method to the main stack', () => {
    const before = new Set(Object.keys(prod.stacks['commerce-prod']?.Resources ?? {}))
    const more = Object.entries(grown.stacks['commerce-prod']?.Resources ?? {})
      .filter(([id]) => !before.has(id))
      .map(([, { Type }]) => Type)
    // Once, however many routes: the nested stack of the area, versions of functions that know all paths, a deployment.
    const once = ['AWS::CloudFormation::Stack', 'AWS::Lambda::Version', 'AWS::ApiGateway::Deployment']
    const [each, others] = [
      more.filter((type) => !once.includes(type)),
      more.filter((type) => once.includes(type)),
    ]
    expect([...new Set(each)].sort()).toEqual(['AWS::ApiGateway::Method', 'AWS::ApiGateway::Resource'])
    expect(each.length).toBeLessThanOrEqual(2 * moreRoutes.length)
    expect(others.length).toBeLessThan(moreRoutes.length)
  })

  test('is deployed gradually by a group with the name in its alias', () => {
    const groups = added.flatMap(([, { Properties }]) => Properties.DeploymentGroupName ?? [])
    const aliases = added.filter(([, { Type }]) => Type === 'AWS::Lambda::Alias')
    const named = aliases.map(([, { UpdatePolicy }]) => UpdatePolicy)
    expect(groups).toEqual(expect.arrayContaining(['ExtraRead1Rollout', 'ExtraRead30Rollout']))
    expect(named).toEqual(
      expect.arrayContaining([
        {
          CodeDeployLambdaAliasUpdate: {
            ApplicationName: 'commerce-prod',
            DeploymentGroupName: 'ExtraRead1Rollout',
          },
        },
      ]),
    )
  })

  test('can be invoked by the gateway before it is reachable', () => {
    const [[, deployment] = []] = resourcesOf(
      grown.stacks['commerce-prod'] as Template,
      'AWS::ApiGateway::Deployment',
    )
    expect(JSON.stringify(deployment)).toContain('"InvocationsNestedStackInvocationsNestedStackResource')
  })
})

test('the functions of the route table are in the nested stacks of their areas, and none in the main stack', () => {
  const { 'commerce-prod': main = { Resources: {} }, OrdersArea: orders = { Resources: {} } } = prod.stacks
  const idsIn = (stack: Template) =>
    resourcesOf(stack, 'AWS::Lambda::Function')
      .map(([id]) => id)
      .join(' ')
  for (const name of ['OrdersCreate', 'OrdersRead', 'OrdersList'])
    expect(idsIn(orders)).toMatch(new RegExp(`\\b${name}\\w{8}\\b`))
  expect(idsIn(main)).not.toMatch(/\bOrders/)
})
