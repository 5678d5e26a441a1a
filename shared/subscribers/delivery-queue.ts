import { fail } from '../platform/base/failure.ts'
import type { DeliveryMessage } from './delivery.ts'

/** A message of the queue `deliveries`, as it is sent. */
export interface QueuedDelivery {
  body: string
  /** The subscriber: while one has many messages, a standard queue delivers those of others first. */
  group: string
  delaySeconds?: number
}

/** Sends at most ten messages to the queue `deliveries`. @returns for each of them whether it failed */
export type SendMessages = (messages: readonly QueuedDelivery[]) => Promise<boolean[]>

/** The batch limit of one request to the queue. */
const batchSize = 10

/** Returns a message as it is sent. @param delaySeconds at most `maxDelaySeconds` */
export function queuedDelivery(message: DeliveryMessage, delaySeconds = 0): QueuedDelivery {
  const queued = { body: JSON.stringify(message), group: message.subscriber }
  return delaySeconds > 0 ? { ...queued, delaySeconds } : queued
}

/** The longest delay of a message. */
export const maxDelaySeconds = 900

/** Sends messages. @throws DEPENDENCY.unavailable if the queue did not accept all of them */
export async function sendToQueue(messages: readonly DeliveryMessage[], send: SendMessages): Promise<void> {
  for (let at = 0; at < messages.length; at += batchSize) {
    const batch = messages.slice(at, at + batchSize)
    const failed = await send(batch.map((message) => queuedDelivery(message)))
    if (failed.some(Boolean)) throw fail('DEPENDENCY.unavailable')
  }
}
