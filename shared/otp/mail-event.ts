import * as v from 'valibot'
import type { Log } from '../platform/base/log.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { findMail, recordProgress } from './code-mail.ts'

/** An event of the mail service, reduced to the needed fields: the recipient's address never reaches the queue. */
const MailEvent = v.object({
  type: v.string(),
  /** The values of the mail's tag `message_id`. */
  message_id: v.tuple([v.string()]),
})

type MailEventContext = Pick<WorkContext, 'table' | 'clock'> & { log: Pick<Log, 'job'> }

/**
 * Handles an event of the mail service: publishes otp.delivered for a delivered mail, and logs a bounce. A repeated
 * event has no effect.
 * @param body the message of the queue
 */
export async function handleMailEvent(body: string, context: MailEventContext): Promise<void> {
  const { type, message_id } = v.parse(MailEvent, JSON.parse(body))
  if (type === 'Bounce') context.log.job({ code: 'MAIL_BOUNCED', done: 1, failed: 0 })
  if (type !== 'Delivery') return
  const mail = await findMail(context.table, message_id[0])
  if (mail && mail.state !== 'delivered') await recordProgress(mail, 'delivered', true, context)
}
