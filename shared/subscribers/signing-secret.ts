import { Failure } from '../platform/base/failure.ts'
import { seal, unseal } from '../platform/base/secrets.ts'
import { signatureOf, signingKeys } from '../platform/identity/signature.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { type Subscriber, validSecrets } from './subscriber.ts'

/** The part of a subscriber that its secrets depend on. A sealed secret opens for its own subscriber only. */
export type SecretOwner = Pick<Subscriber, 'id' | 'tenant_id'>

/** Standard Webhooks: 24 to 64 bytes. */
const secretBytes = 32

/** Returns a new random secret in the form of Standard Webhooks. */
export function newSecret(randomBytes: (length: number) => Uint8Array): string {
  return `whsec_${Buffer.from(randomBytes(secretBytes)).toString('base64')}`
}

/**
 * Encrypts a secret with the current version of the key.
 * @returns the name of that version, a dot and the ciphertext
 */
export async function sealSecret(
  secret: string,
  owner: SecretOwner,
  { versionedKey, clock }: Pick<WorkContext, 'versionedKey' | 'clock'>,
): Promise<string> {
  const { key, version } = await versionedKey('subscribers')
  return `${version}.${seal(key, secret, associatedDataOf(owner), (length) => clock.randomBytes(length))}`
}

/**
 * Decrypts a sealed secret. It needs the version of the key that sealed it.
 * @throws DEPENDENCY.unavailable if that version is gone; Error if the secret was sealed for another subscriber
 */
export async function openSecret(
  sealed: string,
  owner: SecretOwner,
  { versionedKey }: Pick<WorkContext, 'versionedKey'>,
): Promise<string> {
  const end = sealed.lastIndexOf('.')
  const { key } = await versionedKey('subscribers', sealed.slice(0, end))
  return unseal(key, sealed.slice(end + 1), associatedDataOf(owner))
}

/**
 * Returns a sealed secret as the current version of the key seals it: unchanged if it did already; null if
 * it can never be opened, because its version is gone or it was sealed for another subscriber.
 * @throws DEPENDENCY.unavailable during an outage
 */
export async function resealSecret(
  sealed: string,
  owner: SecretOwner,
  context: Pick<WorkContext, 'versionedKey' | 'clock'>,
): Promise<string | null> {
  const { version } = await context.versionedKey('subscribers')
  if (sealed.startsWith(`${version}.`)) return sealed
  const secret = await openSecret(sealed, owner, context).catch(nullIfUnreadable)
  return secret === null ? null : sealSecret(secret, owner, context)
}

/** Secrets Manager reports a version that is gone as not found. A secret that does not open is no Failure. */
function nullIfUnreadable(thrown: unknown): null {
  const isOutage =
    thrown instanceof Failure && (thrown.cause as Error | undefined)?.name !== 'ResourceNotFoundException'
  if (isOutage) throw thrown
  return null
}

/** Returns the secrets that sign the events of a subscriber now, newest first: several while a rotation overlaps. */
export async function openSecrets(
  subscriber: SecretOwner & Pick<Subscriber, 'secrets'>,
  context: Pick<WorkContext, 'versionedKey' | 'now'>,
): Promise<string[]> {
  const valid = validSecrets(subscriber, context.now())
  return Promise.all(valid.map(({ sealed }) => openSecret(sealed, subscriber, context)))
}

/**
 * Returns the headers that sign a body, one signature for each secret. The setting webhooks.scheme names them.
 * @param at milliseconds since 1970
 */
export function signingHeaders(
  { eventId, body, at, secrets }: { eventId: string; body: string; at: number; secrets: readonly string[] },
  settings: Settings,
): Record<string, string> {
  const scheme = settings['webhooks.scheme']
  const timestamp = String(Math.floor(at / 1000))
  const signatures = secrets
    .flatMap(signingKeys)
    .map((key) => signatureOf(key, { id: eventId, timestamp, body }, scheme.digest))
    .map((signature) => `${scheme.prefix}${signature.toString('base64')}`)
  return {
    [scheme.idHeader]: eventId,
    [scheme.timestampHeader]: timestamp,
    [scheme.signatureHeader]: signatures.join(' '),
  }
}

function associatedDataOf({ tenant_id, id }: SecretOwner): string {
  return `${tenant_id}/${id}`
}
