import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge'
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import type { Deployment } from './deployment.ts'

export interface Heard extends PublishedEvent {
  /** Milliseconds since 1970 at which it was received. */
  heardAt: number
}

/** A subscriber of the bus: a rule that takes everything, and a queue behind it. */
export async function listen({ aws_endpoint: endpoint, region, event_bus: bus }: Deployment) {
  const access = { endpoint, region, credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }
  const events = new EventBridgeClient(access)
  const queues = new SQSClient(access)
  const { QueueUrl } = await queues.send(new CreateQueueCommand({ QueueName: 'listener' }))
  const attributes = await queues.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
  )
  const pattern = JSON.stringify({ source: ['commerce-api'] })
  await events.send(new PutRuleCommand({ Name: 'listener', EventBusName: bus, EventPattern: pattern }))
  const target = { Id: 'queue', Arn: attributes.Attributes?.QueueArn ?? '' }
  await events.send(new PutTargetsCommand({ Rule: 'listener', EventBusName: bus, Targets: [target] }))
  const heard: Heard[] = []

  return {
    heard,
    /** Receives until the condition holds, for five seconds at the most. */
    async until(condition: () => boolean): Promise<void> {
      for (const deadline = Date.now() + 5000; !condition() && Date.now() < deadline; ) {
        const request = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }
        const { Messages = [] } = await queues.send(new ReceiveMessageCommand(request))
        heard.push(...Messages.map(({ Body = '' }) => ({ ...JSON.parse(Body).detail, heardAt: Date.now() })))
        const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
        if (Entries.length > 0) await queues.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }))
      }
    },
    close() {
      events.destroy()
      queues.destroy()
    },
  }
}
