import { describe, expect, test } from '@jest/globals'
import { functionOf, routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import type { Right } from '#lib/access/rights.ts'
import { corsPreflight, entryPoints, pascalCase, unknownRoute } from '#lib/functions/function-names.ts'
import { importSteps } from '#shared/imports/import.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import type { TableCall } from '#shared/platform/table/table.ts'
import { declaredUses } from './declared-uses.ts'
import { idsOf, propertiesOf, resourcesOf, templatesOf } from './synthesis.ts'

const { template, watch, settings } = await templatesOf('prod')

/** Each function with its permissions: those of its routes. */
const declared = declaredUses(settings)
for (const { name } of [corsPreflight, unknownRoute]) declared.set(name, { uses: new Set(), table: {} })
const functions = Array.from(declared, ([name, { uses, table }]) => ({ name, uses: [...uses], table }))

describe('functions', () => {
  test('there is one for each method of a path and each subscription, for preflight and for unknown routes', () => {
    expect(Object.keys(entryPoints()).sort()).toEqual(functions.map(({ name }) => name).sort())
    expect(idsOf(template, 'AWS::Lambda::Function')).toHaveLength(functions.length)
  })

  test.each(functions)('$name ends within its limit', ({ name }) => {
    const step = steps.find((one) => one.name === name)?.step
    const limit = step ? importSteps[step].seconds + 5 : 30
    expect(propertiesOf(template, pascalCase(name)).Timeout).toBeLessThanOrEqual(limit)
  })

  test.each(routes)(
    'a request of $route.operation can spend its budget and still get a response',
    (entry) => {
      const { Timeout } = propertiesOf(template, pascalCase(functionOf(entry).name))
      const { maxMilliseconds } = settings['requests.timeoutHeader']
      expect(Timeout * 1000).toBeGreaterThanOrEqual(maxMilliseconds + 1000)
      expect(Timeout).toBeLessThanOrEqual(29)
    },
  )

  const accepting = new Set(
    routes.flatMap((entry) => (entry.route.auth === 'bearer' ? functionOf(entry).name : [])),
  )
  test.each(functions)('$name gets the names of what it uses, and no others', ({ name, uses }) => {
    const { Variables } = propertiesOf(template, pascalCase(name)).Environment
    const { FILES_BUCKET, IMPORT_MACHINE_ARN, USER_POOL_ISSUER, USER_POOL_CLIENT_ID } = Variables
    const named = { FILES_BUCKET, IMPORT_MACHINE_ARN, USER_POOL_ISSUER, USER_POOL_CLIENT_ID }
    const secrets = Object.entries(Variables).filter(([variable]) => variable.endsWith('_SECRET_ARN'))
    const used = uses.flatMap((use) => (use.startsWith('secret.') ? use.slice('secret.'.length) : []))
    expect(Object.fromEntries(secrets)).toEqual(
      Object.fromEntries(
        used.map((one) => [`${one.toUpperCase()}_SECRET_ARN`, `<${pascalCase(one)}Secret>`]),
      ),
    )
    const usesFiles = uses.some((use) => /^(files|rejects)\.|^imports\.(read|write)$/.test(use))
    const acceptsTokens = accepting.has(name)
    expect(named).toEqual({
      FILES_BUCKET: usesFiles ? '<Files>' : undefined,
      IMPORT_MACHINE_ARN: uses.includes('imports.start') ? '<ImportMachine>' : undefined,
      USER_POOL_ISSUER: acceptsTokens ? 'https://<Users.ProviderName>' : undefined,
      USER_POOL_CLIENT_ID: acceptsTokens || uses.includes('pool.client') ? '<UsersLoginClient>' : undefined,
    })
  })

  test('have a log each', () => {
    // And the access log and the execution log of the gateway, those of both web ACLs and of the workflow.
    expect(idsOf(template, 'AWS::Logs::LogGroup')).toHaveLength(functions.length + 5)
  })
})

/** The ARN of something in the region and the account of the stack. */
const arnOf = (service: string, name: string) => {
  return `arn:<AWS::Partition>:${service}:<AWS::Region>:<AWS::AccountId>:${name}`
}
const receiving = (queue: string) =>
  ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility'].map(
    (action) => `sqs:${action} <${queue}.Arn>`,
  )
const writing = (folder: string) => [
  `s3:PutObject <Files.Arn>/${folder}/*`,
  `s3:AbortMultipartUpload <Files.Arn>/${folder}/*`,
]

/** The action and the resource of each permission. */
const permissions: Record<Right, string[]> = {
  'secret.cursors': ['secretsmanager:GetSecretValue <CursorsSecret>'],
  'secret.one_time_codes': ['secretsmanager:GetSecretValue <OneTimeCodesSecret>'],
  'secret.sessions': ['secretsmanager:GetSecretValue <SessionsSecret>'],
  'secret.hashes': ['secretsmanager:GetSecretValue <HashesSecret>'],
  'secret.codes': ['secretsmanager:GetSecretValue <CodesSecret>'],
  'secret.mails': ['secretsmanager:GetSecretValue <MailsSecret>'],
  'secret.resets': ['secretsmanager:GetSecretValue <ResetsSecret>'],
  'secret.subscribers': ['secretsmanager:GetSecretValue <SubscribersSecret>'],
  'secret.payments': ['secretsmanager:GetSecretValue <PaymentsSecret>'],
  'secret.webhooks': ['secretsmanager:GetSecretValue <WebhooksSecret>'],
  'secret.stripe_webhooks': ['secretsmanager:GetSecretValue <StripeWebhooksSecret>'],
  'secret.probe': ['secretsmanager:GetSecretValue <ProbeSecret>'],
  'address.call': [],
  'bus.publish': ['events:PutEvents <EventBus.Arn>'],
  'queues.send': Object.keys(taskQueues).map((name) => `sqs:SendMessage <${pascalCase(name)}.Arn>`),
  'queue.webhooks': receiving('Webhooks'),
  'queue.mail': receiving('Mail'),
  'mail.send': [
    `ses:SendEmail ${arnOf('ses', 'identity/<MailIdentity>')}`,
    `ses:SendEmail ${arnOf('ses', 'configuration-set/<MailConfigurationSet>')}`,
  ],
  'queue.mail_events': receiving('MailEvents'),
  'queue.password_resets': receiving('PasswordResets'),
  'pool.client': [],
  'pool.login': ['cognito-idp:AdminInitiateAuth <Users.Arn>'],
  'queue.imports': receiving('Imports'),
  'queue.reconciliations': receiving('Reconciliations'),
  'queue.published_events': receiving('PublishedEvents'),
  'queue.deliveries': receiving('Deliveries'),
  'deliveries.send': ['sqs:SendMessage <Deliveries.Arn>'],
  'reconciliations.send': ['sqs:SendMessage <Reconciliations.Arn>'],
  'imports.start': ['states:StartExecution <ImportMachine>'],
  'imports.describe': [`states:DescribeExecution ${arnOf('states', 'execution:commerce-prod-imports:*')}`],
  'files.write': writing('exports'),
  'files.link': ['s3:GetObject <Files.Arn>/exports/*'],
  'imports.write': writing('imports'),
  'imports.read': ['s3:GetObject <Files.Arn>/imports/*'],
  'rejects.write': writing('rejects'),
  'rejects.read': ['s3:GetObject <Files.Arn>/rejects/*'],
}
const onTable: Record<TableCall, string> = {
  get: 'dynamodb:GetItem <Table.Arn>',
  getMany: 'dynamodb:BatchGetItem <Table.Arn>',
  query: 'dynamodb:Query <Table.Arn>',
  find: 'dynamodb:Query <Table.Arn>/index/by-id',
  put: 'dynamodb:PutItem <Table.Arn>',
  update: 'dynamodb:UpdateItem <Table.Arn>',
  delete: 'dynamodb:DeleteItem <Table.Arn>',
  check: 'dynamodb:ConditionCheckItem <Table.Arn>',
  insert: 'dynamodb:PartiQLInsert <Table.Arn>',
}
const ofStreams = (id: string) => [
  ...['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map(
    (action) => `dynamodb:${action} <Table.StreamArn>`,
  ),
  `sqs:SendMessage <${id}DeadLetters.Arn>`,
]

interface Statement {
  Effect: string
  Action: string | string[]
  Resource: string | string[]
}

test.each(functions)(
  '$name has permissions for exactly its own actions and resources',
  ({ name, uses, table }) => {
    const id = pascalCase(name)
    const source = subscriptions.find((subscription) => subscription.name === name)?.source
    const rights = [
      `logs:CreateLogStream <${id}Log.Arn>`,
      `logs:PutLogEvents <${id}Log.Arn>`,
      'xray:PutTraceSegments *',
      'xray:PutTelemetryRecords *',
      ...uses.flatMap((one) => permissions[one]),
      ...Object.keys(table).map((call) => onTable[call as TableCall]),
      ...(typeof source === 'object' && 'stream' in source ? ofStreams(id) : []),
    ]
    const statements: Statement[] = propertiesOf(template, `${id}RoleDefaultPolicy`).PolicyDocument.Statement
    const given = statements.flatMap(({ Effect, Action, Resource: on }) => {
      expect(Effect).toBe('Allow')
      return [Action].flat().flatMap((action) => [on].flat().map((one) => `${action} ${one}`))
    })
    // Permissions for the key of the stage are tested in own-key.test.ts.
    expect(given.filter((one) => !one.startsWith('kms:')).sort()).toEqual(rights.sort())
    expect(propertiesOf(template, `${id}Role`)).not.toHaveProperty('ManagedPolicyArns')
  },
)

test('only the login function may log users in with a password', () => {
  const named = functions.flatMap(({ name, uses }) => (uses.includes('pool.login') ? name : []))
  expect(named).toEqual(['login.sign-in'])
})

test.each([...resourcesOf(template, 'AWS::IAM::Role'), ...resourcesOf(watch, 'AWS::IAM::Role')])(
  '%s is assumed by a service for this account only',
  (_, { Properties }) => {
    for (const { Principal, Condition } of Properties.AssumeRolePolicyDocument.Statement) {
      // AWS recommends no condition for roles of functions, and documents none for those of AWS Backup and API Gateway.
      if (/^(lambda|backup|apigateway)\.amazonaws\.com$/.test(Principal.Service)) continue
      expect(Condition).toMatchObject({ StringEquals: { 'aws:SourceAccount': '<AWS::AccountId>' } })
    }
  },
)
