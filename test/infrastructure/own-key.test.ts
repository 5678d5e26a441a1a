import { describe, expect, test } from '@jest/globals'
import { idsOf, propertiesOf, resourcesOf, templatesOf } from './synthesis.ts'

const { template } = await templatesOf('prod')
const without = { local: await templatesOf('local'), dev: await templatesOf('dev') }

interface Statement {
  Sid?: string
  Action: string | string[]
  Resource: unknown
  Principal?: { Service?: string }
  Condition?: Record<string, Record<string, unknown>>
}

const reads = [
  'dynamodb:GetItem',
  'dynamodb:BatchGetItem',
  'dynamodb:Query',
  'dynamodb:GetRecords',
  's3:GetObject',
  'sqs:ReceiveMessage',
  'secretsmanager:GetSecretValue',
  'states:DescribeExecution',
]
const writes = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:PartiQLInsert',
  's3:PutObject',
  'sqs:SendMessage',
  'states:StartExecution',
]
/** The permissions that DynamoDB requires to write to a table with a customer managed key. */
const ofTables = ['Encrypt', 'ReEncryptFrom', 'ReEncryptTo', 'GenerateDataKeyWithoutPlaintext']
const policies = resourcesOf(template, 'AWS::IAM::Policy').map(([id, { Properties }]) => {
  const statements: Statement[] = Properties.PolicyDocument.Statement
  return { id, statements, asking: statements.filter(({ Action }) => /kms:/.test(JSON.stringify(Action))) }
})
const ofMachine = 'ImportMachineRoleDefaultPolicy'
const functions = policies.filter(({ id }) => id !== ofMachine)
const viaService = 'kms:ViaService'

describe('a role can use the key', () => {
  test.each(functions)('$id only for the services that it reads and writes', ({ statements, asking }) => {
    const actions = statements.flatMap(({ Action }) => Action)
    const asked = (kinds: string[], what: (service: string) => string[]) =>
      kinds
        .filter((action) => actions.includes(action))
        .map((action) => action.replace(/:.*/, ''))
        .flatMap((service) =>
          what(service).map((right) => `kms:${right} ${service}.<AWS::Region>.amazonaws.com`),
        )
    const needed = asked([...reads, ...writes], (service) =>
      service === 'dynamodb' ? ['Decrypt', 'DescribeKey'] : ['Decrypt'],
    )
    const made = asked(writes, (service) =>
      service === 'dynamodb' ? [...ofTables, 'GenerateDataKey'] : ['GenerateDataKey'],
    )
    const granted = asking.flatMap(({ Action, Condition }) =>
      [Action].flat().map((action) => `${action} ${Condition?.StringEquals?.[viaService]}`),
    )
    expect([...new Set(granted)].sort()).toEqual([...new Set([...needed, ...made])].sort())
  })

  test('only if it is this key, and only for named actions', () => {
    for (const { Action, Resource: on, Condition } of policies.flatMap(({ asking }) => asking)) {
      expect(on).toBe('<Key.Arn>')
      for (const action of [Action].flat()) expect(action).toMatch(/^kms:[A-Za-z]+$/)
      expect(Object.keys(Condition ?? {})).toEqual(['StringEquals'])
    }
    const roles = resourcesOf(template, 'AWS::IAM::Role').map(([, { Properties }]) => Properties)
    expect(JSON.stringify(roles)).not.toContain('kms:')
  })

  const arn = 'arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:stateMachine:commerce-prod-imports'
  const both = ['kms:Decrypt', 'kms:GenerateDataKey']
  test.each([
    ['runs', 'kms:EncryptionContext:aws:states:stateMachineArn', arn, both],
    ['runs of the map', 'kms:EncryptionContext:aws:states:stateMachineArn', `${arn}/Rows`, both],
    ['the start of the map', viaService, 'states.<AWS::Region>.amazonaws.com', both],
  ])('of the workflow for %s', (_, key, value, actions) => {
    const { asking = [] } = policies.find(({ id }) => id === ofMachine) ?? {}
    const found = asking.filter(({ Condition }) => Condition?.StringEquals?.[key] === value)
    expect(found.map(({ Action }) => Action)).toEqual([actions])
  })
})

describe('the policy of the key', () => {
  const { KeyPolicy } = propertiesOf(template, 'Key')
  const services: Statement[] = KeyPolicy.Statement.filter(({ Principal }: Statement) => Principal?.Service)
  const context = (service: string) => `kms:EncryptionContext:aws:${service}:arn`

  const everything = 'Decrypt DescribeKey Encrypt GenerateDataKey* ReEncrypt*'
  // The actions are those that AWS documents.
  test.each([
    ['EncryptLogs', everything, context('logs'), ':log-group:commerce-prod-*'],
    ['EncryptLogs', everything, context('logs'), ':log-group:aws-waf-logs-commerce-prod-users"'],
    ['PublishAlarms', 'Decrypt GenerateDataKey*', 'aws:SourceArn', ':alarm:commerce-prod-*'],
    [
      'ArchiveEvents',
      'Decrypt GenerateDataKey ReEncrypt*',
      context('events:event-bus'),
      ':event-bus/commerce-prod',
    ],
    ['SendEventsToQueues', 'Decrypt GenerateDataKey', context('sqs'), ':commerce-prod-*'],
    ['DeliverLogsOfWorkflows', 'Decrypt', 'kms:EncryptionContext:SourceArn', ':<AWS::AccountId>:*'],
    [
      undefined,
      'Decrypt DescribeKey GenerateDataKey',
      context('events:event-bus'),
      ':event-bus/commerce-prod',
    ],
  ])('%s permits %s only if %s ends with %s', (sid, actions, condition, end) => {
    const statement = services.find(({ Sid }) => Sid === sid)
    const values = Object.values(statement?.Condition ?? {}).map((one) => one[condition])
    expect(JSON.stringify(values)).toContain(end)
    const granted = [statement?.Action ?? []].flat()
    expect(granted.map((one) => one.replace('kms:', '')).join(' ')).toBe(actions)
  })

  // EventBridge sends it neither an account nor an encryption context: a condition would refuse every call.
  test('lets EventBridge describe the key under no condition', () => {
    const describing = services.find(({ Sid }) => Sid === 'DescribeForEvents')
    expect(describing).toMatchObject({
      Action: 'kms:DescribeKey',
      Principal: { Service: 'events.amazonaws.com' },
    })
    expect(describing).not.toHaveProperty('Condition')
  })

  test('lets no other service use it under no condition', () => {
    const free = services.filter(({ Condition }) => Condition === undefined)
    expect(free.map(({ Action }) => Action)).toEqual(['kms:DescribeKey'])
  })

  test('names the services that encrypt on their own behalf', () => {
    expect([...new Set(services.map(({ Principal }) => Principal?.Service))].toSorted()).toEqual([
      'cloudwatch.amazonaws.com',
      'delivery.logs.amazonaws.com',
      'events.amazonaws.com',
      'logs.<AWS::Region>.amazonaws.com',
    ])
  })

  test('references nothing that references the key', () => {
    expect(JSON.stringify(KeyPolicy)).not.toMatch(/<(?!AWS::)/)
  })
})

test('only EventBridge of this stage sends to queues', () => {
  const sending = idsOf(template, 'AWS::SQS::QueuePolicy').flatMap((id): Statement[] =>
    propertiesOf(template, id).PolicyDocument.Statement.filter(
      ({ Principal }: Statement) => Principal?.Service === 'events.amazonaws.com',
    ),
  )
  expect(sending).toHaveLength(4)
  for (const { Condition } of sending)
    expect(JSON.stringify(Condition)).toMatch(/"aws:SourceArn":"<\w+\.Arn>"/)
})

test.each(Object.entries(without))('the stage %s has no customer managed key', (_stage, its) => {
  for (const one of [its.template, its.watch]) {
    expect(idsOf(one, 'AWS::KMS::Key')).toEqual([])
    expect(JSON.stringify(one)).not.toMatch(/"kms:|KmsMasterKeyId|"KmsKeyId"|KMSMasterKey/)
  }
})
