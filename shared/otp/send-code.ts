import type { Mail } from '../platform/aws/ses.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { digitsOf } from './code-digits.ts'
import { findCode } from './code-item.ts'
import { findMail, openMail, recordProgress } from './code-mail.ts'
import { openCodes } from './one-time-code.ts'
import { senderOf } from './sender.ts'

/**
 * Sends the mail of a message and records that it was sent. Publishes otp.delivered if the setting otp.deliveredOn
 * takes acceptance by the mail service as delivery. Skips a mail whose code was superseded or has expired, and one whose
 * address is not ASCII.
 * @param send sends the mail of a message once
 * @throws the error that prevents sending now; the queue delivers the task again
 */
export async function sendCode(
  messageId: string,
  context: Pick<WorkContext, 'table' | 'clock' | 'settings' | 'derivedKey'>,
  send: (messageId: string, mail: Mail) => Promise<void>,
): Promise<'sent' | 'known' | 'stale' | 'undeliverable'> {
  const { table, clock, settings, derivedKey } = context
  const mail = await findMail(table, messageId)
  if (mail && mail.state !== 'queued') return 'known'
  // A message that stayed long in the dead-letter queue has expired in the table.
  if (!mail?.sealed) return 'stale'
  const codes = openCodes(await findCode(table, mail), clock.now())
  const open = codes.find(({ id }) => id === mail.code_id)
  if (!open) return 'stale'
  const { email } = openMail(await derivedKey('mails'), messageId, mail.sealed)
  // SES accepts no other address, however often it is asked.
  if (!/^[\x21-\x7e]+$/.test(email)) return 'undeliverable'
  const key = await derivedKey('one_time_codes')
  const code = digitsOf(key, { email, salt: open.salt }, open.digits)
  const { from } = senderOf(settings)
  await send(messageId, { from, to: email, ...textOf(code, settings['otp.mail']) })
  await recordProgress(mail, 'sent', settings['otp.deliveredOn'] === 'accepted', context)
  return 'sent'
}

function textOf(code: string, { subject, text }: Settings['otp.mail']): Pick<Mail, 'subject' | 'text'> {
  return { subject, text: text.replaceAll('{code}', code) }
}
