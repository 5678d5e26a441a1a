import { randomBytes } from 'node:crypto'
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager'
import { webhookKeys } from '#shared/platform/identity/signature.ts'

interface Stack {
  access: SecretsManagerClientConfig
  outputs: Readonly<Record<string, string>>
}

/** Returns the secret that signs webhooks: one key, or several that are separated by spaces. The first one signs. */
export async function signingSecret(stack: Stack): Promise<string> {
  const { secrets, SecretId } = secretOf(stack)
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }))
  return SecretString
}

/** Stores the secret that signs webhooks. Functions use it within the minutes of the setting secrets.maxAgeSeconds. */
export async function storeSigningSecret(stack: Stack, SecretString: string): Promise<void> {
  webhookKeys(SecretString)
  const { secrets, SecretId } = secretOf(stack)
  await secrets.send(new PutSecretValueCommand({ SecretId, SecretString }))
}

/** Returns a new random key. */
export function newSigningKey(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

function secretOf({ access, outputs }: Stack) {
  return { secrets: new SecretsManagerClient(access), SecretId: outputs.WebhooksSecretArn }
}
