import { asDelivery, type DeliveryAttempt, pingType, pingVersion } from '#shared/deliveries/delivery.ts'
import { newId, timestamp } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { SubscriberRef } from '#shared/subscribers/subscriber.ts'
import { auditOfSubscriber, readSubscriber, type SubscriberOperator } from './subscriber-operator.ts'

/** How long the command waits for the attempt, and how often it looks, in milliseconds. */
const maxWaitMilliseconds = 120_000
const pollMilliseconds = 500

/** An attempt, and whether the endpoint accepted it. */
type Tested = DeliveryAttempt & { id: string; accepted: boolean }

/**
 * Sends a signed event of the type `ping` to a subscriber, once, and waits for the answer.
 * @throws Error if there is no such subscriber, or if the deployment makes no attempt
 */
export async function testSubscriber(operator: SubscriberOperator, ref: SubscriberRef): Promise<Tested> {
  const { table, clock } = operator
  await readSubscriber(operator, ref)
  await table.transact([auditOfSubscriber(operator, ref, 'subscriber.test')])
  const { tenant, subscriber } = ref
  const id = newId(clock)
  await operator.send({
    ...ref,
    delivery: id,
    attempt: 1,
    event: {
      event_id: newId(clock),
      type: pingType,
      version: pingVersion,
      occurred_at: timestamp(clock.now()),
      source: 'commerce-api',
      correlation_id: newId(clock),
      data: { id: subscriber, tenant_id: tenant },
    },
  })
  for (const until = clock.now() + maxWaitMilliseconds; clock.now() < until; ) {
    const item = await table.get(keyOf(tenant, 'delivery', id))
    const delivery = item && asDelivery(item)
    const attempt = delivery?.attempts.at(-1)
    if (delivery && attempt) return { id, accepted: delivery.state === 'succeeded', ...attempt }
    await clock.sleep(pollMilliseconds)
  }
  throw new Error('the deployment made no attempt: see the log of deliveries.send')
}
