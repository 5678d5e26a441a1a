import { functionOf, routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { corsPreflight, pascalCase, unknownRoute } from '#lib/functions/function-names.ts'
import { areaOf } from '#shared/platform/identity/authorize.ts'
import { alarmGroupOf, gatewayPathOf } from '#shared/platform/request/route.ts'
import { localSettings } from '#test/support/settings.ts'

/**
 * A failure, and how somebody learns of it, at 100 requests a minute of the API of which the failing route gets one. A test plays
 * each row against the alarm of the template.
 */
export interface Failure {
  kind: string
  /** The alarm that notices it, and its minutes at most. */
  alarm?: string
  minutes?: number
  /** What shows it without an alarm: a graph or a table of the dashboard. */
  look?: string
  /** Why it has no alarm, or a late one. */
  reason?: string
  /** How it shows in metrics, from its first minute on. */
  signals: readonly Signal[]
}

/** The values of a metric in each minute of a failure. Dimensions that are left out may have any value. */
export interface Signal {
  metric: string
  dimensions?: Readonly<Record<string, string>>
  /** It had these values before the failure, too. */
  before?: true
  /** @returns undefined if nothing is measured in this minute */
  at: (minute: number) => number | undefined
}

const each = (value: number) => () => value
const once = (value: number) => (minute: number) => (minute === 0 ? value : undefined)
const never = () => undefined
const seconds = (minute: number) => minute * 60

/** Requests that fail: a number of them in each minute. */
function failing(watched: string, perMinute: (minute: number) => number | undefined): Signal[] {
  const metric = 'failed_requests'
  return [
    { metric, dimensions: { watched }, at: perMinute },
    { metric, dimensions: { service: 'commerce-api' }, at: perMinute },
  ]
}

/** One of a hundred requests in a hundred minutes, of which the route gets one a minute. */
const onePercent = (minute: number) => (minute % 100 === 99 ? 1 : undefined)

const budgeted = routes.filter(({ route }) => route.latency)
const others = routes.filter(({ route }) => !route.latency)

const ofRequests: readonly Failure[] = [
  {
    kind: 'More than 5 % of all requests fail',
    alarm: 'ApiFailing',
    minutes: 1,
    signals: failing('codes', each(30)),
  },
  ...budgeted.map(
    ({ route }): Failure => ({
      kind: 'A route with a latency budget fails wholly, or its function crashes',
      alarm: `${pascalCase(route.operation)}Failing`,
      minutes: 3,
      signals: failing(route.operation, each(1)),
    }),
  ),
  ...budgeted.map(
    (entry): Failure => ({
      kind: 'A route with a latency budget fails wholly, or its function crashes',
      alarm: `${pascalCase(entry.route.operation)}Failing`,
      minutes: 3,
      signals: crashing(functionOf(entry).name),
    }),
  ),
  ...others.map(
    ({ route }): Failure => ({
      kind: 'Another route fails wholly, or 1 % of 100 requests a minute',
      alarm: `${pascalCase(areaOf(route))}Failing`,
      minutes: 3,
      signals: failing(alarmGroupOf(route), each(1)),
    }),
  ),
  ...others.map(
    (entry): Failure => ({
      kind: 'Any other function behind the gateway crashes',
      alarm: 'RequestsUnanswered',
      minutes: 3,
      signals: crashing(functionOf(entry).name),
    }),
  ),
  ...[corsPreflight, unknownRoute].map(
    ({ name }): Failure => ({
      kind: 'Any other function behind the gateway crashes',
      alarm: 'RequestsUnanswered',
      minutes: 3,
      signals: crashing(name),
    }),
  ),
  {
    kind: 'The function that adds claims to tokens fails',
    alarm: 'LoginFailing',
    minutes: 3,
    reason: 'Three logins that fail raise it, not one.',
    signals: [{ metric: 'Errors', dimensions: { FunctionName: '<LoginAddClaims>' }, at: each(1) }],
  },
  ...others.map(
    (entry): Failure => ({
      kind: 'Another route fails wholly, or 1 % of 100 requests a minute',
      alarm: `${pascalCase(areaOf(entry.route))}Failing`,
      minutes: 3,
      signals: [
        {
          metric: 'Invocations',
          dimensions: { FunctionName: `<${pascalCase(functionOf(entry).name)}>` },
          before: true,
          at: each(100),
        },
        ...failing(alarmGroupOf(entry.route), each(1)),
      ],
    }),
  ),
  ...others.map(
    ({ route }): Failure => ({
      kind: 'Another route fails one request in 100 minutes',
      look: 'Failed requests by operation',
      reason: 'So rare a failure can wait for the morning.',
      signals: failing(alarmGroupOf(route), onePercent),
    }),
  ),
  ...routes.map(
    (): Failure => ({
      kind: 'Requests are slow: p95 or p99 above the latency budget, or p99 above 2.5 times p95',
      look: 'Latency by operation',
      reason:
        'Nobody can do more about it at night than in the morning. Requests that exceed their time limit fail, and have an alarm.',
      signals: [],
    }),
  ),
]

/** A function that ends without a response: Lambda counts an error, and the gateway makes the response. */
function crashing(name: string): Signal[] {
  return [
    { metric: 'Errors', dimensions: { FunctionName: `<${pascalCase(name)}>` }, at: each(1) },
    { metric: 'unanswered_requests', at: each(1) },
  ]
}

/** A route that alone gets 100 requests a minute fails in part. */
const inPart = budgeted.map(({ route }): Failure => {
  const percent = route.operation === 'refunds.create' ? 0.5 : 1
  return {
    kind: 'A route with a latency budget fails 1 % of its requests, or refunds.create 0.5 %',
    alarm: `${pascalCase(route.operation)}Failing`,
    minutes: 37,
    signals: [
      {
        metric: 'Count',
        dimensions: { Method: route.method, Resource: gatewayPathOf(route, localSettings) },
        before: true,
        at: each(100),
      },
      ...failing(route.operation, (minute) => (percent === 1 || minute % 2 === 0 ? 1 : undefined)),
    ],
  }
})

const errorOf = (name: string): Signal => ({
  metric: 'Errors',
  dimensions: { FunctionName: `<${pascalCase(name)}>` },
  at: each(1),
})

const ofWork: readonly Failure[] = subscriptions.flatMap(({ name, source }): Failure[] => {
  const id = pascalCase(name)
  if (source === 'pool.token' || source === 'probe') return []
  if (source === 'operators')
    return [
      {
        kind: 'A function that a command invokes fails',
        look: 'Functions without a route: errors',
        reason: 'The operator who runs the command sees its error.',
        signals: [errorOf(name)],
      },
    ]
  if (source === 'every.minute') {
    const invoked = (at: Signal['at']): Signal => ({
      metric: 'Invocations',
      dimensions: { FunctionName: `<${id}>` },
      at,
    })
    return [
      {
        kind: 'A function that runs each minute is not invoked, or fails',
        alarm: `${id}NotRunning`,
        minutes: 10,
        signals: [invoked(never)],
      },
      {
        kind: 'A function that runs each minute is not invoked, or fails',
        alarm: `${id}NotRunning`,
        minutes: 10,
        reason: 'A single error needs nobody: the next run repeats the work.',
        signals: [errorOf(name)],
      },
    ]
  }
  const letters: Failure = {
    kind: 'Work fails for good and is a dead letter',
    alarm: `${id}DeadLettersPresent`,
    minutes: 1,
    signals: [
      {
        metric: 'ApproximateNumberOfMessagesVisible',
        dimensions: {
          QueueName: `<${'queue' in source ? pascalCase(source.queue) : id}DeadLetters.QueueName>`,
        },
        at: each(1),
      },
    ],
  }
  if ('stream' in source) {
    const age = (at: Signal['at']): Signal => ({
      metric: 'IteratorAge',
      dimensions: { FunctionName: `<${id}>` },
      at,
    })
    return [
      letters,
      {
        kind: 'Changes of the table wait for their function, or it fails',
        alarm: `${id}Late`,
        minutes: 3,
        signals: [age((minute) => minute * 60_000)],
      },
      {
        kind: 'Changes of the table wait for their function, or it fails',
        alarm: `${id}Late`,
        minutes: 3,
        reason: 'The stream repeats a batch that failed. Only changes that wait for a minute need somebody.',
        signals: [errorOf(name), age((minute) => minute * 60_000)],
      },
    ]
  }
  const minutes = source.daily ? 360 : source.queue === 'deliveries' ? 30 : 15
  const waiting: Signal = {
    metric: 'ApproximateAgeOfOldestMessage',
    dimensions: { QueueName: `<${pascalCase(source.queue)}.QueueName>` },
    at: seconds,
  }
  return [
    letters,
    {
      kind: `Messages wait in a queue for ${minutes} minutes, or its function fails`,
      // The age is above the limit one minute later, and is seen after another one.
      alarm: `${id}Late`,
      minutes: minutes + 2,
      signals: [waiting],
    },
    {
      kind: `Messages wait in a queue for ${minutes} minutes, or its function fails`,
      alarm: `${id}Late`,
      minutes: minutes + 2,
      reason:
        'Each message is tried again, so an error needs nobody. What failed for good has an alarm, too.',
      signals: [errorOf(name), waiting],
    },
    ...(source.daily
      ? [
          {
            kind: 'The daily comparison of the ledger does not run',
            alarm: `${id}NotRunning`,
            minutes: 1560,
            signals: [{ metric: 'Invocations', dimensions: { FunctionName: `<${id}>` }, at: never }],
          },
        ]
      : []),
  ]
})

const ofSteps: readonly Failure[] = steps.map(({ name }) => ({
  kind: 'A step of an import fails',
  look: 'Functions without a route: errors',
  reason: 'The owner of the import gets its failure, and can send the file again: no row is imported twice.',
  signals: [errorOf(name)],
}))

const age = (work: string, at: Signal['at']): Signal => ({
  metric: 'oldest_pending_seconds',
  dimensions: { work },
  at,
})
const alert = (code: string): Signal => ({ metric: 'alerts', dimensions: { code }, at: once(1) })

const ofMoney: readonly Failure[] = [
  {
    kind: 'A refund stays pending for 15 minutes',
    alarm: 'RefundsPendingLong',
    minutes: 17,
    signals: [age('refunds', seconds)],
  },
  {
    kind: 'A refund is not settled for ten days',
    alarm: 'RefundsUnsettledLong',
    minutes: 14_402,
    signals: [age('unsettled_refunds', seconds)],
  },
  ...(
    [
      ['A refund that had failed was paid', 'RefundPaidLate', 'REFUND_PAID_LATE'],
      ['An account at the provider is lost', 'ProviderAccountLost', 'PROVIDER_ACCOUNT_LOST'],
      ['An item carries an event that it may not carry', 'CarrierRefused', 'CARRIER_REFUSED'],
    ] as const
  ).map(([kind, alarm, code]): Failure => ({ kind, alarm, minutes: 1, signals: [alert(code)] })),
  {
    kind: 'The ledger differs from the provider',
    alarm: 'RefundsDiffer',
    minutes: 1,
    signals: [{ metric: 'differences', dimensions: { work: 'refunds' }, at: once(1) }],
  },
]

const ofTheRest: readonly Failure[] = [
  {
    kind: 'The public address does not answer',
    alarm: 'PublicAddressSilent',
    minutes: 3,
    signals: [{ metric: 'successful_probes', at: never }],
  },
  {
    kind: 'The key is disabled, its deletion is scheduled, or the table is deleted',
    alarm: 'ApiFailing',
    minutes: 1,
    signals: failing('orders.create', each(30)),
  },
  {
    kind: 'The same at night, without a request',
    alarm: 'SagasFinishNotRunning',
    minutes: 10,
    reason: 'Nobody calls. The functions that run each minute read the table, and fail.',
    signals: [errorOf('sagas.finish')],
  },
  {
    kind: 'The bus cannot use its key',
    alarm: 'EventBusDeadLettersPresent',
    minutes: 1,
    signals: [
      {
        metric: 'ApproximateNumberOfMessagesVisible',
        dimensions: { QueueName: '<EventBusDeadLetters.QueueName>' },
        at: each(1),
      },
    ],
  },
  {
    kind: 'The table throttles requests',
    alarm: 'TableThrottled',
    minutes: 11,
    signals: [{ metric: 'WriteThrottleEvents', at: each(1) }],
  },
  {
    kind: 'Lambda throttles functions',
    alarm: 'FunctionsThrottled',
    minutes: 11,
    signals: [{ metric: 'Throttles', at: each(1) }],
  },
  {
    kind: 'Four fifths of the shared executions are in use',
    alarm: 'ConcurrencyHigh',
    minutes: 1,
    signals: [{ metric: 'UnreservedConcurrentExecutions', at: each(1000) }],
  },
  {
    kind: 'The web ACL blocks 300 requests a minute',
    alarm: 'RequestsBlocked',
    minutes: 14,
    signals: [{ metric: 'BlockedRequests', at: each(300) }],
  },
  {
    kind: 'No nightly backup completes',
    alarm: 'BackupMissing',
    minutes: 1860,
    signals: [{ metric: 'NumberOfBackupJobsCompleted', at: never }],
  },
  {
    kind: 'No weekly backup completes, without nightly ones',
    alarm: 'WeeklyBackupMissing',
    minutes: 8 * 1440 + 60,
    signals: [
      {
        metric: 'ApproximateNumberOfMessagesVisible',
        dimensions: { QueueName: '<CompletedBackups.QueueName>' },
        // The note of the latest backup expires.
        at: (minute) => (minute < 8 * 1440 ? 1 : 0),
      },
    ],
  },
  {
    kind: 'A backup is not copied into another vault',
    alarm: 'BackupCopyFailed',
    minutes: 1,
    signals: [{ metric: 'NumberOfCopyJobsFailed', at: (minute) => (minute === 0 ? 1 : 0) }],
  },
  {
    kind: 'The service stops sending to a subscriber',
    look: 'Alerts',
    reason: 'Only the owner of the subscriber can repair it, and its events are suspended.',
    signals: [alert('SUBSCRIBER_DISABLED')],
  },
  {
    kind: 'Deliveries wait 15 minutes longer than they should',
    look: 'Pending refunds and imports: age of the oldest (s)',
    reason:
      'Late retries and suspended events are late anyway. That nothing is delivered has an alarm, and that the sweep does not run.',
    signals: [age('deliveries', seconds)],
  },
  {
    kind: 'An import runs for an hour',
    look: 'Pending refunds and imports: age of the oldest (s)',
    reason: 'It ends by itself at its time limit, and its owner can cancel it.',
    signals: [age('imports', seconds)],
  },
  {
    kind: 'The workflow of an import fails',
    look: 'Imports: duration (ms), timeouts, failures',
    reason:
      'The owner of the import gets its failure, and can send the file again: no row is imported twice.',
    signals: [{ metric: 'ExecutionsFailed', at: each(1) }],
  },
  {
    kind: 'More calls than provisioned concurrency',
    look: 'Calls beyond provisioned concurrency',
    reason: 'They meet a cold start, and nothing fails.',
    signals: [{ metric: 'ProvisionedConcurrencySpilloverInvocations', at: each(1) }],
  },
  {
    kind: 'A version of the managed rules expires within 30 days',
    look: 'Days until a version of the managed rules expires',
    reason:
      'It can wait for a working day. If nobody looks, AWS uses its default version, and the next deployment that changes the web ACL fails and says so.',
    signals: [{ metric: 'DaysToExpiry', at: each(20) }],
  },
  {
    kind: 'Bounces or complaints reach the rates at which SES reviews an account',
    look: 'Mail: bounce and complaint rates',
    reason: 'SES writes to the owner of the account before it stops mails.',
    signals: [{ metric: 'Reputation.BounceRate', at: each(0.1) }],
  },
]

export const failures: readonly Failure[] = [
  ...[ofRequests, inPart, ofWork, ofSteps, ofMoney, ofTheRest].flat(),
]
