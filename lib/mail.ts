import { CfnOutput, Stack } from 'aws-cdk-lib'
import {
  ConfigurationSet,
  EmailIdentity,
  Identity,
  MailFromBehaviorOnMxFailure,
  SuppressionReasons,
} from 'aws-cdk-lib/aws-ses'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'

/** The resources that send mails. */
export interface Mailing {
  identity: EmailIdentity
  /** Absent on the local run, where no mail bounces. */
  configurationSet: ConfigurationSet | undefined
}

/**
 * Creates the sender of the service's mails: a domain that SES signs for, with its own MAIL FROM domain, so that SPF
 * and DKIM both align. The local run uses the address alone.
 */
export function mailing(scope: Construct, settings: Settings): Mailing {
  const configurationSet = mailConfiguration(scope, settings)
  const domain = settings['mail.domain']
  if (!domain) {
    const identity = Identity.email(settings['otp.mail'].from)
    return { identity: new EmailIdentity(scope, 'MailIdentity', { identity }), configurationSet }
  }
  const identity = new EmailIdentity(scope, 'MailIdentity', {
    identity: Identity.domain(domain.identity),
    dkimSigning: true,
    mailFromDomain: domain.mailFrom,
    // Until SES finds the MX record, it sends mails under its own domain.
    mailFromBehaviorOnMxFailure: MailFromBehaviorOnMxFailure.USE_DEFAULT_VALUE,
    ...(configurationSet && { configurationSet }),
  })
  for (const [index, { name, value }] of identity.dkimRecords.entries()) {
    new CfnOutput(scope, `MailDkimRecord${index + 1}`, { value: `${name} CNAME ${value}` })
  }
  const { region } = Stack.of(scope)
  new CfnOutput(scope, 'MailFromMxRecord', {
    value: `${domain.mailFrom} MX 10 feedback-smtp.${region}.amazonses.com`,
  })
  new CfnOutput(scope, 'MailFromTxtRecord', {
    value: `${domain.mailFrom} TXT "v=spf1 include:amazonses.com ~all"`,
  })
  return { identity, configurationSet }
}

/**
 * Creates the configuration set of all mails. SES suppresses addresses that bounced or complained, and publishes both
 * rates as `Reputation.BounceRate` and `Reputation.ComplaintRate` by configuration set.
 */
function mailConfiguration(scope: Construct, settings: Settings): ConfigurationSet | undefined {
  if (!settings['mail.domain'] && settings['otp.deliveredOn'] === 'accepted') return undefined
  return new ConfigurationSet(scope, 'MailConfigurationSet', {
    suppressionReasons: SuppressionReasons.BOUNCES_AND_COMPLAINTS,
    reputationMetrics: true,
  })
}

/** Finds a sender or a MAIL FROM domain outside the domain that SES signs for. @returns a sentence for each */
export function strayMailDomains(settings: Settings): string[] {
  const domain = settings['mail.domain']
  if (!domain) return []
  const within = (host: string) => host === domain.identity || host.endsWith(`.${domain.identity}`)
  const sender = settings['otp.mail'].from.split('@').at(-1) ?? ''
  return [
    ...(within(sender) ? [] : [`otp.mail sends from ${sender}, which is not in ${domain.identity}`]),
    ...(within(domain.mailFrom) && domain.mailFrom !== domain.identity
      ? []
      : [`mailFrom has to be a subdomain of ${domain.identity}`]),
  ]
}
