import { callSubscriber, subscriberNetwork } from '#shared/deliveries/call-subscriber.ts'
import { sendDeliveries } from '#shared/deliveries/send-deliveries.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { batchFunction } from '#shared/platform/aws/queue-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { sendAll } from '#shared/platform/aws/sqs.ts'
import { queueUrlVariable } from '#shared/platform/events/outbox.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'
import type { WorkContext } from '#shared/platform/request/context.ts'
import { openSecrets, signingHeaders } from '#shared/subscribers/signing-secret.ts'

/** The time limit of an attempt: the longest call of a subscriber, and the reads and writes around it. */
const attemptMilliseconds = 26_000

/** Makes the attempts of deliveries, those of a batch at the same time. */
export const handler = batchFunction(
  {
    queue: 'deliveries',
    failure: 'DELIVERY_NOT_MADE',
    milliseconds: attemptMilliseconds,
    table: deployedTable,
    secret: readSecret,
    blockCheck,
  },
  sendBatch,
)

export function sendBatch(bodies: readonly string[], context: WorkContext): Promise<void>[] {
  const { settings } = context
  const queueUrl = context.environment(queueUrlVariable('deliveries')) ?? ''
  const network = subscriberNetwork(settings)
  return sendDeliveries(bodies, context, {
    call: (request) => callSubscriber(request, network),
    sign: async (subscriber, signed) =>
      signingHeaders({ ...signed, secrets: await openSecrets(subscriber, context) }, settings),
    send: (deliveries) => sendAll(queueUrl, deliveries),
  })
}
