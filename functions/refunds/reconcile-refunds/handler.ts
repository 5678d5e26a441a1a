import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { sendAll } from '#shared/platform/aws/sqs.ts'
import { queueUrlVariable } from '#shared/platform/events/outbox.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'
import { deployedProviderRefunds } from '#shared/refunds/list-stripe-refunds.ts'
import { reconcileMessage } from '#shared/refunds/reconcile-daily.ts'

/** Compares the ledger with the payment provider: one message of the schedule each day, then one or more for each tenant. */
export const handler = queueFunction(
  {
    queue: 'reconciliations',
    failure: 'REFUNDS_NOT_RECONCILED',
    milliseconds: 24_000,
    table: deployedTable,
    blockCheck,
    secret: readSecret,
  },
  (body, context) =>
    reconcileMessage(body, context, {
      openProviderRefunds: () => deployedProviderRefunds(context),
      send: (messages) => sendAll(context.environment(queueUrlVariable('reconciliations')) ?? '', messages),
    }),
)
