import { randomBytes } from 'node:crypto'
import {
  PutSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager'
import { signingKeys } from '#shared/platform/identity/signature.ts'
import { secretText } from '../stack/secret-text.ts'

interface Stack {
  access: SecretsManagerClientConfig
  outputs: Readonly<Record<string, string>>
}

/** Whose webhooks a secret signs. */
type Sender = 'partners' | 'stripe'

/** The outputs of the stack that locate the secrets. */
const outputsOf = { partners: 'WebhooksSecretArn', stripe: 'StripeWebhooksSecretArn' } as const

/** Returns the secret that signs webhooks: one key, or several that are separated by spaces. The first one signs. */
export async function signingSecret(
  { access, outputs }: Stack,
  sender: Sender = 'partners',
): Promise<string> {
  return secretText(outputs[outputsOf[sender]], access)
}

/** Stores the secret that signs webhooks. Functions accept a new key after 30 seconds at most, and a dropped one for the time of the setting secrets.maxAgeSeconds. */
export async function storeSigningSecret(
  stack: Stack,
  SecretString: string,
  sender: Sender = 'partners',
): Promise<void> {
  if (sender === 'partners') signingKeys(SecretString)
  // Their form after that is Stripe's own.
  else if (!SecretString.startsWith('whsec_'))
    throw new Error('the secret of a webhook endpoint at Stripe starts with whsec_')
  const SecretId = stack.outputs[outputsOf[sender]]
  await new SecretsManagerClient(stack.access).send(new PutSecretValueCommand({ SecretId, SecretString }))
}

/** Stores the first key alone, at the end of a rotation. @returns how many keys were dropped */
export async function dropOldKeys(stack: Stack, sender?: Sender): Promise<number> {
  const keys = (await signingSecret(stack, sender)).split(/[\s,]/).filter(Boolean)
  const [first] = keys
  if (first !== undefined && keys.length > 1) await storeSigningSecret(stack, first, sender)
  return Math.max(0, keys.length - 1)
}

/** Returns a new random key. */
export function newSigningKey(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}
