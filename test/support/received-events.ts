import { startBudget } from '#shared/platform/base/clock.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { declaredTable } from './declared-table.ts'
import type { Answer, Service } from './service.ts'
import { type eventOf, signed } from './signed-events.ts'

/** Sends an event to the service, signed as by another service. */
export function sendEvent(
  service: Service,
  event: object,
  headers = signed(JSON.stringify(event)),
): Promise<Answer> {
  const body = JSON.stringify(event)
  return service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body })
}

/** Handles a received event with the permissions of the consumer of its queue. @param events the handled types */
export function handleReceived(
  { runtime, table }: Service,
  eventId: string,
  events?: Parameters<typeof handleEvent>[2],
): ReturnType<typeof handleEvent> {
  return handleEvent(eventId, eventContext(runtime, declaredTable('webhooks.handle', table)), events)
}

/** Returns what the handling of an event reads, in a service of the tests. */
export function eventContext(runtime: Service['runtime'], table: Table): Parameters<typeof handleEvent>[1] {
  const budget = startBudget(runtime.clock, 10_000)
  return { ...runtime, table, secret: (name) => runtime.secret(name, budget) }
}

/** Sends and handles an event. @returns how it was handled */
export async function receiveEvent(
  service: Service,
  event: ReturnType<typeof eventOf>,
): ReturnType<typeof handleEvent> {
  const { status } = await sendEvent(service, event)
  if (status !== 202) throw new Error(`the event was answered ${status}`)
  return handleReceived(service, event.event_id)
}
