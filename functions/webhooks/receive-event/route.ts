import * as v from 'valibot'
import { defineRoute } from '#shared/platform/request/route.ts'
import { webhookEvent } from '#shared/webhooks/webhook-event.ts'

export const route = defineRoute({
  operation: 'webhooks.receive',
  method: 'POST',
  path: '/v1/webhooks/events',
  summary: 'Receive an event',
  description:
    'Receives an event of another service. The signature covers the exact bytes of the body. The event is stored before the response and handled afterwards. One of a type and version that the service handles is refused if its data does not have the shape that asyncapi.json describes. A repeated event gets the same response and changes nothing.',
  auth: 'signature',
  idempotency: 'none',
  headers: ({ 'webhooks.scheme': { idHeader, timestampHeader } }) => ({
    [idHeader]: {
      description: 'The event_id of the body.',
      required: true,
      key: 'webhooks.scheme',
      example: 'evt-1',
    },
    [timestampHeader]: {
      description: 'The time of sending, in seconds since 1970.',
      required: true,
      key: 'webhooks.scheme',
      example: '1767225600',
    },
  }),
  bodyBytes: (settings) => settings['webhooks.maxBytes'],
  body: webhookEvent,
  example: () => ({
    event_id: 'evt-1',
    type: 'order.paid',
    occurred_at: '2026-01-01T00:00:00Z',
    data: { id: '01a1fd42-cae3-848a-b36e-b4be13e97000', tenant_id: 'acme' },
  }),
  reply: { status: (settings) => settings['webhooks.status'], schema: () => v.undefined() },
  errors: ['VALIDATION.datetime.timezone_required', 'VALIDATION.date.range'],
  uses: ['secret.webhooks'],
  table: { get: ['inbox'], put: ['inbox'] },
  impact: 'Events of other services are not received; their senders retry.',
})
