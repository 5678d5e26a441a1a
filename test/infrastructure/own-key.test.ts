import { describe, expect, test } from '@jest/globals'
import { type Resource, referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template, watch } = await synthesise('prod')
const without = { local: await synthesise('local'), dev: await synthesise('dev') }
const [[keyId, key]] = resourcesOf(template, 'AWS::KMS::Key') as [[string, Resource]]
const arn = { 'Fn::GetAtt': [keyId, 'Arn'] }

/** The property of each kind of resource that names its key. */
const named: [type: string, key: (properties: Resource['Properties']) => unknown][] = [
  ['AWS::DynamoDB::Table', ({ SSESpecification }) => SSESpecification.KMSMasterKeyId],
  [
    'AWS::S3::Bucket',
    ({ BucketEncryption }) =>
      BucketEncryption.ServerSideEncryptionConfiguration[0].ServerSideEncryptionByDefault.KMSMasterKeyID,
  ],
  ['AWS::SQS::Queue', ({ KmsMasterKeyId }) => KmsMasterKeyId],
  ['AWS::SecretsManager::Secret', ({ KmsKeyId }) => KmsKeyId],
  ['AWS::Logs::LogGroup', ({ KmsKeyId }) => KmsKeyId],
  ['AWS::StepFunctions::StateMachine', ({ EncryptionConfiguration }) => EncryptionConfiguration.KmsKeyId],
  ['AWS::Events::EventBus', ({ KmsKeyIdentifier }) => KmsKeyIdentifier],
  ['AWS::Events::Archive', ({ KmsKeyIdentifier }) => KmsKeyIdentifier],
  ['AWS::Backup::BackupVault', ({ EncryptionKeyArn }) => EncryptionKeyArn],
]

describe('stored data on prod', () => {
  test.each(named)('includes every %s', (type, keyOf) => {
    const found = resourcesOf(template, type)
    expect(found.length).toBeGreaterThan(0)
    expect(
      found.filter(([, { Properties }]) => JSON.stringify(keyOf(Properties)) !== JSON.stringify(arn)),
    ).toEqual([])
  })

  test('includes the contents of alarms', () => {
    const [[, topic]] = resourcesOf(watch, 'AWS::SNS::Topic') as [[string, Resource]]
    const nested = resourcesOf(template, 'AWS::CloudFormation::Stack')
    const within = nested.find(([id]) => id.startsWith('Watch'))?.[1]
    expect(within?.Properties.Parameters[referenceOf(topic.Properties.KmsMasterKeyId)]).toEqual(arn)
  })

  test('requires few data keys: the bucket has a bucket key, and queues reuse theirs for an hour', () => {
    const [[, bucket]] = resourcesOf(template, 'AWS::S3::Bucket') as [[string, Resource]]
    const [rule] = bucket.Properties.BucketEncryption.ServerSideEncryptionConfiguration
    expect(rule.BucketKeyEnabled).toBe(true)
    for (const [, { Properties }] of resourcesOf(template, 'AWS::SQS::Queue'))
      expect(Properties.KmsDataKeyReusePeriodSeconds).toBe(3600)
  })
})

interface Statement {
  Sid?: string
  Action: string | string[]
  Resource: unknown
  Principal?: { Service?: unknown }
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
const functions = policies.filter(({ id }) => !id.startsWith('ImportMachineRole'))

describe('a role can use the key', () => {
  test.each(functions)('$id only for the services that it reads and writes', ({ statements, asking }) => {
    const actions = statements.flatMap(({ Action }) => Action)
    const serviceOf = (action: string) => `${action.split(':')[0]}.`
    const asked = (kinds: string[], what: (service: string) => string[]) =>
      kinds
        .filter((action) => actions.includes(action))
        .map(serviceOf)
        .flatMap((service) => what(service).map((right) => `kms:${right} ${service}`))
    const needed = asked([...reads, ...writes], (service) =>
      service === 'dynamodb.' ? ['Decrypt', 'DescribeKey'] : ['Decrypt'],
    )
    const made = asked(writes, (service) =>
      service === 'dynamodb.' ? [...ofTables, 'GenerateDataKey'] : ['GenerateDataKey'],
    )
    const granted = asking.flatMap(({ Action, Condition }) =>
      [Action].flat().map((action) => `${action} ${viaOf(Condition)}`),
    )
    expect([...new Set(granted)].sort()).toEqual([...new Set([...needed, ...made])].sort())
  })

  test('only if it is this key, and only for named actions', () => {
    const all = policies.flatMap(({ asking }) => asking)
    expect(all.length).toBeGreaterThan(functions.length)
    for (const { Action, Resource: on, Condition } of all) {
      expect(on).toEqual(arn)
      for (const action of [Action].flat()) expect(action).toMatch(/^kms:[A-Za-z]+$/)
      expect(Object.keys(Condition ?? {})).toEqual(['StringEquals'])
    }
    const roles = resourcesOf(template, 'AWS::IAM::Role').map(([, { Properties }]) => Properties)
    expect(JSON.stringify(roles)).not.toContain('kms:')
  })

  test('of the workflow for its state and the manifests', () => {
    const [machine] = policies.filter(({ id }) => id.startsWith('ImportMachineRole'))
    const conditions = JSON.stringify(machine?.asking.map(({ Condition }) => Condition))
    expect(conditions).toContain('kms:EncryptionContext:aws:states:stateMachineArn')
    expect(conditions).toContain('"s3."')
  })

  test.each(['commerce-prod-imports', 'commerce-prod-imports/Rows'])(
    'of the workflow for runs of %s',
    (run) => {
      const [machine] = policies.filter(({ id }) => id.startsWith('ImportMachineRole'))
      const found = machine?.asking.filter(({ Condition }) =>
        JSON.stringify(Condition).includes(`:stateMachine:${run}"`),
      )
      expect(found?.map(({ Action }) => Action)).toEqual([['kms:Decrypt', 'kms:GenerateDataKey']])
    },
  )

  test('of the workflow to start its map', () => {
    const [machine] = policies.filter(({ id }) => id.startsWith('ImportMachineRole'))
    const found = machine?.asking.filter(({ Condition }) => viaOf(Condition) === 'states.')
    expect(found?.map(({ Action }) => Action)).toEqual([['kms:Decrypt', 'kms:GenerateDataKey']])
  })
})

/** `dynamodb.` of the condition that a key is used through DynamoDB. */
function viaOf(condition: Statement['Condition']): unknown {
  const via = condition?.StringEquals?.['kms:ViaService'] as { 'Fn::Join': [string, unknown[]] } | undefined
  return via?.['Fn::Join'][1][0]
}

describe('the policy of the key', () => {
  const statements: Statement[] = key.Properties.KeyPolicy.Statement
  const services = statements.filter(({ Principal }) => Principal?.Service)

  test('names the services that encrypt on their own behalf', () => {
    const principals = services.map(({ Principal }) => JSON.stringify(Principal?.Service))
    for (const service of [
      '"logs."',
      'cloudwatch.amazonaws.com',
      'events.amazonaws.com',
      'delivery.logs.amazonaws.com',
    ])
      expect(principals.filter((one) => one.includes(service)).length).toBeGreaterThan(0)
    expect(new Set(principals).size).toBe(4)
  })

  test.each([
    ['EncryptLogs', 'kms:EncryptionContext:aws:logs:arn', ':log-group:commerce-prod-*'],
    ['PublishAlarms', 'aws:SourceArn', ':alarm:commerce-prod-*'],
    ['ArchiveEvents', 'kms:EncryptionContext:aws:events:event-bus:arn', ':event-bus/commerce-prod'],
    ['SendEventsToQueues', 'kms:EncryptionContext:aws:sqs:arn', ':commerce-prod-*'],
  ])('%s is limited to this stage', (sid, condition, name) => {
    const statement = services.find(({ Sid }) => Sid === sid)
    const values = Object.values(statement?.Condition ?? {}).map((one) => one[condition])
    expect(JSON.stringify(values)).toContain(name)
  })

  test.each([
    ['EncryptLogs', ['Decrypt', 'DescribeKey', 'Encrypt', 'GenerateDataKey*', 'ReEncrypt*']],
    ['PublishAlarms', ['Decrypt', 'GenerateDataKey*']],
    ['ArchiveEvents', ['Decrypt', 'GenerateDataKey', 'ReEncrypt*']],
    ['DescribeForEvents', ['DescribeKey']],
    ['SendEventsToQueues', ['Decrypt', 'GenerateDataKey']],
  ])('%s grants the actions that AWS documents', (sid, actions) => {
    const statement = services.find(({ Sid }) => Sid === sid)
    expect([statement?.Action ?? []].flat().sort()).toEqual(actions.map((action) => `kms:${action}`))
  })

  test('references nothing that references the key', () => {
    const references = [...JSON.stringify(key.Properties).matchAll(/"(?:Ref|Fn::GetAtt)":\[?"([^"]+)"/g)]
    const others = references.map(([, id]) => id as string).filter((id) => !id.startsWith('AWS::'))
    expect(others).toEqual([])
  })
})

describe('the bus', () => {
  const [[, bus]] = resourcesOf(template, 'AWS::Events::EventBus') as [[string, Resource]]

  test('keeps events that it cannot encrypt or decrypt in an encrypted queue, with an alarm', () => {
    const queueId = referenceOf(bus.Properties.DeadLetterConfig.Arn)
    expect(template.Resources[queueId]?.Properties.KmsMasterKeyId).toEqual(arn)
    const { Properties: alarm } = resourceNamed(
      watch,
      'AWS::CloudWatch::Alarm',
      'EventBusDeadLettersPresentAlarm',
    )
    expect(alarm.Dimensions[0].Value.Ref).toMatch(/^referencetocommerceprodEventBusDeadLetters/)
  })

  test('is the only sender to the queues: every grant to EventBridge names this account or its source', () => {
    const rights = resourcesOf(template, 'AWS::SQS::QueuePolicy').flatMap(
      ([, { Properties }]) => Properties.PolicyDocument.Statement as (Statement & { Effect: string })[],
    )
    const ofEvents = rights.filter(({ Principal }) => Principal?.Service === 'events.amazonaws.com')
    expect(ofEvents.length).toBeGreaterThan(0)
    for (const { Effect, Condition } of ofEvents) {
      expect(Effect).toBe('Allow')
      expect(JSON.stringify(Condition)).toMatch(/"aws:Source(Account|Arn)"/)
    }
  })
})

test.each(Object.entries(without))('the stage %s has no customer managed key', (_stage, its) => {
  for (const one of [its.template, its.watch]) {
    expect(resourcesOf(one, 'AWS::KMS::Key')).toEqual([])
    expect(JSON.stringify(one)).not.toMatch(/"kms:|KmsMasterKeyId|"KmsKeyId"|KMSMasterKey/)
  }
})
