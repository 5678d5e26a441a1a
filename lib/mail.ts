import { EmailIdentity, Identity } from 'aws-cdk-lib/aws-ses'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'

/** The sender of the service's mails. AWS writes to it once, and sends nothing in its name before it was confirmed. */
export function mailIdentity(scope: Construct, settings: Settings): EmailIdentity {
  return new EmailIdentity(scope, 'MailIdentity', { identity: Identity.email(settings['otp.mail'].from) })
}
