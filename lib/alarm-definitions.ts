import { functionOf, type RouteEntry, routes } from '#functions/routes.ts'
import { type StepEntry, steps } from '#functions/steps.ts'
import { type Subscription, subscriptions } from '#functions/subscriptions.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { pascalCase, preflight } from './function-entries.ts'
import * as measures from './measures.ts'

/** `page`: someone acts now, at any hour. `ticket`: someone acts on the next working day. */
export type Severity = 'page' | 'ticket'

/** An alarm that notifies people. */
export interface AlarmDefinition {
  /** The id in PascalCase. The name of the alarm ends with it (see `alarmName`). */
  id: string
  severity: Severity
  /** The impact on users, in one sentence. */
  impact: string
  /** The response, in one or two sentences. Impact and response are the description of the alarm. */
  act: string
  queries?: readonly LogQuery[]
  /** STACK is the name of the stack, T a tenant. */
  commands?: readonly string[]
  /** The conditions, which must all be met. The first one decides on the stack of the alarm. */
  thresholds: readonly [Threshold, ...Threshold[]]
}

/** The limit of a measure over `periods` in a row, by default one. */
export type Threshold = {
  measure: measures.Measure
  periods?: number
  /** Distinguishes the thresholds of an alarm that has several. */
  window?: 'Long' | 'Short'
} & (
  | { above: number; below?: undefined }
  /** Missing data breaches the limit: nothing was measured because nothing ran. */
  | { below: number; above?: undefined }
)

/**
 * A CloudWatch Logs Insights query. `group` is the logical id of its log group without the hash. CloudFormation
 * prefixes the id with the name of the stack and then of the nested stack, if any.
 */
interface LogQuery {
  group: string
  query: string
}

/**
 * Returns a name such as `commerce-prod-page-OrdersCreateBurnsFast`. The policies of the topics and of the key allow
 * these names.
 */
export function alarmName(stage: string, audience: Severity | 'silent', id: string): string {
  return `commerce-${stage}-${audience}-${id}`
}

/** The name of the event bus among the owners of dead-letter queues. */
export const busName = 'events.bus'

const rollback = 'npx commerce rollback --stack STACK'
const lastDeployment = 'If it began with a deployment, roll back with npx commerce rollback.'
const ledger = 'npx commerce ledger list --tenant T --stack STACK'
const listExecutions = 'aws stepfunctions list-executions --state-machine-arn ARN --status-filter'

/**
 * The rates at which an error budget is used up. At 14.4 times its pace a month's budget is gone in two days, at 6
 * times in five. The short window ends the alarm soon after the failures end.
 */
const burnRates = [
  { rate: 'Fast', severity: 'page', times: 14.4, longMinutes: 60, shortMinutes: 5, urgency: 'Act now' },
  { rate: 'Slow', severity: 'ticket', times: 6, longMinutes: 360, shortMinutes: 30, urgency: 'Act today' },
] as const

/**
 * On a quiet day one failure is a large share of the requests. Fewer failures than this in the long window notify
 * nobody.
 */
const fewestFailures = 3

/** A p99 above this multiple of the p95 signals tail latency. */
export const tailRatio = 2.5

/** The percentage of requests of an interactive route that may fail. */
const interactivePercent = 0.1

/** The alarm of an outage of the whole API. While it is in alarm, no other alarm pages. */
export const apiFailing: AlarmDefinition = {
  id: 'ApiFailing',
  severity: 'page',
  impact: 'More than 5 % of all requests fail.',
  act: `Check on the dashboard which routes fail and with which error codes. Read the AWS Health Dashboard for DynamoDB, Lambda and API Gateway. ${lastDeployment}`,
  commands: [rollback, 'aws health describe-events --filter eventStatusCodes=open'],
  thresholds: [{ measure: measures.failureShareOfApi(5), above: 5 }],
}

/** Every alarm of a stage that raises alarms. The runbook lists them too. */
export const alarmDefinitions: readonly AlarmDefinition[] = [
  apiFailing,
  ...routes.flatMap(alarmsOfRoute),
  {
    id: `${pascalCase(preflight.name)}Failing`,
    severity: 'page',
    impact: preflight.impact,
    act: `Find the error in the log. ${lastDeployment}`,
    queries: errorsInLog(preflight.name),
    thresholds: [{ measure: measures.errorsOf(preflight.name), above: 2 }],
  },
  ...subscriptions.flatMap(alarmsOfConsumer),
  ...steps.map(alarmOfStep),
  {
    id: 'RefundsPendingLong',
    severity: 'page',
    impact: 'A refund has been pending for 15 minutes. It is unknown whether it was paid.',
    act: 'Find out what delays it, and ask the payment provider for its status. Pay nothing back by hand: the service completes the refund once the provider answers.',
    queries: errorsInLog('intents.finish'),
    commands: [ledger],
    thresholds: [{ measure: measures.oldestUnfinished('refunds'), above: 900 }],
  },
  {
    id: 'ImportsRunningLong',
    severity: 'ticket',
    impact: 'An import has been running for an hour.',
    act: 'Find out from the execution history what takes the time. The owner of the import can cancel it. It ends after two hours and a quarter at the latest.',
    queries: errorsInLog('operations.end-abandoned'),
    commands: [`${listExecutions} RUNNING`],
    thresholds: [{ measure: measures.oldestUnfinished('imports'), above: 3600 }],
  },
  {
    id: 'ImportMachineFailing',
    severity: 'ticket',
    impact: 'The workflow of an import failed. The import is marked as failed within a minute.',
    act: 'Find the failed step in the execution history. The file can be sent again.',
    commands: [
      `${listExecutions} FAILED`,
      'aws stepfunctions get-execution-history --execution-arn ARN --reverse-order',
    ],
    thresholds: [{ measure: measures.failedImports, above: 0 }],
  },
  {
    id: 'EventBusDeadLettersPresent',
    severity: 'ticket',
    impact: 'The event bus could not encrypt or decrypt events. Their subscribers did not receive them.',
    act: 'Check that the key of the stage is enabled and that its policy names events.amazonaws.com. Then replay the events of that time.',
    commands: ['npx commerce events replay --from TIME --to TIME --stack STACK'],
    thresholds: [{ measure: measures.deadLettersOf(busName), above: 0 }],
  },
  {
    id: 'TableThrottled',
    severity: 'ticket',
    impact: 'DynamoDB throttles requests to the table: requests take longer, and some fail.',
    act: 'Find the tenant or key with most of the traffic, and compare the traffic with the table’s quotas.',
    commands: ['aws dynamodb describe-table --table-name TABLE', 'aws dynamodb describe-limits'],
    thresholds: [{ measure: measures.throttledRequests, above: 0, periods: 3 }],
  },
  {
    id: 'FunctionsThrottled',
    severity: 'ticket',
    impact: 'Lambda throttles functions of this account: some requests fail, and queued work waits.',
    act: 'Find the throttled function. Raise the account’s quota of concurrent executions, or the function’s reserved concurrency.',
    commands: ['aws lambda get-account-settings'],
    thresholds: [{ measure: measures.throttledCalls, above: 0, periods: 3 }],
  },
  {
    id: 'BackupMissing',
    severity: 'ticket',
    impact: 'No backup of the table has completed for 30 hours.',
    act: 'Find out why the latest backup job failed or did not start. Fix that and start a backup by hand. On a new stage the alarm ends with the first backup.',
    commands: [
      'aws backup list-backup-jobs --by-resource-type DynamoDB --max-results 5',
      'aws backup start-backup-job --backup-vault-name VAULT --resource-arn TABLE_ARN --iam-role-arn ROLE_ARN',
    ],
    // One backup runs each night and has six hours to complete.
    thresholds: [{ measure: measures.completedBackups, below: 1, periods: 30 }],
  },
  // SES reviews an account at these rates: https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-messages.html
  ...(
    [
      ['Bounce', 0.05],
      ['Complaint', 0.001],
    ] as const
  ).map(
    ([kind, above]): AlarmDefinition => ({
      id: `Mail${kind}s`,
      severity: 'ticket',
      impact: `${kind}s reach ${above * 100} % of mails: SES reviews the account and may stop it from sending.`,
      act: 'Find out which addresses cause them, and whether someone requests codes for addresses of others. Answer the review in the SES console.',
      commands: ['aws sesv2 get-account', 'aws sesv2 list-suppressed-destinations'],
      thresholds: [{ measure: measures.mailRate(kind), above }],
    }),
  ),
]

/** Returns the query for the failures that a function logs. */
function errorsInLog(functionName: string): LogQuery[] {
  const query =
    'fields @timestamp, code, fault.name, fault.at.0 | filter level = "ERROR" | sort @timestamp desc'
  return [{ group: `${pascalCase(functionName)}Log`, query }]
}

function alarmsOfRoute(entry: RouteEntry): AlarmDefinition[] {
  const { route } = entry
  const { operation, summary, impact } = route
  const id = pascalCase(operation)
  const group = `${pascalCase(functionOf(entry).name)}Log`
  const queries = (...texts: string[]) =>
    texts.map((text) => ({ group, query: `filter operation = "${operation}" ${text}` }))
  const failing = {
    queries: queries(
      'and status >= 500 | stats count(*) by error_code, fault.name, fault.at.0',
      'and status >= 500 | fields @timestamp, correlation_id, error_code | sort @timestamp desc',
    ),
    commands: [...commandsOn(route), rollback],
  }
  const slow = {
    severity: 'ticket' as const,
    act: 'Find out from the traces whether the table, an external service or cold starts take the time.',
    queries: queries(
      '| fields @timestamp, duration_milliseconds, correlation_id | sort duration_milliseconds desc',
    ),
  }
  // Only webhooks have no error budget: no user waits, and senders retry.
  const budget = route.auth === 'signature' ? undefined : (route.errorBudgetPercent ?? interactivePercent)
  const alarms: AlarmDefinition[] = []
  if (budget === undefined) {
    alarms.push({
      id: `${id}Failing`,
      severity: 'page',
      impact,
      act: `Find out which error codes it returns. ${remedyOf(route)}`,
      ...failing,
      thresholds: [{ measure: measures.failedRequests(route), above: 2 }],
    })
  } else {
    for (const { rate, severity, times, longMinutes, shortMinutes, urgency } of burnRates) {
      const above = Number((times * budget).toFixed(4))
      const long = measures.failureShare(route, { minutes: longMinutes, fewest: fewestFailures })
      const short = measures.failureShare(route, { minutes: shortMinutes, fewest: 1 })
      alarms.push({
        id: `${id}Burns${rate}`,
        severity,
        impact: `${impact} Failures use up the error budget of ${budget} % more than ${times} times as fast as it allows.`,
        act: `${urgency}: find out which error codes it returns. ${remedyOf(route)}`,
        ...failing,
        thresholds: [
          { window: 'Long', measure: long, above },
          { window: 'Short', measure: short, above },
        ],
      })
    }
  }
  for (const percentile of [95, 99] as const) {
    const limit = route.latency?.[`p${percentile}`]
    if (limit === undefined) continue
    alarms.push({
      id: `${id}${percentile === 99 ? 'Slow' : 'OftenSlow'}`,
      impact: `${summary}: ${100 - percentile} % of requests take longer than the latency budget of ${limit} ms.`,
      ...slow,
      thresholds: [{ measure: measures.latencyOf(route, percentile), above: limit, periods: 3 }],
    })
  }
  alarms.push({
    id: `${id}Tail`,
    impact: `${summary}: the slowest requests take more than ${tailRatio} times as long as most.`,
    ...slow,
    thresholds: [{ measure: measures.tailOf(route), above: tailRatio, periods: 3 }],
  })
  return alarms
}

/** Returns the remedy for a failing route, by the resources that it uses. */
function remedyOf({ uses }: Route): string {
  if (uses.includes('secret.payments')) {
    return `Check the status of the payment provider. Pay nothing back by hand: the service finishes pending refunds. ${lastDeployment}`
  }
  if (uses.includes('pool.client')) return `Check the health of Cognito. ${lastDeployment}`
  return `Check whether DynamoDB throttles or is unavailable. ${lastDeployment}`
}

function commandsOn({ uses, auth }: Route): string[] {
  return [
    ...(uses.includes('secret.payments') ? [ledger] : []),
    ...(uses.includes('secret.webhooks') ? ['npx commerce dead-letters redrive webhooks --stack STACK'] : []),
    ...(auth === 'bearer' ? ['npx commerce audit list --tenant T --stack STACK'] : []),
  ]
}

/**
 * Returns the alarms of a consumer. A failing consumer raises a ticket and the work that waits for it a page, so an
 * outage pages once.
 */
function alarmsOfConsumer({ name, source, impact }: Subscription): AlarmDefinition[] {
  const id = pascalCase(name)
  const queries = errorsInLog(name)
  const failing = (after: string, commands: readonly string[] = []): AlarmDefinition => ({
    id: `${id}Failing`,
    severity: 'ticket',
    impact,
    act: `Find the error in the log and fix it. ${after}`,
    queries,
    commands,
    thresholds: [{ measure: measures.errorsOf(name), above: 0 }],
  })
  if (source === 'pool.token') {
    // Logins fail with this function, and the alarm of the login route pages.
    return [failing('If it began with a deployment, deploy the commit before it with -c rollout=bypass.')]
  }
  if (source === 'every.minute') {
    const notRunning: AlarmDefinition = {
      id: `${id}NotRunning`,
      severity: 'page',
      impact: `${impact} ${name} has not completed a run for ten minutes.`,
      act: 'Check that its schedule exists and is enabled, and find the error in the log of its function.',
      queries,
      commands: ['aws scheduler list-schedules'],
      thresholds: [{ measure: measures.completedRunsOf(name), below: 1, periods: 2 }],
    }
    return [failing('The next run, within a minute, handles the missed work.'), notRunning]
  }
  const ofQueue = 'queue' in source
  const redrive = `npx commerce dead-letters redrive ${ofQueue ? source.queue : name} --stack STACK`
  const first = ofQueue
    ? failing('Failed messages are kept in its dead-letter queue: redrive it afterwards.', [redrive])
    : failing(
        'Changes wait in the stream of the table for 24 hours and are then handled without further action.',
      )
  return [
    first,
    {
      id: `${id}DeadLettersPresent`,
      severity: 'ticket',
      impact: `${name} failed permanently to handle ${ofQueue ? 'messages' : 'changes'}. They are in its dead-letter queue.`,
      act: ofQueue
        ? 'Fix the error, then redrive the queue. Duplicates are handled once.'
        : 'Fix the error, then redrive the stream within 24 hours: the function handles the failed batches again. Older batches are rebuilt from the table. Duplicates are handled once.',
      queries,
      commands: [redrive],
      thresholds: [{ measure: measures.deadLettersOf(name), above: 0 }],
    },
    {
      ...first,
      id: `${id}Late`,
      severity: 'page',
      impact: `${impact} ${ofQueue ? 'Messages have been waiting for 15 minutes.' : 'Changes have been waiting for a minute.'}`,
      thresholds: [
        ofQueue
          ? // Longer than all attempts at one message together. An older message waits because nothing is handled.
            { measure: measures.oldestMessageIn(source.queue), above: 900 }
          : // A batch reported as failed is not an error of the function. Its changes wait, which this measure shows.
            { measure: measures.oldestChangeFor(name), above: 60_000 },
      ],
    },
  ]
}

function alarmOfStep({ name, impact }: StepEntry): AlarmDefinition {
  return {
    id: `${pascalCase(name)}Failing`,
    severity: 'ticket',
    impact,
    act: 'Find the error in the log and fix it. A file whose import failed can be sent again: no row is imported twice.',
    queries: errorsInLog(name),
    commands: [`${listExecutions} FAILED`],
    // A step is retried, so one failure loses nothing.
    thresholds: [{ measure: measures.errorsOf(name), above: 2 }],
  }
}
