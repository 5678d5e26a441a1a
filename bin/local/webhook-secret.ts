import { randomBytes } from 'node:crypto'
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import type { StackOutputs } from '#bin/local/deploy.ts'
import type { Engine } from '#bin/local/engine.ts'
import { REGION } from '#bin/local/environment.ts'

/**
 * Stores the key that signs webhooks. On AWS the stack generates one without punctuation, which is valid base64. The
 * local engine also generates punctuation, which senders cannot decode.
 */
export async function storeWebhookSecret(
  { endpoint }: Pick<Engine, 'endpoint'>,
  { WebhooksSecretArn: SecretId }: StackOutputs,
): Promise<void> {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const secrets = new SecretsManagerClient({ endpoint, region: REGION, credentials })
  const SecretString = `whsec_${randomBytes(32).toString('base64')}`
  await secrets.send(new PutSecretValueCommand({ SecretId, SecretString }))
  secrets.destroy()
}
