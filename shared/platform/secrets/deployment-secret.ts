import { readSecret } from './secret.ts'

/** The secret of this deployment, read once a process. Keys for each purpose are derived from it. */
export async function deploymentSecret(arn: string): Promise<Uint8Array> {
  const text = await readSecret(arn)
  if (text.length < 32) throw new Error('the deployment secret is too short')
  return new TextEncoder().encode(text)
}
