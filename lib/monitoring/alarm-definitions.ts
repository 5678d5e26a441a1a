import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { pascalCase, preflight, unknownRoute } from '../function-entries.ts'
import {
  type AlarmDefinition,
  duringFreeze,
  errorsInLog,
  lastDeployment,
  listExecutions,
  rollback,
} from './alarm-definition.ts'
import { spilledCalls, usedConcurrency } from './concurrency-measures.ts'
import { alarmOfStep, alarmsOfConsumer } from './consumer-alarms.ts'
import * as measures from './measures.ts'
import { refundAlarms } from './refund-alarms.ts'
import { failureShareOfApi } from './request-measures.ts'
import { alarmsOfRoute } from './route-alarms.ts'

/** The name of the event bus among the owners of dead-letter queues. */
export const busName = 'events.bus'

/** The alarm of an outage of the whole API. While it is in alarm, no other alarm pages. */
export const apiFailing: AlarmDefinition = {
  id: 'ApiFailing',
  severity: 'page',
  impact: 'More than 5 % of all requests fail.',
  act: `${duringFreeze} check on the dashboard which routes fail and with which error codes. Read https://health.aws.amazon.com/health/status for DynamoDB, Lambda and API Gateway: it needs no support plan. ${lastDeployment}`,
  commands: [rollback],
  thresholds: [{ measure: failureShareOfApi(5), above: 5 }],
}

/**
 * Returns the command that prints the functions with a count above 0 in the last hour.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html
 */
function functionsBy(metricName: string, dimensions = 'FunctionName'): string {
  const search = `SEARCH('{AWS/Lambda,${dimensions}} MetricName="${metricName}"', 'Sum', 300)`
  const queries = JSON.stringify([{ Id: 'functions', Expression: search }]).replaceAll("'", "'\\''")
  return [
    'aws cloudwatch get-metric-data --start-time $(($(date +%s) - 3600)) --end-time $(date +%s) --output table',
    "--query 'MetricDataResults[?sum(Values) > `0`].[Label,sum(Values)]'",
    `--metric-data-queries '${queries}'`,
  ].join(' \\\n  ')
}

/** Every alarm of a stage that raises alarms. The runbook lists them too. */
export const alarmDefinitions: readonly AlarmDefinition[] = [
  apiFailing,
  ...routes.flatMap(alarmsOfRoute),
  ...[preflight, unknownRoute].map(({ name, folder: _, ...entry }) => ({
    ...entry,
    id: `${pascalCase(name)}Failing`,
    act: `Find the error in the log. ${lastDeployment}`,
    queries: errorsInLog(name),
    thresholds: [{ measure: measures.errorsOf(name), above: 2 }] as const,
  })),
  ...subscriptions.flatMap(alarmsOfConsumer),
  ...steps.map(alarmOfStep),
  ...refundAlarms,
  {
    id: 'CarrierRefused',
    severity: 'page',
    impact:
      'An item of the table carries an event or a task that no item of its kind may carry. It was neither published nor queued. A function may have been taken over, or a release has a defect.',
    act: 'The query names the event or task and the kind of the item. Find the functions that may write such items (`table` of their routes and subscriptions), and their latest deployments. If nobody deployed a change of them, treat it as an intrusion: freeze the stage and rotate its secrets (docs/operations.md).',
    queries: ['EventsRelayLog', 'TasksEnqueueLog'].map((group) => ({
      group,
      query:
        'fields @timestamp, carried, kind, correlation_id | filter code = "CARRIER_REFUSED" | sort @timestamp desc',
    })),
    thresholds: [{ measure: measures.alertsOf('CARRIER_REFUSED', 'refused events and tasks'), above: 0 }],
  },
  {
    id: 'SubscriberDisabled',
    severity: 'ticket',
    impact:
      'The service stopped sending events to a subscriber of a tenant: it answered 410, or failed for days. Its events are held.',
    act: 'Tell its tenant: the query names both. Once it works, resume it: the held events are sent. The audit has the reason: action subscriber.disable. Follow the section Subscribers of docs/operations.md.',
    queries: [
      {
        group: 'DeliveriesSendLog',
        query:
          'fields @timestamp, tenant, subscriber, correlation_id | filter code = "SUBSCRIBER_DISABLED" | sort @timestamp desc',
      },
    ],
    thresholds: [
      { measure: measures.alertsOf('SUBSCRIBER_DISABLED', 'subscribers that were disabled'), above: 0 },
    ],
  },
  {
    id: 'DeliveriesWaitingLong',
    severity: 'ticket',
    impact:
      'Deliveries of events have waited for 15 minutes longer than they should: late retries and held events are not sent.',
    act: 'Find the error in the log. The sweep repeats what it could not queue each minute. Without an error, it cannot reach all subscribers in a quarter of an hour: docs/scaling.md has its ceiling.',
    queries: errorsInLog('deliveries.sweep'),
    thresholds: [{ measure: measures.oldestUnfinished('deliveries'), above: 900 }],
  },
  {
    id: 'ImportsRunningLong',
    severity: 'ticket',
    impact: 'An import has been running for an hour.',
    act: 'Find out from the execution history what takes the time. The owner of the import can cancel it. It ends a quarter of an hour after imports.timeoutSeconds at the latest.',
    queries: errorsInLog('operations.end-abandoned'),
    commands: [`${listExecutions} RUNNING`],
    thresholds: [{ measure: measures.oldestUnfinished('imports'), above: 3600 }],
  },
  {
    id: 'ImportMachineFailing',
    severity: 'ticket',
    impact: 'The workflow of an import failed. The import is marked as failed within a minute.',
    act: `${duringFreeze} find the failed step in the execution history. The file can be sent again.`,
    commands: [
      `${listExecutions} FAILED`,
      'aws stepfunctions get-execution-history --execution-arn EXECUTION_ARN --reverse-order',
    ],
    thresholds: [{ measure: measures.failedImports, above: 0 }],
  },
  {
    id: 'EventBusDeadLettersPresent',
    severity: 'ticket',
    impact: 'The event bus could not encrypt or decrypt events. Their subscribers did not receive them.',
    act: 'Check that the key of the stage is enabled and that its policy names events.amazonaws.com. Then redrive events.relay with the times between which events were lost: it publishes the same events again, to subscribers outside AWS, too, and names those that it cannot rebuild. Then empty the dead-letter queue of the bus, which ends the alarm.',
    commands: [
      'npx commerce dead-letters redrive events.relay --from TIME --to TIME --stack STACK',
      'aws sqs list-queues --queue-name-prefix STACK-EventBusDeadLetters',
      'aws sqs purge-queue --queue-url QUEUE_URL',
    ],
    thresholds: [{ measure: measures.deadLettersOf(busName), above: 0 }],
  },
  {
    id: 'TableThrottled',
    severity: 'ticket',
    impact: 'DynamoDB throttles requests to the table: requests take longer, and some fail.',
    act: 'Find the tenant with most of the traffic (‘Who causes the load’ in the runbook), and compare the traffic with the table’s quotas. storage.contributorInsights shows the hottest keys.',
    commands: ['aws dynamodb describe-table --table-name TABLE', 'aws dynamodb describe-limits'],
    thresholds: [{ measure: measures.throttledRequests, above: 0, periods: 3 }],
  },
  {
    id: 'FunctionsThrottled',
    severity: 'ticket',
    impact: 'Lambda throttles functions of this account: some requests fail, and queued work waits.',
    act: `${duringFreeze} find the throttled function. Raise the account’s quota of concurrent executions, or the function’s reserved concurrency.`,
    commands: [functionsBy('Throttles'), 'aws lambda get-account-settings'],
    thresholds: [{ measure: measures.throttledCalls, above: 0, periods: 3 }],
  },
  {
    id: 'ConcurrencyHigh',
    severity: 'page',
    impact:
      'Four fifths of the concurrent executions that functions share are in use. When all are, callers get 503.',
    act: 'Find out who causes the load (‘Who causes the load’ in the runbook) and block it, or raise the account’s quota of concurrent executions and limits.concurrency.',
    commands: ['aws lambda get-account-settings'],
    thresholds: [{ measure: usedConcurrency, above: 80 }],
  },
  {
    id: 'ProvisionedConcurrencyExceeded',
    severity: 'ticket',
    impact:
      'Operations with provisioned concurrency get more requests at once than executions are kept ready: some requests meet a cold start.',
    act: 'Find out which function, and whether the load is legitimate (‘Who causes the load’ in the runbook). If it lasts, raise limits.provisionedConcurrency of its operation and deploy. If the command reports FAILED, the version does not start: fix it, or roll back.',
    commands: [
      functionsBy('ProvisionedConcurrencySpilloverInvocations', 'FunctionName,Resource'),
      'aws lambda get-provisioned-concurrency-config --function-name NAME --qualifier live',
      'aws lambda get-account-settings',
    ],
    // A deployment or a rollback allocates the executions again, which takes minutes.
    thresholds: [{ measure: spilledCalls, above: 0, periods: 3 }],
  },
  {
    id: 'RequestsBlocked',
    severity: 'ticket',
    impact: 'The web ACL blocks many requests: an attack, or a rule that rejects legitimate callers.',
    act: 'Find out in the log of the web ACL which rule blocks which paths. If callers are legitimate, set limits.webAcl.action to count and deploy. Block an attacker by its address.',
    queries: [
      {
        name: 'aws-waf-logs-STACK',
        query: 'filter action = "BLOCK" | stats count(*) by terminatingRuleId, httpRequest.uri',
      },
    ],
    commands: ['npx commerce addresses block ADDRESS --stack STACK'],
    thresholds: [{ measure: measures.blockedRequests, above: 1000, periods: 3 }],
  },
  {
    id: 'ManagedRulesExpiring',
    severity: 'ticket',
    impact:
      'A version of the managed rules expires within 30 days. AWS then uses its default version, and no deployment can change the web ACL.',
    act: 'Choose a newer version in limits.webAcl.managedRules, test it on staging, and deploy. On a new stage the alarm ends with the first measured day.',
    commands: [
      'aws wafv2 list-available-managed-rule-group-versions --scope REGIONAL --vendor-name AWS --name AWSManagedRulesCommonRuleSet',
      'aws wafv2 list-available-managed-rule-group-versions --scope REGIONAL --vendor-name AWS --name AWSManagedRulesKnownBadInputsRuleSet',
    ],
    thresholds: [{ measure: measures.daysOfManagedRules, below: 30, periods: 2 }],
  },
  {
    id: 'BackupMissing',
    severity: 'ticket',
    impact: 'No backup of the table has completed for 31 hours.',
    act: 'Find out why the latest backup job failed or did not start. Fix that and start a backup by hand. On a new stage the alarm ends with the first backup.',
    commands: [
      'aws backup list-backup-jobs --by-resource-type DynamoDB --max-results 5',
      'aws backup start-backup-job --backup-vault-name VAULT --resource-arn TABLE_ARN --iam-role-arn ROLE_ARN',
    ],
    // A backup each night has an hour to start and six to complete (lib/backups.ts).
    thresholds: [{ measure: measures.completedBackups, below: 1, periods: 24 + 1 + 6 }],
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
