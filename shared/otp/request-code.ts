import { personOf } from '../identity/person.ts'
import { keyedHash } from '../platform/base/secrets.ts'
import type { Decision } from '../platform/idempotency/decision.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { countIn } from '../platform/table/window.ts'
import { codeAttempt, isKnownSource, sourceHash } from './attempt.ts'
import { newSalt } from './code-digits.ts'
import { asCodeItem, type CodeItem, findCode, replaceCode } from './code-item.ts'
import { queuedMail, sealMail } from './code-mail.ts'
import { requestedCode } from './one-time-code.ts'
import { otpRequested } from './otp-events.ts'
import { senderOf } from './sender.ts'

/**
 * Decides which code is mailed to an address. The mail is sent once it is committed together with the code. The response
 * reveals nothing about the address.
 * @param email normalized
 */
export async function requestCode(
  email: string,
  context: Pick<
    RequestContext,
    'settings' | 'table' | 'clock' | 'correlation' | 'derivedKey' | 'now' | 'newId' | 'source'
  >,
): Promise<Decision<{ message_id: string }>> {
  const { settings, table, clock, correlation, derivedKey, now, newId } = context
  // Nothing is stored for a mail that nobody would send.
  senderOf(settings)
  const person = await personOf(email, settings, derivedKey)
  const message_id = newId()
  const tenant_id = settings['auth.publicTenant']
  const fresh = { id: message_id, salt: newSalt(clock.randomBytes) }
  const sealed = sealMail(await derivedKey('mails'), message_id, { email }, clock.randomBytes)
  const correlation_id = correlation.id
  const source = await sourceHash(person, context)

  const decide = (before: CodeItem | undefined): Decision<{ message_id: string }> => {
    const attempt = codeAttempt(before, source, context)
    const { id: code_id, after } = requestedCode(before, { person, fresh }, attempt)
    const mail = { ...person, message_id, code_id, tenant_id, sealed, correlation_id }
    return {
      status: 202,
      body: { message_id },
      writes: [queuedMail(mail, now()), replaceCode(before, after, 'TRANSIENT.error')],
      events: otpRequested({ id: message_id, tenant_id, ...person }),
      onConflict: async (existing) => decide(asCodeItem(existing)),
    }
  }
  const before = await findCode(table, person)
  const decision = decide(before)
  if (!isKnownSource(before, codeAttempt(before, source, context))) await countForMailbox(email, context)
  return decision
}

/**
 * Counts a mail to an address with a tag, such as `jane+shop@example.com`. All tags usually lead to one mailbox, so
 * otherwise each tag would have the limit of an address. An address without a tag counts its mails itself.
 * @throws RATE_LIMIT.exceeded after too many mails for unknown sources (setting otp.mailsPerAddress)
 */
async function countForMailbox(
  email: string,
  { settings, table, clock, derivedKey }: Pick<RequestContext, 'settings' | 'table' | 'clock' | 'derivedKey'>,
): Promise<void> {
  const mailbox = email.replace(/^([^+]+)\+.*(?=@)/, '$1')
  if (mailbox === email) return
  const subject = ['otp.mailbox', keyedHash(await derivedKey('hashes'), 'throttle', mailbox)]
  await countIn([{ ...settings['otp.mailsPerAddress'], subject }], table, clock)
}
