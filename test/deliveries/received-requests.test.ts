import { afterAll, expect, test } from '@jest/globals'
import { sendBatch } from '#functions/deliveries/send-deliveries/handler.ts'
import { deliveryBody } from '#shared/deliveries/delivery.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { newSecret, sealSecret } from '#shared/subscribers/signing-secret.ts'
import { createSubscriber } from '#shared/subscribers/subscriber.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { localSettings } from '#test/support/settings.ts'
import { startSubscriberEndpoint } from '#test/support/subscriber-endpoint.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { testKeys } from '#test/support/test-keys.ts'

const endpoint = await startSubscriberEndpoint()
afterAll(() => endpoint.stop())

const budget = startBudget(systemClock, 60_000)
const context = {
  table: openTable(await newTable()),
  clock: systemClock,
  settings: localSettings,
  now: () => systemClock.now(),
  isBlocked: async () => false,
  environment: () => undefined,
  versionedKey: (name: 'subscribers', version?: string) => testKeys.versionedKey(name, budget, version),
}

const event = {
  event_id: 'event-1',
  type: 'order.placed',
  version: 1,
  occurred_at: '2026-03-01T12:00:00.000Z',
  source: 'commerce-api' as const,
  correlation_id: 'request-1',
  data: { id: 'order-1', tenant_id: 'acme', text: 'für 5 €' },
}

test('a subscriber receives the event as a request of Standard Webhooks that its secret verifies', async () => {
  const secret = newSecret(systemClock.randomBytes)
  const owner = subscriberOf({ url: endpoint.url })
  const subscriber = { ...owner, secrets: [{ sealed: await sealSecret(secret, owner, context) }] }
  await context.table.transact(createSubscriber(subscriber))
  const message = { tenant: 'acme', subscriber: subscriber.id, delivery: 'delivery-1', attempt: 1, event }
  await Promise.all(sendBatch([JSON.stringify(message)], context as never))
  expect(endpoint.verified(secret)).toEqual([
    { ...JSON.parse(deliveryBody(event)), webhook_id: event.event_id, status: 200 },
  ])
})
