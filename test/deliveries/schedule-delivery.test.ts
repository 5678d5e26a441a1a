import { describe, expect, test } from '@jest/globals'
import type { DeliveryMessage } from '#shared/deliveries/delivery.ts'
import { type QueuedDelivery, queuedDelivery, sendToQueue } from '#shared/deliveries/schedule-delivery.ts'

const message: DeliveryMessage = { tenant: 'acme', subscriber: 's1', delivery: 'd1', attempt: 1 }

test('a message without a delay names none', () => {
  expect(queuedDelivery(message)).toStrictEqual({ body: JSON.stringify(message), group: 'acme' })
})

describe('messages', () => {
  test.each([
    [0, []],
    [10, [10]],
    [11, [10, 1]],
  ])('are sent ten at a time: %i', async (count, expected) => {
    const sizes: number[] = []
    await sendToQueue(Array(count).fill(message), async (batch: readonly QueuedDelivery[]) => {
      sizes.push(batch.length)
      return batch.map(() => false)
    })
    expect(sizes).toEqual(expected)
  })

  test('of which the queue does not accept one are a failure', async () => {
    const sending = sendToQueue([message, message], async () => [false, true])
    await expect(sending).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
  })
})
