import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager'

/** Returns the first webhook key of a deployment as its secret stores it, such as `whsec_` and base64. */
export async function readWebhookSecret(
  secretArn: string,
  access: SecretsManagerClientConfig,
): Promise<string> {
  const secrets = new SecretsManagerClient(access)
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId: secretArn }))
  return SecretString.split(/[\s,]+/)[0] ?? ''
}
