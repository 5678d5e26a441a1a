import { subscribe } from '#bin/commands/published-events.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import type { Deployment } from './deployment.ts'

/** Subscribes to all events of the bus. */
export async function listen({ aws, event_bus: bus }: Deployment) {
  const subscription = await subscribe(aws, bus, 'commerce-listener')
  const received: PublishedEvent[] = []

  return {
    received,
    /** Receives until the condition holds, for at most two minutes. */
    async until(condition: () => boolean): Promise<void> {
      const over = AbortSignal.timeout(120_000)
      while (!condition() && !over.aborted) {
        const events: PublishedEvent[] = await subscription.receive(over).catch((thrown) => {
          if (!over.aborted) throw thrown
          return []
        })
        received.push(...events)
      }
    },
    close: () => subscription.remove(),
  }
}
