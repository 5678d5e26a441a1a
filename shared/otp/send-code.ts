import { noContent } from '../platform/http/reply.ts'
import { type Committer, commit } from '../platform/idempotency/commit.ts'
import type { Mail } from '../platform/mail/ses.ts'
import type { Item } from '../platform/table/keys.ts'
import { replace } from '../platform/table/writes.ts'
import type { Settings } from '../settings/register.ts'
import { type MailItem, mailKey, mailKeyPurpose, openMail } from './code-mail.ts'
import { findCode } from './code-store.ts'
import { otpDelivered } from './otp-events.ts'

/** What sending needs beside the table and the clock. */
export interface Sending extends Omit<Committer, 'caller' | 'correlation'> {
  settings: Settings
  derivedKey(purpose: string): Promise<Uint8Array>
  /** Sends the mail of a message once. */
  send(messageId: string, mail: Mail): Promise<void>
}

/**
 * Sends the mail of a message, and notes it with its event. A mail whose code is not the latest any more, or cannot be
 * verified any more, is not sent.
 * @throws whatever keeps it from being sent now: the queue brings it again
 */
export async function sendCode(messageId: string, sending: Sending): Promise<'sent' | 'known' | 'stale'> {
  const { table, clock, settings, derivedKey, send } = sending
  const mail = (await table.get(mailKey(messageId))) as (MailItem & Item) | undefined
  if (mail?.state === 'sent') return 'known'
  // One that lay in the dead-letter queue for long is forgotten by the table.
  if (!mail?.sealed) return 'stale'
  const code = await findCode(table, mail)
  const current = code?.message_id === messageId && code.state === 'open' && clock.now() <= code.valid_until
  if (!current) return 'stale'
  const content = openMail(await derivedKey(mailKeyPurpose), messageId, mail.sealed)
  await send(messageId, textOf(content, settings['otp.mail']))

  const { sealed: _sealed, task: _task, outbox: _outbox, ...sent } = mail
  const { tenant_id, user_id, email_hash, correlation_id } = mail
  const correlation = { id: correlation_id, traceparent: undefined, tracestate: undefined }
  const note = {
    writes: [replace({ ...sent, state: 'sent' }, { state: 'queued' }, 'INTERNAL.unexpected')],
    events: otpDelivered({ id: messageId, tenant_id, user_id, email_hash }),
    // Another delivery of the message has noted it.
    refused: async () => noContent(),
  }
  await commit({ ...sending, caller: undefined, correlation }, note, () => ({}))
  return 'sent'
}

function textOf({ email, code }: { email: string; code: string }, how: Settings['otp.mail']): Mail {
  return { from: how.from, to: email, subject: how.subject, text: how.text.replaceAll('{code}', code) }
}
