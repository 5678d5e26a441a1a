import { readSecret, type SecretRead } from './secret.ts'

/** Returns the secret of this deployment. A key for each purpose is derived from it. */
export async function deploymentSecret(arn: string, reading: SecretRead): Promise<Uint8Array> {
  const text = await readSecret(arn, reading)
  if (text.length < 32) throw new Error('the deployment secret is too short')
  return new TextEncoder().encode(text)
}
