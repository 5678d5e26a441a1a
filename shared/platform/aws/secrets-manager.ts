import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { type CachedLoad, cachedLoad } from '../base/cached-load.ts'
import type { SecretRead, SecretVersion } from '../base/secrets.ts'
import { httpHandler } from './http-handler.ts'

const deadlineMilliseconds = 4000
/**
 * Anyone can send unknown signatures, so a process reads a secret again twice a minute at most: 1,000 processes under attack
 * then make 33 reads a second, 0.6 USD an hour.
 */
const renewMilliseconds = 30_000

const secrets = new Map<string, CachedLoad<SecretVersion>>()

/**
 * Returns a secret that is at most as old as the setting secrets.maxAgeSeconds. It is read again after four fifths of
 * that age, and the known secret stays valid for the last fifth if the read fails.
 */
export async function readSecret(arn: string, reading: SecretRead): Promise<SecretVersion> {
  const { budget, renew, version } = reading
  const secret = secrets.get(secretName(arn, version)) ?? cachedSecret(arn, reading)
  return renew ? secret.renew(budget, renewMilliseconds) : secret.get(budget)
}

function cachedSecret(arn: string, { settings, clock, version }: SecretRead): CachedLoad<SecretVersion> {
  const maxAge = settings['secrets.maxAgeSeconds'] * 1000
  const refreshAfter = maxAge * 0.8
  const times = { deadline: deadlineMilliseconds, refreshAfter, maxAge, pauseAfterFailure: 1000 }
  const secret = cachedLoad((signal) => read(arn, version, signal), times, clock)
  secrets.set(secretName(arn, version), secret)
  return secret
}

function secretName(arn: string, version = ''): string {
  return `${arn} ${version}`
}

async function read(
  SecretId: string,
  VersionId: string | undefined,
  abortSignal: AbortSignal,
): Promise<SecretVersion> {
  const client = new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: httpHandler(2000),
  })
  const command = new GetSecretValueCommand({ SecretId, VersionId })
  const { SecretString, VersionId: version = '' } = await client.send(command, { abortSignal })
  // A value pasted into a file ends with a line break, which a header cannot contain.
  const text = SecretString?.trim()
  if (!text) throw new Error('the secret is empty')
  return { text, version }
}
