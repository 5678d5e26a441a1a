import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { searchedLogGroups } from '#bin/commands/ask/reach.ts'
import { runbook } from '#bin/commands/deployment/runbook.ts'
import { commandActions, dataActions, findStack, firstActions } from '#bin/permissions/command-actions.ts'
import { exportFolder, tableFolder } from '#shared/platform/formats/file-store.ts'
import { idsOf, propertiesOf, templatesOf } from './synthesis.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
const operations = read('docs/operations.md')
const page = runbook()

interface Statement {
  Action: string | string[]
  Resource: string | string[]
  Condition?: Record<string, Record<string, unknown>>
}
const statementsOf = (file: string): Statement[] => JSON.parse(read(file)).Statement
const statements = statementsOf('docs/examples/operator-policy.json')
const actions = statements.flatMap(({ Action }) => Action)
const unmask = statementsOf('docs/examples/operator-unmask-policy.json')
const ofEmergencies = unmask.flatMap(({ Action }) => Action)

/** Services whose actions have another prefix than their commands. */
const prefixes: Record<string, string> = {
  dynamodbstreams: 'dynamodb',
  sesv2: 'ses',
  stepfunctions: 'states',
}
/** Calls whose action is spelled differently. */
const spellings: Record<string, string> = { 'wafv2:ListWebAcls': 'wafv2:ListWebACLs' }

/** Returns the IAM actions of the commands of the AWS CLI in a text. */
function actionsIn(text: string): string[] {
  const commands = [...text.matchAll(/\baws ([a-z0-9-]+) ([a-z][a-z-]+)/g)]
  return [
    ...new Set(
      commands.map(([, service = '', command = '']) => {
        const call = command.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
        const action = `${prefixes[service] ?? service}:${call}`
        return spellings[action] ?? action
      }),
    ),
  ]
}

/** The sections of the page on operations that are not for administrators of the account. */
const sections = operations
  .split(/\n(?=## )/)
  .filter((one) => !/^## (Region or account lost|Rotate a key of the service)\n/.test(one))
const ofOperations = actionsIn(sections.join('\n')).filter((action) => !action.startsWith('iam:'))
const ofRunbook = actionsIn(page)
const [, rollingBack = ''] = read('docs/deployment.md').split('## Rolling back\n')
const ofRollbacks = actionsIn(rollingBack.split('\n## ')[0] ?? '')

/** Actions that no command names. */
const implied = {
  'a query with SOURCE finds its log groups': ['logs:DescribeLogGroups'],
  'the dashboard is a page of the console': ['cloudwatch:GetDashboard', 'cloudwatch:ListDashboards'],
  'DynamoDB checks these for a restore': [
    'dynamodb:ConditionCheckItem',
    'dynamodb:DescribeContinuousBackups',
  ],
  'services get a role with a call': ['iam:PassRole'],
  'the progress of a replay is read in the console': ['events:DescribeReplay'],
  'the state of a rotation is read in the console': ['secretsmanager:DescribeSecret'],
  'services use the key on behalf of operators': [
    'kms:CreateGrant',
    'kms:Decrypt',
    'kms:Encrypt',
    'kms:GenerateDataKey',
    'kms:GenerateDataKeyWithoutPlaintext',
    'kms:ReEncryptFrom',
    'kms:ReEncryptTo',
  ],
}

describe('the policy of operators', () => {
  test.each(ofOperations)('permits %s, which docs/operations.md calls', (action) => {
    expect(actions).toContain(action)
  })

  test.each(ofRunbook)('permits %s, which the runbook calls, unless it is for emergencies', (action) => {
    expect([...actions, ...ofEmergencies]).toContain(action)
  })

  test.each(ofRollbacks)('permits %s, which docs/deployment.md calls to roll back', (action) => {
    expect(actions).toContain(action)
  })

  test('permits nothing that no command needs', () => {
    const called = [...ofOperations, ...ofRunbook, ...ofRollbacks]
    const needed = [
      findStack,
      ...firstActions,
      ...dataActions,
      ...Object.values(commandActions).flat(),
      ...called,
    ]
    const known = new Set([...needed, ...Object.values(implied).flat()])
    expect(actions.filter((action) => !known.has(action))).toEqual([])
  })

  test('fits into the 10,240 characters of the inline policies of a role, with that for emergencies', () => {
    const files = ['operator-policy', 'operator-unmask-policy']
    const texts = files.map((name) => JSON.stringify(JSON.parse(read(`docs/examples/${name}.json`))))
    expect(texts.join('').length).toBeLessThanOrEqual(10_240)
  })

  test('is compared with the commands of all pages', () => {
    expect([ofOperations.length > 5, ofRunbook.length > 10, ofRollbacks.length > 0]).toEqual([
      true,
      true,
      true,
    ])
  })

  test('queries the log groups of the stack and of its web ACLs', async () => {
    const { template } = await templatesOf('prod')
    const names = idsOf(template, 'AWS::Logs::LogGroup')
      .map((id) => propertiesOf(template, id).LogGroupName)
      .filter((name) => name && !name.includes('<'))
    const [query] = statements.filter(({ Action }) => Action === 'logs:StartQuery')
    const allowed = [query?.Resource ?? []].flat().map((arn) => arn.replace(/.*:log-group:(.*)\*$/, '$1'))
    expect(allowed).toContain('commerce-')
    expect(names.filter((name) => !allowed.some((start) => name.startsWith(start)))).toEqual([])
    expect(names.length).toBeGreaterThan(0)
  })

  test('permits operators to read the key without an intermediate service', () => {
    const found = statements.filter(({ Action }) => Action === 'kms:DescribeKey')
    expect(found.map(({ Condition }) => Object.keys(Condition ?? {}))).toEqual([['ForAnyValue:StringLike']])
  })

  test('permits operators to use the key through every service that encrypts what they read', () => {
    const found = statements.filter(({ Action }) => Action.includes('kms:Decrypt'))
    const services = ['dynamodb', 's3', 'secretsmanager', 'sqs', 'states'].map(
      (name) => `${name}.*.amazonaws.com`,
    )
    expect(found.map(({ Condition }) => Condition?.StringLike?.['kms:ViaService'])).toEqual([services])
  })

  test('permits operators to store the secrets that the pages let them store, and no other', () => {
    const stored = statements.filter(({ Action }) => Action.includes('secretsmanager:PutSecretValue'))
    const names = stored.flatMap(({ Resource }) =>
      [Resource].flat().map((arn) => /:secret:(\w+)\*$/.exec(arn)?.[1]),
    )
    const pages = `${operations}${read('docs/deployment.md')}`
    const outputs = [...pages.matchAll(/\b([A-Z]\w+Secret)Arn\b/g)].map(([, name]) => name)
    expect(names.toSorted()).toEqual([...new Set(outputs)].toSorted())
  })

  test('permits operators to empty no queue but the dead letters of the bus', async () => {
    const { template } = await templatesOf('prod')
    const queues = idsOf(template, 'AWS::SQS::Queue').map(
      (id) => `arn:aws:sqs:*:111122223333:commerce-prod-${id}`,
    )
    const [purge] = statements.filter(({ Action }) => Action === 'sqs:PurgeQueue')
    const [start = '-'] = `${purge?.Resource}`.replace('commerce-*', 'commerce-prod').split(/\*$/)
    expect(queues.filter((arn) => arn.startsWith(start))).toHaveLength(1)
  })

  test('permits operators to read exports of the table only, which no function reaches', async () => {
    const files = statements.filter(({ Action }) => Action.includes('s3:GetObject'))
    expect(files.map(({ Resource }) => Resource)).toEqual([`arn:aws:s3:::commerce-*/${tableFolder}/*`])
    const { template } = await templatesOf('prod')
    const reached = idsOf(template, 'AWS::IAM::Policy')
      .flatMap((id): Statement[] => propertiesOf(template, id).PolicyDocument.Statement)
      .filter(({ Action }) => [Action].flat().some((action) => action.startsWith('s3:')))
      .flatMap(({ Resource }) => Resource)
    const file = `<Files.Arn>/${tableFolder}/file`
    expect(reached).toContain(`<Files.Arn>/${exportFolder}*`)
    expect(reached.filter((arn) => file.startsWith(arn.replace(/\*$/, '')))).toEqual([])
  })

  test('permits operators to pass the roles of backups and schedules, and no other', () => {
    const passed = statements
      .filter(({ Action }) => Action === 'iam:PassRole')
      .map(({ Resource, Condition }) => [Condition?.StringEquals?.['iam:PassedToService'], Resource])
    const role = (name: string) => `arn:aws:iam::111122223333:role/${name}`
    expect(passed).toEqual([
      ['backup.amazonaws.com', role('commerce-restore')],
      ['backup.amazonaws.com', role('commerce-*-BackupRole*')],
      // A freeze writes schedules, which name roles of the stack.
      ['scheduler.amazonaws.com', role('commerce-*')],
    ])
  })

  test('names the role of restores as the page creates it', () => {
    expect(operations).toContain('aws iam create-role --role-name commerce-restore ')
    expect(operations).toContain(':role/commerce-restore')
  })
})

describe.each(['operator-policy', 'console-policy', 'pipeline-policy'])('%s', (name) => {
  const tag = { 'aws:ResourceTag/service': 'commerce' }

  test('reaches user pools and secrets of the service only, by their tag', () => {
    const reaching = statementsOf(`docs/examples/${name}.json`).filter(({ Action }) =>
      [Action].flat().some((action) => /^(cognito-idp|secretsmanager):/.test(action)),
    )
    expect(reaching.length).toBeGreaterThan(0)
    for (const { Condition } of reaching) expect(Condition).toEqual({ StringEquals: tag })
  })
})

test.each(['prod', 'staging', 'dev'] as const)(
  'user pools and secrets of %s have the tag of the policies',
  async (stage) => {
    const { template } = await templatesOf(stage)
    const [pools, secrets] = ['AWS::Cognito::UserPool', 'AWS::SecretsManager::Secret'].map((type) =>
      idsOf(template, type).map((id) => propertiesOf(template, id)),
    )
    expect(pools?.map(({ UserPoolTags }) => UserPoolTags)).toEqual([{ service: 'commerce' }])
    const tagged = { Tags: expect.arrayContaining([{ Key: 'service', Value: 'commerce' }]) }
    expect(secrets?.length).toBeGreaterThan(5)
    for (const secret of secrets ?? []) expect(secret).toMatchObject(tagged)
  },
)

describe('a search of logs by a command', () => {
  /** Returns the log groups of the stage that a command searches. A log group without a name gets one of CloudFormation. */
  const searched = async () => {
    const { template } = await templatesOf('prod')
    const resources = idsOf(template, 'AWS::Logs::LogGroup').map((logicalId) => {
      const physicalId: string =
        propertiesOf(template, logicalId).LogGroupName ?? `commerce-prod-${logicalId}`
      return { type: 'AWS::Logs::LogGroup', logicalId, physicalId }
    })
    return searchedLogGroups(resources)
  }

  test.each(['operator-policy', 'console-policy'])('is within the log groups of %s', async (name) => {
    const [query] = statementsOf(`docs/examples/${name}.json`).filter(
      ({ Action }) => Action === 'logs:StartQuery',
    )
    const allowed = [query?.Resource ?? []].flat().map((arn) => arn.replace(/.*:log-group:(.*)\*$/, '$1'))
    const refused = (await searched()).filter((group) => !allowed.some((start) => group.startsWith(start)))
    expect(refused).toEqual([])
  })

  test('covers every function', async () => {
    const { template } = await templatesOf('prod')
    const groups = idsOf(template, 'AWS::Lambda::Function').map((id) =>
      String(propertiesOf(template, id).LoggingConfig?.LogGroup).replace(/<(.*)>/, 'commerce-prod-$1'),
    )
    expect(await searched()).toEqual(expect.arrayContaining(groups))
  })
})

describe('addresses of callers', () => {
  test('are shown by a query of the runbook', () => expect(page).toContain('unmask(sourceIp)'))

  test('need a policy that allows nothing else', () => {
    expect(ofEmergencies).toEqual(['logs:Unmask', 'xray:BatchGetTraces'])
  })

  // API Gateway writes the address and the URL of a traced request.
  test('are not shown by the policy of operators', () => {
    expect(actions.filter((one) => /^logs:Unmask$|^xray:/.test(one))).toEqual([])
  })

  test('are shown in the log groups that operators query', () => {
    const [query] = statements.filter(({ Action }) => Action === 'logs:StartQuery')
    const [unmasking] = unmask.filter(({ Action }) => Action === 'logs:Unmask')
    expect(unmasking?.Resource).toEqual(query?.Resource)
  })
})
