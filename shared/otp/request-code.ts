import { personOf } from '../identity/person.ts'
import type { RequestContext } from '../platform/request/context.ts'
import type { Decision } from '../platform/request/endpoint.ts'
import { attemptOf, sourceHash } from './attempt.ts'
import { mailKeyPurpose, queuedMail, sealMail } from './code-mail.ts'
import {
  asCode,
  type CodeItem,
  codeHash,
  findCode,
  issueCode,
  newDigits,
  replaceCode,
} from './one-time-code.ts'
import { otpRequested } from './otp-events.ts'

/** The purpose of the key that hashes codes. */
export const codeKeyPurpose = 'one-time codes v1'

/**
 * Decides on a new code for an address. It replaces the previous code; its mail is sent once both are committed. The
 * response reveals nothing about the address.
 * @param email normalized
 */
export async function requestCode(email: string, context: RequestContext): Promise<Decision> {
  const { settings, table, clock, correlation, derivedKey, now, newId } = context
  const person = await personOf(email, settings, derivedKey)
  const message_id = newId()
  const tenant_id = settings['auth.publicTenant']
  const code = newDigits(settings['otp.code'].digits, clock.randomBytes)
  const code_hash = codeHash(await derivedKey(codeKeyPurpose), person, { message_id, code })
  const sealed = sealMail(await derivedKey(mailKeyPurpose), message_id, { email, code }, clock.randomBytes)
  const correlation_id = correlation.id
  const mail = queuedMail({ ...person, message_id, tenant_id, sealed, correlation_id }, now())

  const source = await sourceHash(person, context)

  const decide = (before: CodeItem | undefined): Decision => {
    const attempt = attemptOf(before, source, context)
    const after = issueCode(before, person, { message_id, code_hash }, attempt)
    return {
      status: 202,
      body: { message_id },
      writes: [replaceCode(before, after, 'TRANSIENT.error'), mail],
      events: otpRequested({ id: message_id, tenant_id, ...person }),
      onConflict: async (existing) => decide(asCode(existing)),
    }
  }
  return decide(await findCode(table, person))
}
