import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2'
import { lazy } from '../base/cached-load.ts'
import { httpHandler } from './http-handler.ts'

/** A plain-text mail. */
export interface Mail {
  from: string
  to: string
  subject: string
  text: string
}

/** What names a mail to SES. */
interface MailTracking {
  /** Publishes events of the mail, which carry the tag `message_id`. */
  configurationSet: string | undefined
  messageId: string
}

const client = lazy(
  () => new SESv2Client({ maxAttempts: 1, requestHandler: httpHandler(5000, { keepAlive: false }) }),
)

/**
 * Sends a mail through SES, in UTF-8. It does not retry; the caller does. SES has no idempotency key, so a mail may
 * have been sent even if the response is lost.
 */
export async function sendMail(
  { from, to, subject, text }: Mail,
  { configurationSet: ConfigurationSetName, messageId }: MailTracking,
): Promise<void> {
  const Charset = 'UTF-8'
  await client().send(
    new SendEmailCommand({
      FromEmailAddress: from,
      ...(ConfigurationSetName && { ConfigurationSetName }),
      EmailTags: [{ Name: 'message_id', Value: messageId }],
      Destination: { ToAddresses: [to] },
      Content: {
        Simple: { Subject: { Data: subject, Charset }, Body: { Text: { Data: text, Charset } } },
      },
    }),
  )
}
