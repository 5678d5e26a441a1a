import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { errorsInLog, type Look, listExecutions, savedFor } from './alarm-definition.ts'
import { functionsBy } from './commands.ts'
import { spilledCalls } from './concurrency-measures.ts'
import * as measures from './measures.ts'
import { requestLooks } from './request-alarms.ts'
import { failedWork, ignoredEvents } from './saved-queries.ts'

/** The functions without a route. */
const work = [...subscriptions, ...steps]

/** What somebody looks at on a working day. The dashboard shows it, and the runbook has its query. */
export const looks: readonly Look[] = [
  ...requestLooks,
  {
    id: 'WorkFailing',
    impact: ['Functions without a route fail.', ...work.map(({ name, impact }) => `${name}: ${impact}`)].join(
      ' ',
    ),
    act: 'Find the errors in the logs and fix them. Their work is retried: what waits too long or fails for good has alarms. A file whose import failed can be sent again: no row is imported twice. An operator sees the error of a command.',
    queries: [savedFor(failedWork)],
    commands: [`${listExecutions} FAILED`],
    graph: measures.sharedGraphs.errors,
    shows: work.map(({ name }) => measures.errorsOf(name)),
  },
  {
    id: 'EventsIgnored',
    impact: 'Senders send events that have no meaning here.',
    act: 'Ask the sender to leave them out, or add a handler (docs/architecture.md).',
    queries: [savedFor(ignoredEvents)],
    graph: ignoredEvents.title,
  },
  {
    id: 'SubscriberDisabled',
    impact:
      'The service stopped sending events to a subscriber of a tenant: it answered 410, or failed for days. Its events are suspended.',
    act: 'Tell its tenant: the query names both. Once it works, resume it: the suspended events are sent. The audit has the reason: action subscriber.disable. Follow the section Subscribers of docs/operations.md.',
    queries: [
      {
        group: 'DeliveriesSendLog',
        query:
          'fields @timestamp, tenant, subscriber, correlation_id | filter code = "SUBSCRIBER_DISABLED" | sort @timestamp desc',
      },
    ],
    graph: measures.sharedGraphs.alerts,
    shows: [measures.alertsOf('SUBSCRIBER_DISABLED', 'subscribers that were disabled')],
  },
  {
    id: 'DeliveriesWaitingLong',
    impact:
      'Deliveries of events have waited for 15 minutes longer than they should: late retries and suspended events are not sent.',
    act: 'Find the error in the log. The sweep repeats what it could not queue each minute. Without an error, it cannot reach all subscribers in a quarter of an hour: docs/scaling.md has its ceiling.',
    queries: errorsInLog('deliveries.sweep'),
    graph: measures.sharedGraphs.pending,
    shows: [measures.oldestPending('deliveries')],
  },
  {
    id: 'ImportsRunningLong',
    impact: 'An import has been running for an hour.',
    act: 'Find out from the execution history what takes the time. The owner of the import can cancel it. It ends after 12 hours and a quarter at the latest.',
    queries: errorsInLog('operations.end-abandoned'),
    commands: [`${listExecutions} RUNNING`],
    graph: measures.sharedGraphs.pending,
    shows: [measures.oldestPending('imports')],
  },
  {
    id: 'ImportMachineFailing',
    impact: 'The workflow of an import failed. The import is marked as failed within a minute.',
    act: 'An import that a freeze holds for 12 hours fails. Otherwise find the failed step in the execution history. The file can be sent again.',
    commands: [
      `${listExecutions} FAILED`,
      'aws stepfunctions get-execution-history --execution-arn EXECUTION_ARN --reverse-order',
    ],
    graph: measures.sharedGraphs.imports,
  },
  {
    id: 'ProvisionedConcurrencyExceeded',
    impact:
      'Operations with provisioned concurrency get more requests at once than executions are kept ready: some requests meet a cold start.',
    act: 'A deployment or a rollback allocates the executions again, which takes minutes. Find out which function, and whether the load is legitimate (‘Who causes the load’ in the runbook). If it lasts, raise limits.provisionedConcurrency of its operation and deploy. If the command reports FAILED, the version does not start: fix it, or roll back.',
    commands: [
      functionsBy('ProvisionedConcurrencySpilloverInvocations', 'FunctionName,Resource'),
      'aws lambda get-provisioned-concurrency-config --function-name NAME --qualifier live',
      'aws lambda get-account-settings',
    ],
    graph: measures.sharedGraphs.spillover,
    shows: [spilledCalls],
  },
  {
    id: 'ManagedRulesExpiring',
    impact:
      'A version of the managed rules expires within 30 days. AWS then uses its default version, and no deployment can change the web ACL.',
    act: 'Choose a newer version in limits.webAcl.managedRules, test it on staging, and deploy.',
    commands: [
      'aws wafv2 list-available-managed-rule-group-versions --scope REGIONAL --vendor-name AWS --name AWSManagedRulesCommonRuleSet',
      'aws wafv2 list-available-managed-rule-group-versions --scope REGIONAL --vendor-name AWS --name AWSManagedRulesKnownBadInputsRuleSet',
    ],
    graph: measures.sharedGraphs.expiry,
    shows: [measures.daysOfManagedRules],
  },
  // SES reviews an account at these rates: https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-messages.html
  {
    id: 'MailRates',
    impact:
      'Bounces reach 5 % of mails, or complaints 0.1 %: SES reviews the account and may stop it from sending. It writes to the owner of the account first.',
    act: 'Find out which addresses cause them, and whether someone requests codes for addresses of others. Answer the review in the SES console.',
    commands: ['aws sesv2 get-account', 'aws sesv2 list-suppressed-destinations'],
    graph: measures.sharedGraphs.mail,
    shows: [measures.mailRate('Bounce'), measures.mailRate('Complaint')],
  },
]
