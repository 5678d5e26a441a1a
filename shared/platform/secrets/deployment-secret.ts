import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'

let secret: Promise<Uint8Array> | undefined

/** The secret of this deployment, read once a process. Keys for each purpose are derived from it. */
export function deploymentSecret(arn: string): Promise<Uint8Array> {
  secret ??= read(arn).catch((thrown) => {
    // A read that failed must not fail every later request too.
    secret = undefined
    throw thrown
  })
  return secret
}

async function read(arn: string): Promise<Uint8Array> {
  const client = new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 2000, throwOnRequestTimeout: true },
  })
  const { SecretString: text } = await client.send(new GetSecretValueCommand({ SecretId: arn }))
  if (!text || text.length < 32) throw new Error('the deployment secret is missing or too short')
  return new TextEncoder().encode(text)
}
