import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { httpHandler } from '#shared/platform/aws/http-handler.ts'

/** A function with the other two clients, to see that they work bundled. */
export async function handler() {
  const events = new EventBridgeClient({ requestHandler: httpHandler(3000) })
  const secrets = new SecretsManagerClient({ requestHandler: httpHandler(3000) })
  const entry = {
    EventBusName: 'bus',
    Source: 'sample',
    DetailType: 'order.created',
    Detail: '{"id":"ä"}',
    Time: new Date(0),
  }
  const put = await events.send(new PutEventsCommand({ Entries: [entry] }))
  const secret = await secrets.send(new GetSecretValueCommand({ SecretId: 'pepper' }))
  const missing = await secrets
    .send(new GetSecretValueCommand({ SecretId: 'none' }))
    .catch(({ name, message }: Error) => ({ name, message }))
  return {
    failed: put.FailedEntryCount,
    ids: put.Entries?.map(({ EventId }) => EventId),
    secret: secret.SecretString,
    created: secret.CreatedDate?.toISOString(),
    missing,
  }
}
