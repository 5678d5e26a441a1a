import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager'

/** Returns the value of a secret as functions read it: without the line break of a file from which it was stored. */
export async function secretText(
  SecretId: string | undefined,
  access: SecretsManagerClientConfig,
): Promise<string> {
  const { SecretString = '' } = await new SecretsManagerClient(access).send(
    new GetSecretValueCommand({ SecretId }),
  )
  return SecretString.trim()
}
