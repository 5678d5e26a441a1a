import { EventEmitter, once } from 'node:events'
import { subscribe } from '#bin/commands/events/published-events.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import type { Deployment } from './deployment.ts'
import { patience } from './until.ts'

/** Subscribes to all events of the bus, and receives them until it is closed: the queue keeps them for five minutes only. */
export async function listen({ aws, event_bus: bus }: Deployment) {
  const subscription = await subscribe(aws, bus, 'commerce-listener')
  const received: PublishedEvent[] = []
  const changes = new EventEmitter()
  const closing = new AbortController()
  let fault: unknown
  const receiving = receive().catch((thrown) => {
    if (!closing.signal.aborted) fault = thrown
    changes.emit('change')
  })

  async function receive() {
    while (!closing.signal.aborted) {
      received.push(...(await subscription.receive(closing.signal)))
      changes.emit('change')
    }
  }

  return {
    received,
    /** Waits until the condition holds, but not longer than `patience`. @throws what ended the receiving */
    async until(condition: () => boolean): Promise<void> {
      const signal = AbortSignal.timeout(patience)
      while (!condition() && !signal.aborted) {
        if (fault !== undefined) throw fault
        await once(changes, 'change', { signal }).catch(() => undefined)
      }
    },
    async close() {
      closing.abort()
      await receiving
      await subscription.remove()
    },
  }
}
