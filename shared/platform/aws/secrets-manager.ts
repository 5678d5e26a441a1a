import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { type CachedLoad, cachedLoad } from '../base/cached-load.ts'
import type { SecretRead } from '../base/secrets.ts'
import { httpHandler } from './http-handler.ts'

const deadlineMilliseconds = 4000
/**
 * Anyone can send unknown signatures, so a process reads a secret again twice a minute at most: 1,000 processes under attack
 * then make 33 reads a second, 0.6 USD an hour.
 */
const renewMilliseconds = 30_000

const secrets = new Map<string, CachedLoad<string>>()

/**
 * Returns a secret that is at most as old as the setting secrets.maxAgeSeconds. It is read again after four fifths of
 * that age, and the known secret stays valid for the last fifth if the read fails.
 */
export function readSecret(arn: string, { settings, clock, budget, renew }: SecretRead): Promise<string> {
  const secret = secrets.get(arn) ?? cachedSecret(arn, { settings, clock })
  return renew ? secret.renew(budget, renewMilliseconds) : secret.get(budget)
}

function cachedSecret(
  arn: string,
  { settings, clock }: Pick<SecretRead, 'settings' | 'clock'>,
): CachedLoad<string> {
  const maxAge = settings['secrets.maxAgeSeconds'] * 1000
  const refreshAfter = maxAge * 0.8
  const times = { deadline: deadlineMilliseconds, refreshAfter, maxAge, pauseAfterFailure: 1000 }
  const secret = cachedLoad((signal) => read(arn, signal), times, clock)
  secrets.set(arn, secret)
  return secret
}

async function read(arn: string, abortSignal: AbortSignal): Promise<string> {
  const client = new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: httpHandler(2000),
  })
  const { SecretString: text } = await client.send(new GetSecretValueCommand({ SecretId: arn }), {
    abortSignal,
  })
  // A value pasted into a file ends with a line break, which a header cannot contain.
  const value = text?.trim()
  if (!value) throw new Error('the secret is empty')
  return value
}

/** Returns the secret of this deployment. A key for each purpose is derived from it. */
export async function deploymentSecret(arn: string, reading: SecretRead): Promise<string> {
  const text = await readSecret(arn, reading)
  if (text.length < 32) throw new Error('the deployment secret is too short')
  return text
}
