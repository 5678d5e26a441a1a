import { describe, expect, test } from '@jest/globals'
import { stageNames } from '#lib/stage.ts'
import { withDomain } from './stage-settings.ts'
import { type Resource, resourcesOf, synthesize } from './synthesis.ts'

/** The most characters of a name, and the property that sets it. Without it, CloudFormation generates a name. */
const limits: Record<string, [property: string, characters: number]> = {
  'AWS::ApiGateway::RestApi': ['Name', 1024],
  'AWS::ApiGateway::Stage': ['StageName', 128],
  'AWS::Backup::BackupPlan': ['BackupPlan.BackupPlanName', 50],
  'AWS::Backup::BackupSelection': ['BackupSelection.SelectionName', 50],
  'AWS::Backup::BackupVault': ['BackupVaultName', 50],
  'AWS::CloudFormation::Stack': ['StackName', 128],
  'AWS::CloudWatch::Alarm': ['AlarmName', 255],
  'AWS::CloudWatch::Dashboard': ['DashboardName', 255],
  'AWS::CodeDeploy::Application': ['ApplicationName', 100],
  'AWS::CodeDeploy::DeploymentGroup': ['DeploymentGroupName', 100],
  'AWS::Cognito::UserPool': ['UserPoolName', 128],
  'AWS::Cognito::UserPoolClient': ['ClientName', 128],
  'AWS::DynamoDB::Table': ['TableName', 255],
  'AWS::Events::Archive': ['ArchiveName', 48],
  'AWS::Events::EventBus': ['Name', 256],
  'AWS::Events::Rule': ['Name', 64],
  'AWS::IAM::Policy': ['PolicyName', 128],
  'AWS::IAM::Role': ['RoleName', 64],
  'AWS::KMS::Alias': ['AliasName', 256],
  'AWS::Lambda::Alias': ['Name', 128],
  'AWS::Lambda::Function': ['FunctionName', 64],
  'AWS::Logs::LogGroup': ['LogGroupName', 512],
  'AWS::Logs::MetricFilter': ['FilterName', 512],
  'AWS::Logs::QueryDefinition': ['Name', 255],
  'AWS::S3::Bucket': ['BucketName', 63],
  'AWS::SES::ConfigurationSet': ['Name', 64],
  'AWS::SES::ConfigurationSetEventDestination': ['EventDestination.Name', 64],
  'AWS::SNS::Topic': ['TopicName', 256],
  'AWS::SQS::Queue': ['QueueName', 80],
  'AWS::Scheduler::Schedule': ['Name', 64],
  'AWS::SecretsManager::Secret': ['Name', 512],
  'AWS::StepFunctions::StateMachine': ['StateMachineName', 80],
  'AWS::WAFv2::IPSet': ['Name', 128],
  'AWS::WAFv2::WebACL': ['Name', 128],
  'AWS::XRay::SamplingRule': ['SamplingRule.RuleName', 32],
}

/** CloudFormation shortens the names of functions and roles that it generates. */
const shortened = ['AWS::IAM::Role', 'AWS::Lambda::Function']

/** They have an id or a part of another resource as their name. */
const unnamed = [
  ...['Account', 'Deployment', 'DomainName', 'BasePathMapping', 'GatewayResponse', 'Method', 'Model'],
  ...['RequestValidator', 'Resource'],
].map((type) => `AWS::ApiGateway::${type}`)
const others = [
  'AWS::KMS::Key',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Permission',
  'AWS::Lambda::Version',
  'AWS::S3::BucketPolicy',
  'AWS::SES::EmailIdentity',
  'AWS::SNS::TopicPolicy',
  'AWS::SQS::QueuePolicy',
  'AWS::WAFv2::LoggingConfiguration',
  'AWS::WAFv2::WebACLAssociation',
]

/** What CloudFormation adds to a logical id. */
const suffix = `-${'X'.repeat(13)}`
const longest = stageNames.toSorted((a, b) => b.length - a.length)[0] ?? ''
const stackName = `commerce-${longest}`
const changes = { ...withDomain, 'otp.deliveredOn': 'delivery' }
const { stacks } = await synthesize(longest, { changes })
const ids = Object.values(stacks).flatMap((template) =>
  resourcesOf(template, 'AWS::CloudFormation::Stack').map(([id]) => id),
)
const resources = Object.entries(stacks).flatMap(([name, template]) =>
  Object.entries(template.Resources).map(([id, one]) => ({ id, ...one, in: prefixOf(name) })),
)

/** Returns the name of a stack as CloudFormation generates it. `path` is that of a nested stack. */
function prefixOf(path: string): string {
  if (path === stackName) return stackName
  const parts = path.split('/')
  const id = ids.find((one) => one.startsWith(parts.join(''))) ?? `there is no stack ${path}`
  const outer = parts.length > 1 ? prefixOf(parts.slice(0, -1).join('/')) : stackName
  return `${outer}-${id}${suffix}`
}

function valueAtPath(properties: Resource['Properties'], path: string) {
  return path.split('.').reduce((value, name) => value?.[name], properties)
}

function nameOf({ id, Type, Properties, in: stack }: (typeof resources)[number]): string {
  const [property = ''] = limits[Type] ?? []
  const given = valueAtPath(Properties, property)
  // A name with references has no generated part, and is tested where it is built.
  if (given !== undefined) return typeof given === 'string' ? given : ''
  return shortened.includes(Type) ? '' : `${stack}-${id}${suffix}`
}

test('each type of resource is one whose names are known', () => {
  const known = [...Object.keys(limits), ...unnamed, ...others]
  expect([...new Set(resources.map(({ Type }) => Type))].filter((type) => !known.includes(type))).toEqual([])
})

describe.each(Object.entries(limits))('a name of %s', (type, [, characters]) => {
  const names = resources.filter(({ Type }) => Type === type).map(nameOf)

  test(`has at most ${characters} characters on the stage with the longest name`, () => {
    expect(names.filter((name) => name.length > characters)).toEqual([])
  })
})

/** Their names are unique within another resource, or need not be unique. */
const repeatable = [
  ...['ApiGateway::Stage', 'Backup::BackupPlan', 'Backup::BackupSelection', 'CodeDeploy::DeploymentGroup'],
  ...['Cognito::UserPoolClient', 'IAM::Policy', 'Lambda::Alias', 'Logs::MetricFilter'],
  'SES::ConfigurationSetEventDestination',
].map((type) => `AWS::${type}`)

test('only the domain and the mail identity of the profile can be those of another stage', async () => {
  const properties = Object.entries({
    ...limits,
    'AWS::ApiGateway::DomainName': ['DomainName'] as const,
    'AWS::SES::EmailIdentity': ['EmailIdentity'] as const,
  }).filter(([type]) => !repeatable.includes(type))
  const namesOf = (all: readonly Resource[]) =>
    properties.flatMap(([type, [property]]) =>
      all.flatMap(({ Type, Properties }) => {
        const name = Type === type && JSON.stringify(valueAtPath(Properties, property))
        // A name with a reference differs between stacks.
        return name && !name.includes('{') ? [`${type} ${name}`] : []
      }),
    )
  const { stacks: prod } = await synthesize('prod', { changes })
  const ofProd = namesOf(Object.values(prod).flatMap((template) => Object.values(template.Resources)))
  expect(ofProd.length).toBeGreaterThan(5)
  expect(namesOf(resources).filter((name) => ofProd.includes(name))).toEqual([
    'AWS::ApiGateway::DomainName "api.example.com"',
    'AWS::SES::EmailIdentity "mail.acme.cloud"',
  ])
})

test('a name that an account has once, in all regions together, contains the region', () => {
  const types = ['AWS::CloudWatch::Dashboard', 'AWS::IAM::Role', 'AWS::S3::Bucket']
  const names = resources.flatMap(({ Type, Properties }) => {
    const name = types.includes(Type) && valueAtPath(Properties, limits[Type]?.[0] ?? '')
    return name ? [JSON.stringify(name)] : []
  })
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) expect(name).toContain('AWS::Region')
})
