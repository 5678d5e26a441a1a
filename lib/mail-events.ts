import { Validations } from 'aws-cdk-lib'
import { EventBus, EventField, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events'
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets'
import { type ConfigurationSet, EmailSendingEvent, EventDestination } from 'aws-cdk-lib/aws-ses'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import type { WorkQueue } from './work-queues.ts'

/**
 * Sends delivery and bounce reports of a configuration set to the queue, unless the deployment treats acceptance by SES
 * as delivery. SES publishes to the account's default bus only.
 */
export function mailEvents(
  scope: Construct,
  { queue }: WorkQueue,
  { settings, configurationSet }: { settings: Settings; configurationSet: ConfigurationSet | undefined },
): void {
  if (!configurationSet || settings['otp.deliveredOn'] === 'accepted') return
  configurationSet.addEventDestination('DefaultBus', {
    destination: EventDestination.eventBus(EventBus.fromEventBusName(scope, 'DefaultBus', 'default')),
    events: [EmailSendingEvent.DELIVERY, EmailSendingEvent.BOUNCE],
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
      new SqsQueue(queue, {
        message: RuleTargetInput.fromObject({
          type: EventField.fromPath('$.detail.eventType'),
          message_id: EventField.fromPath('$.detail.mail.tags.message_id'),
        }),
      }),
    ],
  })
  Validations.of(rule).acknowledge({
    id: 'Serverless-EventBusDLQ',
    reason:
      'A dead-letter queue would keep the whole event with the address of the recipient. EventBridge tries a delivery for 24 hours.',
  })
}
