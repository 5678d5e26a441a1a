import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2'

/** A mail of plain text. */
export interface Mail {
  from: string
  to: string
  subject: string
  text: string
}

/** How SES reports what happens to a mail: its events carry the tag `message_id`. */
export interface MailTracking {
  configurationSet: string
  messageId: string
}

let client: SESv2Client | undefined

/**
 * Hands a mail over to SES, in UTF-8. It is tried once: whoever calls knows how to try again. SES takes no key that
 * would make it see a repetition, so a mail whose answer is lost may have gone out.
 */
export async function sendMail({ from, to, subject, text }: Mail, tracking?: MailTracking): Promise<void> {
  client ??= new SESv2Client({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 5000, throwOnRequestTimeout: true },
  })
  const Charset = 'UTF-8'
  await client.send(
    new SendEmailCommand({
      FromEmailAddress: from,
      ...(tracking && {
        ConfigurationSetName: tracking.configurationSet,
        EmailTags: [{ Name: 'message_id', Value: tracking.messageId }],
      }),
      Destination: { ToAddresses: [to] },
      Content: {
        Simple: { Subject: { Data: subject, Charset }, Body: { Text: { Data: text, Charset } } },
      },
    }),
  )
}
