import { uuidV8 } from '../platform/ids/uuid-v8.ts'
import { keyedHash } from '../platform/secrets/derived-key.ts'
import type { Settings } from '../settings/register.ts'

/** Somebody who is known by an e-mail address, as events, the audit and sessions name them. */
export interface Person {
  user_id: string
  /** 43 characters; the same for the same address in this deployment, and of no use outside. */
  email_hash: string
}

/**
 * Who an address stands for. Addresses are few enough to be tried out, so the hash is keyed by the deployment.
 * @param email in its one form
 * @param derivedKey as in `Context`
 */
export async function personOf(
  email: string,
  settings: Settings,
  derivedKey: (purpose: string) => Promise<Uint8Array>,
): Promise<Person> {
  const email_hash = keyedHash(await derivedKey('e-mail hashes v1'), email)
  const user_id = settings['otp.user'] === 'uuid' ? uuidV8(`user|${email_hash}`) : email_hash
  return { user_id, email_hash }
}
