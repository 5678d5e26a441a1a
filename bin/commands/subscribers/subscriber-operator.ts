import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { functionOutput, queueOutput } from '#lib/functions/function-names.ts'
import type { DeliveryMessage } from '#shared/deliveries/delivery.ts'
import { queuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import type { Change } from '#shared/platform/table/table.ts'
import type { Preparation, Prepared } from '#shared/subscribers/prepare-subscriber.ts'
import { findSubscriber, type Subscriber, type SubscriberRef } from '#shared/subscribers/subscriber.ts'
import { type DeployedStack, outputOf } from '../stack/deployment.ts'
import { invokeFunction } from '../stack/invoke-function.ts'
import { operatorOn } from '../stack/operator.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'

/** An operator who works on the subscribers of a deployment. */
export interface SubscriberOperator extends Operator {
  /** Lets the deployment check and seal: its settings, network and secret are not those of the operator. */
  prepare(preparation: Preparation): Promise<Prepared>
  /** Lets the deployment make an attempt of a delivery now. */
  send(message: DeliveryMessage): Promise<void>
}

export async function subscriberOperatorOf(stack: DeployedStack): Promise<SubscriberOperator> {
  const sqs = new SQSClient(stack.access)
  return {
    ...(await operatorOn(stack)),
    async prepare(preparation) {
      const name = outputOf(stack, functionOutput('subscribers.prepare'))
      return (await invokeFunction(name, JSON.stringify(preparation), stack.access)) as Prepared
    },
    async send(message) {
      const QueueUrl = outputOf(stack, queueOutput('deliveries'))
      const { body: MessageBody, group: MessageGroupId } = queuedDelivery(message)
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId }))
    },
  }
}

/** Does the part of a command that the deployment does. @throws Error for fields that it rejects */
export async function prepare(operator: SubscriberOperator, preparation: Preparation): Promise<Prepared> {
  const prepared = await operator.prepare(preparation)
  if (prepared.rejection !== undefined) throw new Error(prepared.rejection)
  return prepared
}

/** Reads a subscriber. @throws Error if there is none */
export async function readSubscriber(
  { table }: Pick<Operator, 'table'>,
  ref: SubscriberRef,
): Promise<Subscriber> {
  const found = await findSubscriber(table, ref)
  if (found) return found
  throw new Error(`${ref.tenant} has no subscriber ${ref.subscriber}: \`subscribers list\` shows all`)
}

/** What a command changes of a subscriber, and how the audit records it. */
interface SubscriberChange {
  changes: readonly Change[]
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

/**
 * Changes a subscriber, and audits it in the same transaction. If another process has changed it meanwhile, the change is
 * decided again.
 * @throws Error if there is no such subscriber
 */
export async function changeSubscriberAs(
  operator: Operator,
  ref: SubscriberRef,
  action: string,
  decide: (subscriber: Subscriber) => SubscriberChange,
): Promise<void> {
  for (;;) {
    const { changes, ...values } = decide(await readSubscriber(operator, ref))
    if (!(await operator.table.transact([...changes, auditOfSubscriber(operator, ref, action, values)])))
      return
  }
}

/** Returns the audit record of an action on a subscriber. */
export function auditOfSubscriber(
  operator: Operator,
  { tenant, subscriber }: SubscriberRef,
  action: string,
  values: { before?: Record<string, unknown>; after?: Record<string, unknown> } = {},
): Change {
  return auditOfOperator(operator, tenant, { action, target: `subscriber/${subscriber}`, ...values })
}
