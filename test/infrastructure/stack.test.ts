import { describe, expect, test } from '@jest/globals'
import { functionOf, routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { functionEntries, pascalCase, preflight, unknownRoute } from '#lib/function-entries.ts'
import type { Right } from '#lib/rights.ts'
import { importSteps } from '#shared/imports/import-steps.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import type { TableCall } from '#shared/platform/table/table.ts'
import { declaredUses } from './declared-uses.ts'
import { type Resource, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template, settings } = await synthesise('prod')

/** Each function with its permissions: those of its routes. */
const declared = declaredUses(settings)
for (const { name } of [preflight, unknownRoute]) declared.set(name, { uses: new Set(), table: {} })
const functions = Array.from(declared, ([name, { uses, table }]) => ({ name, uses: [...uses], table }))

describe('the table', () => {
  const [[, table]] = resourcesOf(template, 'AWS::DynamoDB::Table') as [[string, Resource]]

  test('reports its hottest keys if storage.contributorInsights says so', async () => {
    const { template: reporting } = await synthesise('prod', {
      changes: { 'storage.contributorInsights': true },
    })
    const [[, other]] = resourcesOf(reporting, 'AWS::DynamoDB::Table') as [[string, Resource]]
    expect(table.Properties.ContributorInsightsSpecification).toBeUndefined()
    expect(other.Properties.ContributorInsightsSpecification).toEqual({
      Enabled: true,
      Mode: 'ACCESSED_AND_THROTTLED_KEYS',
    })
  })
})

describe('functions', () => {
  test('there is one for each method of a path and each subscription, for preflight and for unknown routes', () => {
    expect(Object.keys(functionEntries()).sort()).toEqual(functions.map(({ name }) => name).sort())
    expect(resourcesOf(template, 'AWS::Lambda::Function')).toHaveLength(functions.length)
  })

  test.each(functions)('$name runs on Node 24 and arm64, and is traced', ({ name }) => {
    const { Properties: built } = resourceNamed(template, 'AWS::Lambda::Function', pascalCase(name))
    expect(built).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      TracingConfig: { Mode: 'Active' },
      Handler: 'index.handler',
    })
    const step = steps.find((one) => one.name === name)?.step
    expect(built.Timeout).toBeLessThanOrEqual(step ? importSteps[step].seconds + 5 : 30)
  })

  test.each(routes)(
    'a request of $route.operation can spend its budget and still get a response',
    (entry) => {
      const { Properties: built } = resourceNamed(
        template,
        'AWS::Lambda::Function',
        pascalCase(functionOf(entry).name),
      )
      const { maxMilliseconds } = settings['requests.timeoutHeader']
      expect(built.Timeout * 1000).toBeGreaterThanOrEqual(maxMilliseconds + 1000)
      expect(built.Timeout).toBeLessThanOrEqual(29)
    },
  )

  test.each(functions)(
    '$name gets the names of the secret and the bucket if it uses them',
    ({ name, uses }) => {
      const { Properties: built } = resourceNamed(template, 'AWS::Lambda::Function', pascalCase(name))
      const variables = Object.keys(built.Environment.Variables)
      expect(variables.includes('SECRET_ARN')).toBe(uses.includes('secret.read'))
      expect(variables.includes('FILES_BUCKET')).toBe(
        uses.some((use) => /^(files|rejects)\.|^imports\.(read|write)$/.test(use)),
      )
      expect(variables.includes('IMPORT_MACHINE_ARN')).toBe(uses.includes('imports.start'))
    },
  )

  test('every log expires', () => {
    const groups = resourcesOf(template, 'AWS::Logs::LogGroup')
    expect(groups.filter(([, { Properties }]) => Properties.RetentionInDays !== 180)).toEqual([])
    // One for each function, the access log and the execution log of the gateway, those of both web ACLs and of the workflow.
    expect(groups).toHaveLength(functions.length + 5)
  })
})

describe('permissions', () => {
  const [[tableId]] = resourcesOf(template, 'AWS::DynamoDB::Table') as [[string, Resource]]
  const secretOf = (name: string) => ({
    Ref: resourcesOf(template, 'AWS::SecretsManager::Secret').find(([id]) => id.startsWith(name))?.[0],
  })
  const [[busId]] = resourcesOf(template, 'AWS::Events::EventBus') as [[string, Resource]]
  const [[bucketId]] = resourcesOf(template, 'AWS::S3::Bucket') as [[string, Resource]]
  const queueOf = (name: string) => ({
    'Fn::GetAtt': [
      resourcesOf(template, 'AWS::SQS::Queue').find(([id]) => id.replace(/[0-9A-F]{8}$/, '') === name)?.[0],
      'Arn',
    ],
  })
  const [[senderId]] = resourcesOf(template, 'AWS::SES::EmailIdentity') as [[string, Resource]]
  /** The ARN of something in the region and the account of the stack. */
  const arnOf = (service: string, kind: string, ...rest: unknown[]) => {
    const [partition, region, account] = ['Partition', 'Region', 'AccountId'].map((name) => ({
      Ref: `AWS::${name}`,
    }))
    return {
      'Fn::Join': ['', ['arn:', partition, `:${service}:`, region, ':', account, `:${kind}`, ...rest]],
    }
  }
  const [[configurationSetId]] = resourcesOf(template, 'AWS::SES::ConfigurationSet') as [[string, Resource]]
  const table = { 'Fn::GetAtt': [tableId, 'Arn'] }
  const stream = { 'Fn::GetAtt': [tableId, 'StreamArn'] }
  const index = { 'Fn::Join': ['', [table, '/index/by-id']] }
  const machineId = resourcesOf(template, 'AWS::StepFunctions::StateMachine')[0]?.[0]
  const inFolder = (folder: string) => ({
    'Fn::Join': ['', [{ 'Fn::GetAtt': [bucketId, 'Arn'] }, `/${folder}/*`]],
  })

  const receiving = (name: string): [string, unknown][] =>
    ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility'].map((action) => [
      `sqs:${action}`,
      queueOf(name),
    ])
  const expected: Record<Right, [action: string, on: unknown][]> = {
    'secret.read': [['secretsmanager:GetSecretValue', secretOf('DeploymentSecret')]],
    'secret.payments': [['secretsmanager:GetSecretValue', secretOf('PaymentsSecret')]],
    'secret.webhooks': [['secretsmanager:GetSecretValue', secretOf('WebhooksSecret')]],
    'secret.probe': [['secretsmanager:GetSecretValue', secretOf('ProbeSecret')]],
    'address.call': [],
    'bus.publish': [['events:PutEvents', { 'Fn::GetAtt': [busId, 'Arn'] }]],
    'queues.send': Object.keys(taskQueues).map((name) => ['sqs:SendMessage', queueOf(pascalCase(name))]),
    'queue.webhooks': receiving('Webhooks'),
    'queue.mail': receiving('Mail'),
    'mail.send': [
      ['ses:SendEmail', arnOf('ses', 'identity/', { Ref: senderId })],
      ['ses:SendEmail', arnOf('ses', 'configuration-set/', { Ref: configurationSetId })],
    ],
    'queue.mail_events': receiving('MailEvents'),
    'queue.password_resets': receiving('PasswordResets'),
    'pool.client': [],
    'pool.login': [
      [
        'cognito-idp:AdminInitiateAuth',
        { 'Fn::GetAtt': [resourcesOf(template, 'AWS::Cognito::UserPool')[0]?.[0], 'Arn'] },
      ],
    ],
    'queue.imports': receiving('Imports'),
    'queue.reconciliations': receiving('Reconciliations'),
    'queue.published_events': receiving('PublishedEvents'),
    'queue.deliveries': receiving('Deliveries'),
    'deliveries.send': [['sqs:SendMessage', queueOf('Deliveries')]],
    'reconciliations.send': [['sqs:SendMessage', queueOf('Reconciliations')]],
    'imports.start': [['states:StartExecution', { Ref: machineId }]],
    'imports.describe': [['states:DescribeExecution', arnOf('states', 'execution:commerce-prod-imports:*')]],
    'files.write': [
      ['s3:PutObject', inFolder('exports')],
      ['s3:AbortMultipartUpload', inFolder('exports')],
    ],
    'files.link': [['s3:GetObject', inFolder('exports')]],
    'imports.write': [
      ['s3:PutObject', inFolder('imports')],
      ['s3:AbortMultipartUpload', inFolder('imports')],
    ],
    'imports.read': [['s3:GetObject', inFolder('imports')]],
    'rejects.write': [
      ['s3:PutObject', inFolder('rejects')],
      ['s3:AbortMultipartUpload', inFolder('rejects')],
    ],
    'rejects.read': [['s3:GetObject', inFolder('rejects')]],
  }
  const onTable: Record<TableCall, [action: string, on: unknown]> = {
    get: ['dynamodb:GetItem', table],
    getMany: ['dynamodb:BatchGetItem', table],
    query: ['dynamodb:Query', table],
    find: ['dynamodb:Query', index],
    put: ['dynamodb:PutItem', table],
    update: ['dynamodb:UpdateItem', table],
    delete: ['dynamodb:DeleteItem', table],
    check: ['dynamodb:ConditionCheckItem', table],
    insert: ['dynamodb:PartiQLInsert', table],
  }
  const ofStreams = (name: string): [string, unknown][] => [
    ...['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map(
      (action) => [`dynamodb:${action}`, stream] as [string, unknown],
    ),
    ['sqs:SendMessage', queueOf(`${pascalCase(name)}DeadLetters`)],
  ]

  test.each(functions)(
    '$name has permissions for exactly its own actions and resources',
    ({ name, uses, table: use }) => {
      const id = pascalCase(name)
      const [log] = resourcesOf(template, 'AWS::Logs::LogGroup').filter(([key]) => key.startsWith(`${id}Log`))
      const source = subscriptions.find((subscription) => subscription.name === name)?.source
      const rights = [
        ['logs:CreateLogStream', { 'Fn::GetAtt': [log?.[0], 'Arn'] }],
        ['logs:PutLogEvents', { 'Fn::GetAtt': [log?.[0], 'Arn'] }],
        ['xray:PutTraceSegments', '*'],
        ['xray:PutTelemetryRecords', '*'],
        ...uses.flatMap((one) => expected[one]),
        ...Object.keys(use).map((call) => onTable[call as TableCall]),
        ...(typeof source === 'object' && 'stream' in source ? ofStreams(name) : []),
      ]
      const { PolicyDocument: policy } = resourceNamed(template, 'AWS::IAM::Policy', `${id}RoleDefaultPolicy`)
        .Properties as { PolicyDocument: { Statement: Statement[] } }
      // Permissions for the key of the stage are tested in own-key.test.ts.
      const given = policy.Statement.filter(({ Action }) => ![Action].flat().some((one) => /^kms:/.test(one)))
      expect(given.flatMap(rightsOf).sort(byText)).toEqual(rights.sort(byText))
      expect(resourceNamed(template, 'AWS::IAM::Role', `${id}Role`).Properties).not.toHaveProperty(
        'ManagedPolicyArns',
      )
    },
  )
})

interface Statement {
  Effect: string
  Action: string | string[]
  Resource: unknown
}

function rightsOf({ Effect, Action, Resource: on }: Statement): [string, unknown][] {
  expect(Effect).toBe('Allow')
  const resources = Array.isArray(on) ? on : [on]
  return [Action].flat().flatMap((action) => resources.map((one) => [action, one] as [string, unknown]))
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1
}
