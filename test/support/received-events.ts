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
  return handleEvent(eventId, { ...runtime, table: declaredTable('webhooks.handle', table) }, events)
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
