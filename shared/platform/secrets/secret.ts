import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'

/** The secrets that the service shares with others: the key of the payment provider, those that sign webhooks. */
export type SecretName = 'payments' | 'webhooks'

const secrets = new Map<string, Promise<string>>()

/** Reads a secret, once a process. */
export function readSecret(arn: string): Promise<string> {
  const known = secrets.get(arn)
  if (known) return known
  const reading = read(arn).catch((thrown) => {
    // A read that failed must not fail every later request too.
    secrets.delete(arn)
    throw thrown
  })
  secrets.set(arn, reading)
  return reading
}

async function read(arn: string): Promise<string> {
  const client = new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 2000, throwOnRequestTimeout: true },
  })
  const { SecretString: text } = await client.send(new GetSecretValueCommand({ SecretId: arn }))
  if (!text) throw new Error('the secret is empty')
  return text
}
