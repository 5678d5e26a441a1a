import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { adviceOnApi, logAdvice } from './alarm-advice.ts'
import { type AlarmDefinition, busName } from './alarm-types.ts'
import { alarmOfStep, alarmsOfConsumer } from './consumer-alarms.ts'
import { preflight } from './function-entries.ts'
import { alarmsOfRoute } from './route-alarms.ts'
import { pascalCase } from './service-function.ts'

/** The alarm of an outage of the whole API. While it is in alarm, no other alarm pages. */
export const apiFailing = {
  id: 'ApiFailing',
  severity: 'page',
  breaks: 'More than 5 % of all requests fail.',
  ...adviceOnApi,
  threshold: {
    measure: { of: 'failures in a hundred requests of the API', fewest: 5 },
    above: 5,
    periods: 1,
  },
} as const satisfies AlarmDefinition

/** Every alarm of a stage that raises alarms. The runbook lists them too. */
export const alarmDefinitions: readonly AlarmDefinition[] = [
  apiFailing,
  ...routes.flatMap(alarmsOfRoute),
  {
    id: `${pascalCase(preflight.name)}Failing`,
    severity: 'page',
    breaks: preflight.breaks,
    ...logAdvice(
      preflight.name,
      'Read what it fails with; if it began with a deployment, roll back with npm run rollback.',
    ),
    threshold: { measure: { of: 'errors of the function', name: preflight.name }, above: 2, periods: 1 },
  },
  ...subscriptions.flatMap(alarmsOfConsumer),
  ...steps.map(alarmOfStep),
  {
    id: 'RefundsPendingLong',
    severity: 'page',
    breaks: 'A refund has been pending for a quarter of an hour: nobody knows yet whether it was paid.',
    ...logAdvice(
      'intents.finish',
      'See what keeps it, and ask the payment provider for its status. Pay nothing back by hand: it is finished by itself once the provider answers.',
      ['npm run -s ledger -- --tenant T --stack STACK'],
    ),
    threshold: { measure: { of: 'age of the oldest unfinished', work: 'refunds' }, above: 900, periods: 1 },
  },
  {
    id: 'ImportsRunningLong',
    severity: 'ticket',
    breaks: 'An import has been under way for an hour.',
    ...logAdvice(
      'operations.end-abandoned',
      'See in the run’s history what takes the time; its owner can cancel it, and it ends by itself after two hours and a quarter.',
      ['aws stepfunctions list-executions --state-machine-arn ARN --status-filter RUNNING'],
    ),
    threshold: { measure: { of: 'age of the oldest unfinished', work: 'imports' }, above: 3600, periods: 1 },
  },
  {
    id: 'ImportMachineFailing',
    severity: 'ticket',
    breaks: 'An import did not come to its end by itself; it is ended within a minute.',
    act: 'Read in the history of the execution which step failed. The file can be sent again.',
    queries: [],
    commands: [
      'aws stepfunctions list-executions --state-machine-arn ARN --status-filter FAILED',
      'aws stepfunctions get-execution-history --execution-arn ARN --reverse-order',
    ],
    threshold: { measure: { of: 'runs that ended badly' }, above: 0, periods: 1 },
  },
  {
    id: 'EventBusDeadLettersPresent',
    severity: 'ticket',
    breaks: 'The event bus could not encrypt or decrypt events: their subscribers miss them.',
    act: 'See whether the key of the stage is enabled and its policy names events.amazonaws.com. Then replay the events of that time.',
    queries: [],
    commands: ['npm run -s replay -- --from TIME --to TIME --stack STACK'],
    threshold: { measure: { of: 'messages in the dead-letter queue', name: busName }, above: 0, periods: 1 },
  },
  {
    id: 'TableThrottled',
    severity: 'ticket',
    breaks: 'DynamoDB throttles requests to the table: requests take longer, and some fail.',
    act: 'Find the tenant or key that takes most of the traffic, and compare the traffic with the table’s quotas.',
    queries: [],
    commands: ['aws dynamodb describe-table --table-name TABLE', 'aws dynamodb describe-limits'],
    threshold: { measure: { of: 'throttled requests of the table' }, above: 0, periods: 3 },
  },
  {
    id: 'FunctionsThrottled',
    severity: 'ticket',
    breaks: 'Lambda throttles calls of functions in this account: some requests fail, and queued work waits.',
    act: 'Find the function that is throttled. Raise the account’s quota of concurrent executions, or the function’s reserved concurrency.',
    queries: [],
    commands: ['aws lambda get-account-settings'],
    threshold: { measure: { of: 'throttled calls of functions' }, above: 0, periods: 3 },
  },
  {
    id: 'BackupMissing',
    severity: 'ticket',
    breaks: 'No backup of the table has completed for 30 hours.',
    act: 'Read why the latest backup job failed or did not start, fix that and start a backup by hand. On a new stage the alarm ends with the first backup.',
    queries: [],
    commands: [
      'aws backup list-backup-jobs --by-resource-type DynamoDB --max-results 5',
      'aws backup start-backup-job --backup-vault-name VAULT --resource-arn TABLE_ARN --iam-role-arn ROLE_ARN',
    ],
    // One backup runs each night and has six hours to complete.
    threshold: { measure: { of: 'completed backups' }, below: 1, periods: 30 },
  },
  // SES reviews an account at these rates: https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-messages.html
  reputationAlarm('Bounces', 'rate of bounces', 0.05),
  reputationAlarm('Complaints', 'rate of complaints', 0.001),
]

function reputationAlarm(
  what: 'Bounces' | 'Complaints',
  of: 'rate of bounces' | 'rate of complaints',
  above: number,
): AlarmDefinition {
  return {
    id: `Mail${what}`,
    severity: 'ticket',
    breaks: `${what} reach ${above * 100} % of mails: SES reviews the account, and may stop it from sending.`,
    act: 'Find out which addresses cause them and whether someone requests codes for addresses of others. Answer the review in the SES console.',
    queries: [],
    commands: ['aws sesv2 get-account', 'aws sesv2 list-suppressed-destinations'],
    threshold: { measure: { of }, above, periods: 1 },
  }
}
