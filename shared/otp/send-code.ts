import type { Mail } from '../platform/aws/ses.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { findMail, mailKeyPurpose, openMail, recordProgress } from './code-mail.ts'
import { findCode } from './one-time-code.ts'

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
  const code = await findCode(table, mail)
  const current = code?.message_id === messageId && code.state === 'open' && clock.now() <= code.valid_until
  if (!current) return 'stale'
  const content = openMail(await derivedKey(mailKeyPurpose), messageId, mail.sealed)
  // SES accepts no other address, however often it is asked.
  if (!/^[\x21-\x7e]+$/.test(content.email)) return 'undeliverable'
  await send(messageId, textOf(content, settings['otp.mail']))
  await recordProgress(mail, 'sent', settings['otp.deliveredOn'] === 'accepted', context)
  return 'sent'
}

function textOf({ email, code }: { email: string; code: string }, how: Settings['otp.mail']): Mail {
  return { from: how.from, to: email, subject: how.subject, text: how.text.replaceAll('{code}', code) }
}
