import { existsSync } from 'node:fs'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch'
import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { SQSClient } from '@aws-sdk/client-sqs'
import { WAFV2Client } from '@aws-sdk/client-wafv2'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { type Answered, askFirst, byHand, type FirstStack } from '#bin/commands/verify/first-questions.ts'
import { answering, awsError, type Operations } from '#test/support/fake-clients.ts'
import { localSettings } from '#test/support/settings.ts'

/** A Tuesday. */
const now = Date.parse('2026-02-03T12:00:00Z')
const vault = 'commerce-staging-1234'
const provisioned = { 'limits.provisionedConcurrency': { 'orders.create': 2 } }
const weeklyOnly = { 'storage.backups': { ...localSettings['storage.backups'], keptDays: 0 } }
const copied = {
  'storage.backups': {
    ...localSettings['storage.backups'],
    copies: [{ vaultArn: 'arn:aws:backup:eu-central-1:444455556666:backup-vault:copies', keptDays: 90 }],
  },
}
const versions = localSettings['limits.webAcl'].managedRules

let operations: Operations
let queried: (string | undefined)[]
let query: FirstStack['queryLogs']
let changes: Partial<Pick<FirstStack, 'settings' | 'outputs'>>
const outputs = {
  EventBusName: 'commerce-staging',
  BackupVaultName: vault,
  WebAclName: 'acl',
  WebAclId: 'id',
  PublishedEventsDeadLettersUrl: 'https://sqs/letters',
}

/** The dimensions of the metric that AWS has, by its name, and its sum. */
let dimensions: Record<string, string[]>
let sums: Record<string, number>

/** The calls of functions and those of them that were traced, by log group. */
let traced: Record<string, [calls: number, traced: number]>
const tracedRows = () =>
  Object.entries(traced).map(([log, [calls, ofThese]]) => ({
    '@log': `111122223333:${log}`,
    calls: String(calls),
    traced: String(ofThese),
  }))

beforeEach(() => {
  changes = {}
  queried = []
  traced = { 'orders-log': [1000, 52], 'relay-log': [1000, 40], 'sagas-log': [1440, 0] }
  query = async (text) => (text.includes('@xrayTraceId') ? tracedRows() : [])
  dimensions = {
    DaysToExpiry: ['ManagedRuleGroup', 'Vendor', 'Version', 'Region'],
    BlockedRequests: ['WebACL', 'Region', 'Rule'],
    NumberOfBackupJobsCompleted: ['BackupVaultName'],
  }
  sums = {
    Invocations: 4,
    FailedInvocations: 0,
    NumberOfBackupJobsCompleted: 1,
    NumberOfCopyJobsCompleted: 1,
    NumberOfCopyJobsFailed: 0,
  }
  const summary = (ResourceType: string, LogicalResourceId: string, PhysicalResourceId: string) => ({
    ...{ ResourceType, LogicalResourceId, PhysicalResourceId },
  })
  operations = {
    ListStackResources: ({ StackName }) => ({
      StackResourceSummaries:
        StackName === 'nested'
          ? [
              summary('AWS::Lambda::Function', 'OrdersCreate12345678', 'orders-create'),
              summary('AWS::Logs::LogGroup', 'OrdersCreateLog12345678', 'orders-log'),
              summary('AWS::Logs::LogGroup', 'EventsRelayLog12345678', 'relay-log'),
              summary('AWS::Logs::LogGroup', 'SagasFinishLog12345678', 'sagas-log'),
              summary('AWS::SQS::Queue', 'CompletedBackups12345678', 'https://sqs/completed'),
            ]
          : [
              summary('AWS::Events::Rule', 'PublishedEventsRule12345678', 'commerce-staging|the-rule'),
              summary('AWS::CloudFormation::Stack', 'OrdersArea', 'nested'),
            ],
    }),
    DescribeStackEvents: () => ({ StackEvents: [{ ResourceStatus: 'CREATE_COMPLETE' }] }),
    DescribeArchive: () => ({ State: 'ENABLED', EventCount: 3 }),
    GetMetricStatistics: ({ MetricName }) => ({ Datapoints: [{ Sum: sums[MetricName] }] }),
    ListMetrics: ({ MetricName }) => ({
      Metrics: dimensions[MetricName] && [{ Dimensions: dimensions[MetricName].map((Name) => ({ Name })) }],
    }),
    GetQueueAttributes: () => ({ Attributes: { ApproximateNumberOfMessages: '0' } }),
    GetWebACL: () => ({
      WebACL: { Capacity: 900, Rules: [{ Statement: { RateBasedStatement: {} } }, { Statement: {} }] },
    }),
    ListAvailableManagedRuleGroupVersions: () => ({
      Versions: Object.values(versions).map((Name) => ({ Name })),
    }),
    GetAlias: () => ({ FunctionVersion: '2' }),
    GetProvisionedConcurrencyConfig: () => ({ Status: 'READY' }),
  }
})

async function asked(): Promise<Answered[]> {
  const fake = answering(operations)
  const region = { region: 'eu-west-1' }
  const stack: FirstStack = {
    ...{ name: 'commerce-staging', settings: localSettings, outputs, now, ...changes },
    cloudFormation: fake(new CloudFormationClient(region)),
    cloudWatch: fake(new CloudWatchClient(region)),
    eventBridge: fake(new EventBridgeClient(region)),
    lambda: fake(new LambdaClient(region)),
    sqs: fake(new SQSClient(region)),
    waf: fake(new WAFV2Client(region)),
    queryLogs: (text, group) => {
      queried.push(group ?? text)
      return query(text, group)
    },
  }
  const answers: Answered[] = []
  for await (const answer of askFirst(stack)) answers.push(answer)
  return answers
}

/** Returns the answers that are not as expected: the state, and the beginning of the question. */
const others = async () =>
  (await asked()).flatMap(({ state, question, answer }) =>
    state === 'as_expected' ? [] : [`${state} ${/[A-Z]\w+ \w+ \w+/.exec(question)}: ${answer}`],
  )

test('a stage that does what the service expects has no question left but what it does not use', async () => {
  expect(await others()).toEqual([
    'not_needed Does the alarm: the stage has nightly backups',
    'not_needed Does the alarm: storage.backups has no copies',
    'not_needed Does a deployment: limits.provisionedConcurrency is empty',
  ])
  expect(queried[0]).toBe('orders-log')
})

test('a stage without web ACL, backups and provisioned concurrency is not asked about them', async () => {
  const { EventBusName, PublishedEventsDeadLettersUrl } = outputs
  changes.outputs = { EventBusName, PublishedEventsDeadLettersUrl }
  expect((await asked()).filter(({ state }) => state === 'not_needed')).toHaveLength(9)
})

test('a new stage answers later what needs a night, a Sunday, an event or a blocked request', async () => {
  dimensions = {}
  sums = {}
  traced = { 'orders-log': [150, 2], 'relay-log': [30, 0], 'sagas-log': [60, 0] }
  changes.settings = { ...localSettings, ...weeklyOnly }
  const waiting = (await asked()).filter(({ state }) => state === 'not_yet')
  expect(waiting).toHaveLength(8)
  expect(waiting.every(({ otherwise }) => otherwise === undefined)).toBe(true)
})

test('a question that AWS refuses is named with the reason, and the others are asked', async () => {
  operations.GetWebACL = () => {
    throw awsError('AccessDenied', 'not authorized to perform wafv2:GetWebACL')
  }
  const answers = await asked()
  expect(answers.filter(({ state }) => state === 'not_asked')).toMatchObject([
    { answer: 'not authorized to perform wafv2:GetWebACL' },
  ])
  expect(answers.filter(({ state }) => state === 'as_expected').length).toBeGreaterThan(9)
})

describe('an answer that differs says what to change:', () => {
  const failing = { ResourceStatus: 'CREATE_FAILED', LogicalResourceId: 'OrdersCreateLate' }
  const throws = (message: string) => () => {
    throw awsError('Refused', message)
  }

  test.each<[what: string, change: () => void, answer: string, otherwise: string]>([
    [
      'a resource failed in a nested stack',
      () => {
        operations.DescribeStackEvents = ({ StackName }) => ({
          StackEvents: StackName === 'nested' ? [{ ...failing, ResourceStatusReason: 'Rate exceeded' }] : [],
        })
      },
      'OrdersCreateLate: Rate exceeded',
      'quota',
    ],
    [
      'there is no archive',
      () => {
        operations.DescribeArchive = throws('Archive commerce-staging does not exist.')
      },
      'Archive commerce-staging does not exist.',
      'lib/messages/event-bus.ts',
    ],
    [
      'an invocation failed',
      () => Object.assign(sums, { FailedInvocations: 2 }),
      '2 failed',
      'lib/messages/queues.ts',
    ],
    [
      'logs cannot be queried',
      () => {
        query = async (_, group) => (group ? throws('no kms:Decrypt')() : [])
      },
      'no kms:Decrypt',
      'kms:Decrypt',
    ],
    [
      'a function was denied an action',
      () => {
        query = async (text) => (text.includes('AccessDenied') ? [{ '@log': 'imports', denied: '3' }] : [])
      },
      'imports: 3',
      'lib/access/table-grants.ts',
    ],
    [
      'more requests are traced than the rule says',
      () => Object.assign(traced, { 'orders-log': [1000, 400] }),
      '400 of 1000',
      'lib/functions/traces.ts',
    ],
    [
      'no request is traced',
      () => Object.assign(traced, { 'orders-log': [1000, 0] }),
      '0 of 1000',
      'lib/functions/traces.ts',
    ],
    [
      'a schedule is traced',
      () => Object.assign(traced, { 'sagas-log': [1440, 72] }),
      '72 of 1440 of schedules',
      'lib/functions/service-function.ts',
    ],
    [
      'each call of a stream is traced',
      () => Object.assign(traced, { 'relay-log': [1000, 1000] }),
      '1000 of 1000',
      'lib/functions/service-function.ts',
    ],
    [
      'no backup is noted, without nightly ones',
      () => {
        changes.settings = { ...localSettings, ...weeklyOnly }
      },
      '0 messages',
      'lib/data/backups.ts',
    ],
    [
      'copies of backups are not counted by the vault of the backup',
      () => {
        changes.settings = { ...localSettings, ...copied }
        sums.NumberOfCopyJobsCompleted = 0
      },
      '0 copy jobs',
      'failedCopies',
    ],
    [
      'there are too many rate rules',
      () => {
        const Rules = Array(11).fill({ Statement: { RateBasedStatement: {} } })
        operations.GetWebACL = () => ({ WebACL: { Rules } })
      },
      '11 of 10',
      'lib/gateway/rate-rules.ts',
    ],
    [
      'a version of the managed rules is gone',
      () => {
        operations.ListAvailableManagedRuleGroupVersions = () => ({ Versions: [{ Name: 'Version_9.9' }] })
      },
      'Version_9.9',
      'limits.webAcl.managedRules',
    ],
    [
      'a metric has other dimensions',
      () => Object.assign(dimensions, { NumberOfBackupJobsCompleted: ['BackupVaultName', 'ResourceType'] }),
      'BackupVaultName, ResourceType',
      'completedBackups',
    ],
    [
      'two backups were made on Sunday',
      () => Object.assign(sums, { NumberOfBackupJobsCompleted: 2 }),
      '2',
      'lib/data/backups.ts',
    ],
    [
      'an alias kept weights',
      () => {
        changes.settings = { ...localSettings, ...provisioned }
        operations.GetAlias = () => ({ RoutingConfig: { AdditionalVersionWeights: { 3: 0.1 } } })
      },
      'weights for 3',
      '-c rollout=bypass',
    ],
  ])('%s', async (_, change, answer, otherwise) => {
    change()
    const differing = (await asked()).filter(({ state }) => state === 'differs')
    expect(differing).toMatchObject([
      { answer: expect.stringContaining(answer), otherwise: expect.stringContaining(otherwise) },
    ])
  })
})

test('at most five questions remain for a person, and each names files that exist', () => {
  expect(byHand.length).toBeLessThanOrEqual(5)
  const named = JSON.stringify(byHand).match(/\b(?:bin|docs|lib)\/[\w./-]*\w/g) ?? []
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter((path) => !existsSync(path))).toEqual([])
})
