import {
  CloudFormationClient,
  DescribeStackEventsCommand,
  paginateListStackResources,
} from '@aws-sdk/client-cloudformation'
import { CloudWatchClient, GetMetricStatisticsCommand, ListMetricsCommand } from '@aws-sdk/client-cloudwatch'
import { DescribeArchiveCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { GetAliasCommand, GetProvisionedConcurrencyConfigCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import {
  GetWebACLCommand,
  ListAvailableManagedRuleGroupVersionsCommand,
  WAFV2Client,
} from '@aws-sdk/client-wafv2'
import { functionOf, routes } from '#functions/routes.ts'
import { type Subscription, subscriptions } from '#functions/subscriptions.ts'
import { deadLettersOutput, liveAlias, pascalCase } from '#lib/functions/function-names.ts'
import { provisionedExecutions } from '#lib/functions/provisioned-concurrency.ts'
import { managedRuleGroups } from '#lib/gateway/web-acl.ts'
import { dayMilliseconds, hourMilliseconds } from '#shared/platform/base/clock.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type LogRow, type Logs, logsAt } from '../stack/log-query.ts'
import { functionNamesOf, type StackResource, stackResources } from '../stack/stack-resources.ts'

/** The access of the questions to a stack that was deployed for the first time. */
export interface FirstStack {
  /** `commerce-<stage>`. */
  name: string
  settings: Settings
  outputs: Readonly<Record<string, string>>
  cloudFormation: CloudFormationClient
  cloudWatch: CloudWatchClient
  eventBridge: EventBridgeClient
  lambda: LambdaClient
  sqs: SQSClient
  waf: WAFV2Client
  /** Runs a query over the last day. */
  queryLogs(query: string, group?: string): Promise<LogRow[]>
  /** Milliseconds since 1970. */
  now: number
}

/**
 * `differs`: AWS answers otherwise than the service expects. `not_yet`: the answer needs time, or something that has not happened.
 * `not_needed`: the stack has nothing to which the question applies. `not_asked`: AWS refused the question, for example for a missing permission.
 */
type AnswerState = 'as_expected' | 'differs' | 'not_yet' | 'not_needed' | 'not_asked'

interface AwsAnswer {
  state: AnswerState
  answer: string
}

/** A question that only AWS can answer. */
interface AwsQuestion {
  question: string
  expected: string
  /** What to change if the answer differs. */
  otherwise: string
  ask(stack: FirstStack, resources: readonly StackResource[]): Promise<AwsAnswer>
}

/** The answer to a question, as it is printed. */
export interface Answered extends AwsAnswer {
  question: string
  expected: string
  otherwise?: string
}

const questions: readonly AwsQuestion[] = [
  {
    question: 'Did everything of the stack start at once: alarms, functions, deployments of CodeDeploy?',
    expected: 'no resource failed',
    otherwise: 'raise the quota that the reason names, and deploy again',
    async ask({ name, cloudFormation }) {
      const reasons: string[] = []
      for (const stack of await stacksOf(name, cloudFormation)) {
        const { StackEvents = [] } = await cloudFormation.send(
          new DescribeStackEventsCommand({ StackName: stack }),
        )
        for (const { ResourceStatus = '', LogicalResourceId, ResourceStatusReason } of StackEvents)
          if (ResourceStatus.endsWith('_FAILED'))
            reasons.push(`${LogicalResourceId}: ${ResourceStatusReason}`)
      }
      return compared(reasons.length === 0, reasons.join('; ') || 'no resource failed')
    },
  },
  {
    question: 'Does the archive of the bus receive events?',
    expected: 'ENABLED',
    otherwise: 'give the archive a name that EventBridge takes, in lib/messages/event-bus.ts',
    async ask({ name, eventBridge }) {
      try {
        const { State = '', EventCount = 0 } = await eventBridge.send(
          new DescribeArchiveCommand({ ArchiveName: name }),
        )
        return compared(State === 'ENABLED', `${State}, ${EventCount} events`)
      } catch (thrown) {
        return compared(false, `there is none: ${(thrown as Error).message}`)
      }
    },
  },
  {
    question: 'Does EventBridge send events to the encrypted queue, admitted by the ARN of the rule only?',
    expected: 'invocations, none of which failed, and no dead letters',
    otherwise:
      'the attribute ERROR_CODE of a dead letter, or CloudTrail, says whether the policy of the queue or of the key refused: correct admitEvents in lib/messages/queues.ts or SendEventsToQueues in lib/data/own-key.ts, and redrive published_events',
    async ask(stack, resources) {
      const RuleName =
        physicalIdOf(resources, 'AWS::Events::Rule', 'PublishedEventsRule').split('|').at(-1) ?? ''
      const dimensions = { EventBusName: stack.outputs.EventBusName ?? '', RuleName }
      const sums = ['Invocations', 'FailedInvocations'].map((metric) =>
        metricSum(stack, { namespace: 'AWS/Events', metric, dimensions, from: stack.now - dayMilliseconds }),
      )
      const [invocations = 0, failed = 0] = await Promise.all(sums)
      const letters = await lettersOf(stack, 'published_events')
      const answer = `${invocations} invocations, ${failed} failed, ${letters} dead letters`
      if (invocations === 0 && failed === 0 && letters === 0)
        return { state: 'not_yet', answer: `${answer}: create an order, and ask again` }
      return compared(failed === 0 && letters === 0, answer)
    },
  },
  {
    question: 'Can operators query encrypted logs without a permission on the key?',
    expected: 'a result, with the credentials of an operator',
    otherwise:
      'allow operators kms:Decrypt through logs.REGION.amazonaws.com, in bin/permissions/policies.ts',
    async ask({ queryLogs }, resources) {
      const group = physicalIdOf(resources, 'AWS::Logs::LogGroup', 'OrdersCreateLog')
      return refused(() => queryLogs('fields @timestamp | limit 1', group))
    },
  },
  {
    question: 'Can operators query all log groups of the stack at once (SOURCE logGroups), and no others?',
    expected: 'a result, with the credentials of an operator',
    otherwise: 'allow operators logs:StartQuery on all log groups, in bin/permissions/policies.ts',
    async ask({ queryLogs, name }) {
      return refused(() => queryLogs(`SOURCE logGroups(namePrefix: ['${name}-']) | limit 1`))
    },
  },
  {
    question:
      'Does AWS grant every function what it calls, such as PartiQL inserts and conditions on keys of the table?',
    expected: 'no function was denied an action since yesterday',
    otherwise:
      'grant the denied action without conditions in lib/access/table-grants.ts, and say so in docs/security.md. Run npx commerce verify and an import before you ask again',
    async ask({ queryLogs, name }) {
      const query = `SOURCE logGroups(namePrefix: ['${name}-']) | filter @message like /AccessDenied/ | stats count(*) as denied by @log`
      const rows = await queryLogs(query)
      const denied = rows.map((row) => `${row['@log']}: ${row.denied}`)
      return compared(rows.length === 0, denied.join('; ') || 'none')
    },
  },
  {
    question: 'Does the gateway trace the share of requests that traces.share says?',
    expected: 'that share of at least 200 requests of a day, within what chance explains',
    otherwise:
      'correct the service name of the sampling rule in lib/functions/traces.ts: the default rule of the account applies',
    async ask(stack, resources) {
      const share = stack.settings['traces.share']
      const ofRoutes = routes.map((entry) => functionOf(entry).name)
      const { calls, traced } = await tracedCalls(stack, resources, ofRoutes)
      const answer = `${traced} of ${calls} requests were traced`
      if (calls < 200) return { state: 'not_yet', answer }
      return compared(Math.abs(traced - calls * share) <= chance(calls, share), answer)
    },
  },
  {
    question:
      'Are functions of queues, streams and schedules traced only if the request was that caused their work?',
    expected: 'no more than the share of traces.share, and nothing of a schedule',
    otherwise:
      'their traces cost up to 5 USD per million calls: take the permissions of X-Ray from these functions, in lib/functions/service-function.ts',
    async ask(stack, resources) {
      const share = stack.settings['traces.share']
      const isTimed = ({ source }: Subscription) => source === 'every.minute' || source === 'probe'
      const namesOf = (some: readonly Subscription[]) => some.map(({ name }) => name)
      const timed = await tracedCalls(stack, resources, namesOf(subscriptions.filter(isTimed)))
      const others = await tracedCalls(
        stack,
        resources,
        namesOf(subscriptions.filter((one) => !isTimed(one))),
      )
      const answer = `${others.traced} of ${others.calls} calls of queues and streams, and ${timed.traced} of ${timed.calls} of schedules`
      if (others.calls < 200 && timed.traced === 0) return { state: 'not_yet', answer }
      const most = others.calls * share + chance(others.calls, share)
      return compared(timed.traced === 0 && others.traced <= most, answer)
    },
  },
  {
    question: 'How many of the ten rate rules that a web ACL may have does the stack use?',
    expected: 'at most 10',
    otherwise: 'leave out a rule in lib/gateway/rate-rules.ts',
    async ask({ outputs, waf }) {
      const { WebAclName: Name, WebAclId: Id } = outputs
      if (!Name || !Id) return { state: 'not_needed', answer: 'the stack has no web ACL' }
      const { WebACL } = await waf.send(new GetWebACLCommand({ Name, Id, Scope: 'REGIONAL' }))
      const rules = WebACL?.Rules?.filter(({ Statement }) => Statement?.RateBasedStatement) ?? []
      return compared(rules.length <= 10, `${rules.length} of 10, and ${WebACL?.Capacity} capacity units`)
    },
  },
  {
    question:
      'Can the versions of the managed rules still be chosen? A stack with an expired one cannot change its web ACL.',
    expected: 'the versions of limits.webAcl.managedRules are listed',
    otherwise: 'choose listed versions in limits.webAcl.managedRules, and deploy',
    async ask({ settings, outputs, waf }) {
      if (!outputs.WebAclName) return { state: 'not_needed', answer: 'the stack has no web ACL' }
      const missing: string[] = []
      for (const [key, Name] of Object.entries(managedRuleGroups)) {
        const version = settings['limits.webAcl'].managedRules[key as keyof typeof managedRuleGroups]
        if (version === null) continue
        const listed = await waf.send(
          new ListAvailableManagedRuleGroupVersionsCommand({ Name, VendorName: 'AWS', Scope: 'REGIONAL' }),
        )
        if (!listed.Versions?.some(({ Name: one }) => one === version))
          missing.push(
            `${Name} has ${listed.Versions?.map(({ Name: one }) => one).join(', ')}, not ${version}`,
          )
      }
      return compared(missing.length === 0, missing.join('; ') || 'all are listed')
    },
  },
  {
    question: 'Does the graph of ManagedRulesExpiring show how many days the versions have left?',
    expected:
      'metrics with the dimensions ManagedRuleGroup, Region, Vendor and Version, two days after the deployment',
    otherwise: 'correct daysOfManagedRules in lib/monitoring/measures.ts',
    ask: (stack) =>
      withWebAcl(stack, () =>
        dimensionsOf(stack, { Namespace: 'AWS/WAFV2', MetricName: 'DaysToExpiry' }, [
          ...['ManagedRuleGroup', 'Region', 'Vendor', 'Version'],
        ]),
      ),
  },
  {
    question: 'Does the alarm RequestsBlocked see blocked requests?',
    expected: 'a metric with the dimensions Region, Rule and WebACL, after a blocked request',
    otherwise: 'correct blockedRequests in lib/monitoring/measures.ts',
    ask: (stack) =>
      withWebAcl(stack, () =>
        dimensionsOf(stack, { Namespace: 'AWS/WAFV2', MetricName: 'BlockedRequests', Rule: 'ALL' }, [
          ...['Region', 'Rule', 'WebACL'],
        ]),
      ),
  },
  {
    question: 'Does the alarm BackupMissing see completed backups?',
    expected: 'a metric with the dimension BackupVaultName only, after the first night',
    otherwise: 'correct completedBackups in lib/monitoring/measures.ts',
    ask: (stack) =>
      withBackups(stack, (BackupVaultName) =>
        dimensionsOf(stack, { ...backupsCompleted, BackupVaultName }, ['BackupVaultName']),
      ),
  },
  {
    question: 'Does the alarm WeeklyBackupMissing see completed backups?',
    expected: 'a message in the queue CompletedBackups, after the first Sunday',
    otherwise: 'correct the pattern of the rule in lib/data/backups.ts',
    ask: (stack, resources) =>
      withBackups(stack, async (BackupVaultName) => {
        if (stack.settings['storage.backups'].keptDays > 0)
          return { state: 'not_needed', answer: 'the stage has nightly backups' }
        const { Namespace: namespace, MetricName: metric } = backupsCompleted
        const from = stack.now - 7 * dayMilliseconds
        const made = await metricSum(stack, { namespace, metric, dimensions: { BackupVaultName }, from })
        if (made === 0) return { state: 'not_yet', answer: 'no backup was made' }
        const url = physicalIdOf(resources, 'AWS::SQS::Queue', 'CompletedBackups')
        const notes = await messagesIn(url, stack)
        return compared(notes > 0, `${notes} messages`)
      }),
  },
  {
    question: 'Does the alarm BackupCopyFailed see copies of backups?',
    expected: 'copy jobs by the name of the vault of the stack, after the first copy',
    otherwise: 'correct failedCopies in lib/monitoring/measures.ts',
    ask: (stack) =>
      withBackups(stack, async (BackupVaultName) => {
        if (stack.settings['storage.backups'].copies.length === 0)
          return { state: 'not_needed', answer: 'storage.backups has no copies' }
        const from = stack.now - 7 * dayMilliseconds
        const sumOf = (metric: string) =>
          metricSum(stack, { namespace: 'AWS/Backup', metric, dimensions: { BackupVaultName }, from })
        if ((await sumOf(backupsCompleted.MetricName)) === 0)
          return { state: 'not_yet', answer: 'no backup was made' }
        const copies = (await sumOf('NumberOfCopyJobsCompleted')) + (await sumOf('NumberOfCopyJobsFailed'))
        return compared(copies > 0, `${copies} copy jobs`)
      }),
  },
  {
    question: 'Do the nightly and the weekly rule make one backup on Sundays?',
    expected: '1 on the last Sunday',
    otherwise:
      'there is one copy too many, which costs as much as a night: leave Sunday out of the nightly rule in lib/data/backups.ts',
    ask: (stack) =>
      withBackups(stack, async (BackupVaultName) => {
        const { Namespace: namespace, MetricName: metric } = backupsCompleted
        const from = lastSunday(stack.now)
        const to = from + dayMilliseconds
        const made = await metricSum(stack, { namespace, metric, dimensions: { BackupVaultName }, from, to })
        if (made === 0) return { state: 'not_yet', answer: 'no backup was made on the last Sunday' }
        return compared(made === 1, `${made}`)
      }),
  },
  {
    question: 'Does a deployment with a canary move an alias with provisioned concurrency?',
    expected: 'one version without weights, and the status READY, once two releases were deployed',
    otherwise:
      'change limits.provisionedConcurrency in deployments with -c rollout=bypass only; npx commerce rollback removes weights that a failed version has left',
    async ask({ settings, lambda }, resources) {
      const names = Object.keys(provisionedExecutions(settings))
      if (names.length === 0) return { state: 'not_needed', answer: 'limits.provisionedConcurrency is empty' }
      const functionName = functionNamesOf(resources)
      const wrong: string[] = []
      for (const name of names) {
        const FunctionName = functionName(name)
        const alias = await lambda.send(new GetAliasCommand({ FunctionName, Name: liveAlias }))
        const weights = Object.keys(alias.RoutingConfig?.AdditionalVersionWeights ?? {})
        const { Status } = await lambda.send(
          new GetProvisionedConcurrencyConfigCommand({ FunctionName, Qualifier: liveAlias }),
        )
        if (weights.length > 0 || Status !== 'READY') wrong.push(`${name}: ${Status}, weights for ${weights}`)
      }
      return compared(wrong.length === 0, wrong.join('; ') || 'READY')
    },
  },
]

/** The questions that a person asks, because they need a failure or a drill. */
export const byHand: readonly (Omit<AwsQuestion, 'ask'> & { ask: string })[] = [
  {
    question: 'Does a failed deployment delete the versions that it published?',
    ask: "Once CodeDeploy has taken a deployment back: aws lambda list-versions-by-function --function-name FUNCTION --query 'Versions[].Version'",
    expected: 'the new versions are gone',
    otherwise: 'check before a rollback that npx commerce releases does not name the failed release',
  },
  {
    question: 'Does ApproximateAgeOfOldestMessage include the delay of delayed messages?',
    ask: 'Let a subscriber fail until a retry is delayed by several minutes, then: aws cloudwatch get-metric-statistics --namespace AWS/SQS --metric-name ApproximateAgeOfOldestMessage --dimensions Name=QueueName,Value=QUEUE_NAME --statistics Maximum --period 60 --start-time TIME --end-time TIME, for the queue deliveries',
    expected: 'at most 900 s, or more if a retry is also late',
    otherwise:
      'if it does not grow during a delay, lower the threshold of the alarm on late deliveries in lib/monitoring to 900 s',
  },
  {
    question: 'Does each tenant have its own message group in the queue of published events?',
    ask: 'Disable the event source mapping of deliveries.create (aws lambda update-event-source-mapping --uuid UUID --no-enabled), create an order, and enable it again after: aws sqs receive-message --queue-url QUEUE_URL --message-system-attribute-names MessageGroupId, with the output PublishedEventsQueueUrl',
    expected: 'the group is the name of the tenant',
    otherwise: 'report it to AWS: many events of one tenant delay the events of others',
  },
  {
    question: 'Does a restored table name its source, and how long does a restore take?',
    ask: 'Play the restores of docs/operations.md, and write their times into its section Losses',
    expected: 'npx commerce table carry-over accepts the table',
    otherwise: 'nothing is changed: correct assertRestoredFrom in bin/commands/restore/carry-over.ts',
  },
  {
    question: 'May an operator export the table into the bucket?',
    ask: 'npx commerce verify --data, with the credentials of an operator',
    expected: 'it exits with 0',
    otherwise: 'if it was denied an action, allow it in bin/permissions/command-actions.ts',
  },
]

/** Returns the access to a stack, with the credentials of the environment. */
export function firstStack(
  name: string,
  { settings, outputs }: Pick<FirstStack, 'settings' | 'outputs'>,
): FirstStack {
  return {
    ...{ name, settings, outputs },
    cloudFormation: new CloudFormationClient({}),
    cloudWatch: new CloudWatchClient({}),
    eventBridge: new EventBridgeClient({}),
    lambda: new LambdaClient({}),
    sqs: new SQSClient({}),
    waf: new WAFV2Client({}),
    queryLogs: ofLastDay(logsAt()),
    now: Date.now(),
  }
}

function ofLastDay(logs: Logs): FirstStack['queryLogs'] {
  return (query, group) => {
    const now = Date.now()
    const time = { from: now - dayMilliseconds, to: now }
    return logs.query(query, { ...time, ...(group && { groups: [group] }) })
  }
}

/** Asks AWS one question after the other. Each answer says what to change, if it differs. */
export async function* askFirst(stack: FirstStack): AsyncGenerator<Answered> {
  const resources = await stackResources(stack.name, stack.cloudFormation)
  for (const { question, expected, otherwise, ask } of questions) {
    const found = await ask(stack, resources).catch((thrown: Error): AwsAnswer => {
      return { state: 'not_asked', answer: thrown.message }
    })
    yield { question, ...found, expected, ...(found.state === 'differs' && { otherwise }) }
  }
}

function compared(isExpected: boolean, answer: string): AwsAnswer {
  return { state: isExpected ? 'as_expected' : 'differs', answer }
}

async function refused(query: () => Promise<unknown>): Promise<AwsAnswer> {
  try {
    await query()
    return compared(true, 'a result')
  } catch (thrown) {
    return compared(false, (thrown as Error).message)
  }
}

async function withWebAcl({ outputs }: FirstStack, ask: () => Promise<AwsAnswer>): Promise<AwsAnswer> {
  return outputs.WebAclName ? ask() : { state: 'not_needed', answer: 'the stack has no web ACL' }
}

const backupsCompleted = { Namespace: 'AWS/Backup', MetricName: 'NumberOfBackupJobsCompleted' }

async function withBackups(
  { outputs }: FirstStack,
  ask: (vault: string) => Promise<AwsAnswer>,
): Promise<AwsAnswer> {
  const { BackupVaultName: vault } = outputs
  return vault ? ask(vault) : { state: 'not_needed', answer: 'the stage has no backups' }
}

/** Finds whether a metric has exactly these dimensions. @param metric its name, and values that dimensions must have */
async function dimensionsOf(
  { cloudWatch }: FirstStack,
  { Namespace, MetricName, ...values }: { Namespace: string; MetricName: string } & Record<string, string>,
  expected: readonly string[],
): Promise<AwsAnswer> {
  const Dimensions = Object.entries(values).map(([Name, Value]) => ({ Name, Value }))
  const { Metrics = [] } = await cloudWatch.send(
    new ListMetricsCommand({ Namespace, MetricName, Dimensions }),
  )
  const found = Metrics.map((one) => one.Dimensions?.map(({ Name = '' }) => Name).toSorted() ?? [])
  if (found.length === 0) return { state: 'not_yet', answer: 'there is no metric' }
  const isFound = found.some((names) => names.join() === expected.toSorted().join())
  return compared(isFound, [...new Set(found.map((names) => names.join(', ')))].join('; '))
}

async function metricSum(
  { cloudWatch, now }: FirstStack,
  {
    namespace,
    metric,
    dimensions,
    from,
    to = now,
  }: { namespace: string; metric: string; dimensions: Record<string, string>; from: number; to?: number },
): Promise<number> {
  const { Datapoints = [] } = await cloudWatch.send(
    new GetMetricStatisticsCommand({
      ...{ Namespace: namespace, MetricName: metric, Period: hourMilliseconds / 1000, Statistics: ['Sum'] },
      Dimensions: Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value })),
      StartTime: new Date(from),
      EndTime: new Date(to),
    }),
  )
  return Datapoints.reduce((total, { Sum = 0 }) => total + Sum, 0)
}

/** Returns how many calls of these functions since yesterday there were, and how many of them were traced. */
async function tracedCalls(
  { name, queryLogs }: FirstStack,
  resources: readonly StackResource[],
  functions: readonly string[],
): Promise<{ calls: number; traced: number }> {
  const logs = functions.flatMap((one) =>
    resources
      .filter(({ type, logicalId }) => type === 'AWS::Logs::LogGroup' && isLogOf(one, logicalId))
      .map(({ physicalId }) => physicalId),
  )
  // Only the report of a traced call has the id of a trace.
  const rows = await queryLogs(
    `SOURCE logGroups(namePrefix: ['${name}-']) | filter @type = 'REPORT' | stats count(*) as calls, count(@xrayTraceId) as traced by @log`,
  )
  const ofThese = rows.filter((row) => logs.includes(row['@log']?.split(':').at(-1) ?? ''))
  const sum = (field: string) => ofThese.reduce((total, row) => total + Number(row[field]), 0)
  return { calls: sum('calls'), traced: sum('traced') }
}

function isLogOf(functionName: string, logicalId: string): boolean {
  return logicalId.replace(/[0-9A-F]{8}$/, '') === `${pascalCase(functionName)}Log`
}

/** Returns a difference from an expected share that chance exceeds once in many thousand days. */
function chance(calls: number, share: number): number {
  return 1 + 4 * Math.sqrt(calls * share * (1 - share))
}

/** Returns the beginning of the last Sunday that is over, in UTC. */
function lastSunday(now: number): number {
  const today = now - (now % dayMilliseconds)
  return today - (new Date(today).getUTCDay() || 7) * dayMilliseconds
}

function lettersOf(stack: FirstStack, queue: string): Promise<number> {
  return messagesIn(stack.outputs[deadLettersOutput(queue)], stack)
}

async function messagesIn(QueueUrl: string | undefined, { sqs }: FirstStack): Promise<number> {
  const AttributeNames = ['ApproximateNumberOfMessages' as const]
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }))
  return Number(Attributes?.ApproximateNumberOfMessages ?? 0)
}

function physicalIdOf(resources: readonly StackResource[], type: string, start: string): string {
  const found = resources.find((one) => one.type === type && one.logicalId.startsWith(start))
  if (!found) throw new Error(`the stack has no ${start}`)
  return found.physicalId
}

/** Returns a stack and its nested stacks. */
async function stacksOf(StackName: string, client: CloudFormationClient): Promise<string[]> {
  const found = [StackName]
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName }))
    for (const { ResourceType, PhysicalResourceId } of StackResourceSummaries)
      if (ResourceType === 'AWS::CloudFormation::Stack' && PhysicalResourceId)
        found.push(...(await stacksOf(PhysicalResourceId, client)))
  return found
}
