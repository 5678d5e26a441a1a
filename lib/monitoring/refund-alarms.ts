import { type AlarmDefinition, errorsInLog, ledger } from './alarm-definition.ts'
import * as measures from './measures.ts'

/** Returns the command that lists the refunds of all tenants without an outcome after a time. No metric names the tenant. */
const pendingFor = (time: string) => `npx commerce refunds list --to ${time} --stack STACK`

const settleCommand =
  'npx commerce refunds settle ID --tenant T --outcome failed --settings FILE --stack STACK'
const tenants = 'npx commerce tenants list --stack STACK'

/** The late payouts, by the functions that book them. */
const latePayouts = ['RefundsCreate', 'SagasFinish', 'WebhooksHandle'].map((name) => ({
  group: `${name}Log`,
  query:
    'fields @timestamp, tenant, correlation_id | filter code = "REFUND_PAID_LATE" | sort @timestamp desc',
}))

/** The lost accounts, by the functions that notice them. */
const lostAccounts = ['SagasFinish', 'RefundsCreate', 'WebhooksHandle', 'RefundsReconcile'].map((name) => ({
  group: `${name}Log`,
  query:
    'fields @timestamp, tenant, correlation_id | filter code = "PROVIDER_ACCOUNT_LOST" | sort @timestamp desc',
}))

/** The alarms of refunds that wait, were paid late, or differ from those of the payment provider. */
export const refundAlarms: readonly AlarmDefinition[] = [
  {
    id: 'RefundsPendingLong',
    impact:
      'The service has not finished a refund for 15 minutes. The payment provider does not answer, rejects the service, or it is unknown whether it has paid.',
    act: 'Find out what delays the refunds, and look up their status at the payment provider. Pay nothing back by hand: the service tries again, each hour at least. A refund with a `provider_refund_id` is accepted: wait for the provider. If a tenant has ended the access to its account for good, end each refund by what the account shows: `paid` with a payout, `failed` if there is none and none is pending.',
    queries: errorsInLog('sagas.finish'),
    commands: [
      pendingFor('15m'),
      'npx commerce audit list --tenant T --action refund_failed --from 24h --stack STACK',
    ],
    fixes: [settleCommand],
    threshold: { measure: measures.oldestPending('refunds'), above: 900 },
  },
  {
    id: 'RefundsUnsettledLong',
    impact:
      'The payment provider accepted a refund ten days ago and has not settled it, or its payout lacks facts of the provider.',
    act: 'A payout without facts is not pending: list those of the tenant with --status succeeded to find it. Look up the status of each one at the payment provider. Pay nothing back by hand: the service asks about the refund each day, and completes it once the provider has settled it. The alarm ends a day later.',
    queries: errorsInLog('sagas.finish'),
    commands: [pendingFor('10d')],
    // A bank may take that long: https://docs.stripe.com/refunds
    // An unsettled refund is asked about, and its age is logged, once in 23 hours.
    threshold: { measure: measures.oldestPending('unsettled_refunds', measures.day), above: 10 * 24 * 3600 },
  },
  {
    id: 'RefundPaidLate',
    impact:
      'The payment provider paid a refund that it had reported as failed. It is booked, although its caller got a failure and may have refunded the charge again.',
    act: 'The log names the correlation id, which finds the refund. Compare its ledger entries with the charge at the payment provider, and agree with the tenant what is due. The alarm ends within five minutes; the money stays open until then.',
    queries: latePayouts,
    commands: ['npx commerce find CORRELATION_ID --from 24h --stack STACK'],
    threshold: { measure: measures.alertsOf('REFUND_PAID_LATE', 'refunds that were paid late'), above: 0 },
  },
  {
    id: 'ProviderAccountLost',
    impact:
      'The owner of a tenant’s account has ended the access of the service at the payment provider, or the account has refused a refund for a day, or the daily comparison. Refunds in progress stay pending, and are tried once a day. New ones are rejected once the provider has reported the loss.',
    act: 'The log names the tenant. If its owner connects the account again at the payment provider, connect it here, too: its refunds are paid within a day. Else connect another one or none, and end each pending refund by what the old account shows: `paid` with a payout, `failed` if there is none and none is pending. This also works while the tenant is blocked, and before its purge. The alarm is raised again each day until then.',
    queries: lostAccounts,
    commands: [tenants, 'npx commerce refunds list --tenant T --status pending --stack STACK'],
    fixes: ['npx commerce tenants connect T ACCOUNT --stack STACK', settleCommand],
    threshold: {
      measure: measures.alertsOf('PROVIDER_ACCOUNT_LOST', 'accounts at the payment provider that were lost'),
      above: 0,
    },
  },
  {
    id: 'RefundsDiffer',
    impact:
      'The ledger differs from the refunds of the payment provider: money was paid twice, or the ledger lacks a payout.',
    act: 'Find the tenants in the log, print their differences, and handle each kind as docs/operations.md says. The alarm ends after a daily comparison without differences.',
    queries: [
      {
        group: 'RefundsReconcileLog',
        query: 'filter code = "REFUNDS_DIFFER" | stats sum(differences) by tenant',
      },
    ],
    commands: [
      'npx commerce refunds reconcile --tenant T --from TIME --to TIME --settings FILE --stack STACK',
      ledger,
    ],
    threshold: { measure: measures.ledgerDifferences, above: 0 },
  },
]
