import { subscriptions } from '#functions/subscriptions.ts'
import { type AlarmDefinition, duringFreeze } from './alarm-definition.ts'
import { functionsBy } from './commands.ts'
import { usedConcurrency } from './concurrency-measures.ts'
import { alarmsOfConsumer } from './consumer-alarms.ts'
import * as measures from './measures.ts'
import { refundAlarms } from './refund-alarms.ts'
import { requestAlarms } from './request-alarms.ts'

/** The name of the event bus among the owners of dead-letter queues. */
export const busName = 'events.bus'

/** The alarms on what surrounds the requests and their work: data, traffic and the bus. */
const protectionAlarms: readonly AlarmDefinition[] = [
  {
    id: 'CarrierRefused',
    impact:
      'An item of the table carries an event or a task that no item of its kind may carry. It was neither published nor queued. A function may have been taken over, or a release has a defect.',
    act: 'The query names the event or task and the kind of the item. Find the functions that may write such items (`table` of their routes and subscriptions), and their latest deployments. If nobody deployed a change of them, treat it as an intrusion: freeze the stage and rotate its secrets (docs/operations.md).',
    queries: ['EventsRelayLog', 'TasksEnqueueLog'].map((group) => ({
      group,
      query:
        'fields @timestamp, carried, kind, correlation_id | filter code = "CARRIER_REFUSED" | sort @timestamp desc',
    })),
    threshold: { measure: measures.alertsOf('CARRIER_REFUSED', 'refused events and tasks'), above: 0 },
  },
  {
    id: 'EventBusDeadLettersPresent',
    impact: 'The event bus could not encrypt or decrypt events. Their subscribers did not receive them.',
    act: 'Check that the key of the stage is enabled and that its policy names events.amazonaws.com. Then redrive events.relay with the times between which events were lost: it publishes the same events again, to subscribers outside AWS, too, and names those that it cannot rebuild. Then empty the dead-letter queue of the bus, which ends the alarm.',
    commands: [
      "aws cloudwatch get-metric-statistics --namespace AWS/SQS --metric-name NumberOfMessagesSent --dimensions Name=QueueName,Value=QUEUE_NAME --statistics Sum --period 300 --start-time TIME --end-time TIME --query 'Datapoints[?Sum > `0`].Timestamp'",
      'aws sqs list-queues --queue-name-prefix STACK-EventBusDeadLetters',
    ],
    fixes: [
      'npx commerce dead-letters redrive events.relay --from TIME --to TIME --stack STACK',
      'aws sqs purge-queue --queue-url QUEUE_URL',
    ],
    threshold: { measure: measures.deadLettersOf(busName), above: 0 },
  },
  {
    id: 'TableThrottled',
    impact: 'DynamoDB throttles requests to the table: requests take longer, and some fail.',
    act: 'Find the tenant with most of the traffic (‘Who causes the load’ in the runbook), and compare the traffic with the table’s quotas. storage.contributorInsights shows the hottest keys.',
    commands: ['aws dynamodb describe-table --table-name TABLE', 'aws dynamodb describe-limits'],
    threshold: { measure: measures.throttledRequests, above: 0, periods: 3 },
  },
  {
    id: 'FunctionsThrottled',
    impact: 'Lambda throttles functions of this account: some requests fail, and queued work waits.',
    act: `${duringFreeze} find the throttled function. Raise the account’s quota of concurrent executions, or the function’s reserved concurrency.`,
    commands: [functionsBy('Throttles'), 'aws lambda get-account-settings'],
    threshold: { measure: measures.throttledCalls, above: 0, periods: 3 },
  },
  {
    id: 'ConcurrencyHigh',
    impact:
      'Four fifths of the concurrent executions that functions share are in use. When all are, callers get 503.',
    act: 'Find out who causes the load (‘Who causes the load’ in the runbook) and block it, or raise the account’s quota of concurrent executions and limits.concurrency.',
    commands: ['aws lambda get-account-settings'],
    threshold: { measure: usedConcurrency, above: 80 },
  },
  {
    id: 'RequestsBlocked',
    impact: 'The web ACL blocks many requests: an attack, or a rule that rejects legitimate callers.',
    act: 'Find out in the log of the web ACL which rule blocks which paths. If callers are legitimate, set limits.webAcl.action to count and deploy. Block an attacker by its address.',
    queries: [
      {
        name: 'aws-waf-logs-STACK',
        query: 'filter action = "BLOCK" | stats count(*) by terminatingRuleId, httpRequest.uri',
      },
    ],
    fixes: ['npx commerce addresses block ADDRESS --stack STACK'],
    threshold: { measure: measures.blockedRequests, above: 1000, periods: 3 },
  },
  {
    id: 'BackupMissing',
    impact: 'No backup of the table has completed for 31 hours.',
    act: 'Find out why the latest backup job failed or did not start. Fix that and start a backup by hand. On a new stage the alarm ends with the first backup.',
    commands: ['aws backup list-backup-jobs --by-resource-type DynamoDB --max-results 5'],
    fixes: [
      'aws backup start-backup-job --backup-vault-name VAULT --resource-arn TABLE_ARN --iam-role-arn ROLE_ARN',
    ],
    // A backup each night has an hour to start and six to complete (lib/data/backups.ts).
    threshold: { measure: measures.completedBackups, below: 1, periods: 24 + 1 + 6 },
  },
  {
    id: 'WeeklyBackupMissing',
    impact: 'No backup of the table has completed for eight days.',
    act: 'Find out why the latest backup job failed or did not start. Fix that and start a backup by hand. On a new stage the alarm ends with the first backup.',
    commands: ['aws backup list-backup-jobs --by-resource-type DynamoDB --max-results 5'],
    fixes: [
      'aws backup start-backup-job --backup-vault-name VAULT --resource-arn TABLE_ARN --iam-role-arn ROLE_ARN',
    ],
    threshold: { measure: measures.recentWeeklyBackups, below: 1 },
  },
  {
    id: 'BackupCopyFailed',
    impact:
      'A backup was not copied into another vault. If the region or the account is lost, the changes since the latest copy are lost, too.',
    act: 'The copy job says why: keptDays of the copy outside the limits of the lock of its vault, a key or a policy of that vault, or cross-account backup that is turned off. Fix that; the next backup is copied again.',
    commands: ['aws backup list-copy-jobs --by-state FAILED --by-resource-type DynamoDB --max-results 5'],
    threshold: { measure: measures.failedCopies, above: 0 },
  },
]

/** Every alarm of a stage that wakes somebody. The runbook lists them too. */
export const alarmDefinitions: readonly AlarmDefinition[] = [
  ...requestAlarms,
  ...refundAlarms,
  ...subscriptions.flatMap(alarmsOfConsumer),
  ...protectionAlarms,
]
