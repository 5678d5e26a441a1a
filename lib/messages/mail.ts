import { CfnOutput, Stack, Validations } from 'aws-cdk-lib'
import { EventBus, EventField, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events'
import * as ses from 'aws-cdk-lib/aws-ses'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import { admitEvents, type WorkQueue } from './queues.ts'

/** The resources that send mails. */
export interface Mailing {
  from: string
  identity: ses.EmailIdentity
  /** Absent on the local run, where no mail bounces. */
  configurationSet: ses.ConfigurationSet | undefined
}

/**
 * Creates the sender of the service's mails: a domain that SES signs for, with its own MAIL FROM domain, so that SPF
 * and DKIM both align. The local run uses the address alone.
 * @returns undefined if the deployment sends no mail
 */
export function mailing(scope: Construct, settings: Settings): Mailing | undefined {
  const sender = settings['mail.sender']
  if (!sender) return undefined
  const { from, domain } = sender
  // SES suppresses addresses that bounced or complained, and publishes both rates by configuration set.
  const configurationSet =
    domain || settings['otp.deliveredOn'] !== 'accepted'
      ? new ses.ConfigurationSet(scope, 'MailConfigurationSet', {
          suppressionReasons: ses.SuppressionReasons.BOUNCES_AND_COMPLAINTS,
          reputationMetrics: true,
        })
      : undefined
  if (!domain) {
    const identity = ses.Identity.email(from)
    return { from, identity: new ses.EmailIdentity(scope, 'MailIdentity', { identity }), configurationSet }
  }
  const identity = new ses.EmailIdentity(scope, 'MailIdentity', {
    identity: ses.Identity.domain(domain.identity),
    dkimSigning: true,
    mailFromDomain: domain.mailFrom,
    // Until SES finds the MX record, it sends mails under its own domain.
    mailFromBehaviorOnMxFailure: ses.MailFromBehaviorOnMxFailure.USE_DEFAULT_VALUE,
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
  return { from, identity, configurationSet }
}

/**
 * Sends delivery and bounce reports of a configuration set to the queue, unless the deployment treats acceptance by SES
 * as delivery. SES publishes to the account's default bus only.
 */
export function mailEvents(
  scope: Construct,
  { queue }: WorkQueue,
  { settings, configurationSet }: { settings: Settings; configurationSet: ses.ConfigurationSet | undefined },
): void {
  if (!configurationSet || settings['otp.deliveredOn'] === 'accepted') return
  configurationSet.addEventDestination('DefaultBus', {
    // A generated name would be longer than the 64 characters that SES takes.
    configurationSetEventDestinationName: 'default-bus',
    destination: ses.EventDestination.eventBus(EventBus.fromEventBusName(scope, 'DefaultBus', 'default')),
    events: [ses.EmailSendingEvent.DELIVERY, ses.EmailSendingEvent.BOUNCE],
  })
  const tags = {
    'ses:configuration-set': [configurationSet.configurationSetName],
    // Mails of the user pool use the same configuration set but have no message id of the service.
    message_id: [{ exists: true }],
  }
  const rule = new Rule(scope, 'MailEventsRule', {
    description: 'Deliveries and bounces of the one-time codes of this stage.',
    eventPattern: { source: ['aws.ses'], detail: { mail: { tags } } },
    // The event contains the recipient's address, which must not be stored in the queue.
    targets: [
      {
        bind: () => ({
          arn: queue.queueArn,
          input: RuleTargetInput.fromObject({
            type: EventField.fromPath('$.detail.eventType'),
            message_id: EventField.fromPath('$.detail.mail.tags.message_id'),
          }),
        }),
      },
    ],
  })
  admitEvents(queue, rule.ruleArn)
  Validations.of(rule).acknowledge({
    id: 'Serverless-EventBusDLQ',
    reason:
      'A dead-letter queue would keep the whole event with the address of the recipient. EventBridge retries a delivery for 24 hours.',
  })
}
