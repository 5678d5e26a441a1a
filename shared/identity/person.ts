import type { KeyObject } from 'node:crypto'
import { derivedId } from '../platform/base/clock.ts'
import { keyedHash } from '../platform/base/secrets.ts'
import type { Settings } from '../settings/register.ts'

/** A person known by an e-mail address, as named in events, the audit and sessions. */
export interface Person {
  user_id: string
  /** 43 characters. Equal for the same address in this deployment, and meaningless outside it. */
  email_hash: string
}

/**
 * Returns the identity of an address. The hash is keyed by the deployment, because addresses can be guessed.
 * @param email normalized
 * @param derivedKey as in `RequestContext`
 */
export async function personOf(
  email: string,
  settings: Settings,
  derivedKey: (name: 'hashes') => Promise<KeyObject>,
): Promise<Person> {
  const email_hash = keyedHash(await derivedKey('hashes'), 'e-mail', email)
  const user_id = settings['otp.user'] === 'uuid' ? derivedId(`user|${email_hash}`) : email_hash
  return { user_id, email_hash }
}
