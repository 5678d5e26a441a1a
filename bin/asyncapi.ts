import { eventDefinitions } from '#functions/events.ts'
import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import type { EventDefinition } from '#shared/platform/events/event-definition.ts'
import { publishedEventSchema } from '#shared/platform/events/event-definition.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import { impliedVersion, webhookEvent } from '#shared/webhooks/webhook-event.ts'
import { generatedFile } from './generated-file.ts'
import { type Json, jsonSchema } from './openapi/schemas.ts'
import { loadSettings } from './settings-file.ts'

/** Events in all of their versions. */
export interface DescribedEvents {
  published: readonly EventDefinition[]
  received: readonly EventDefinition[]
}

const ofTheService: DescribedEvents = {
  published: eventDefinitions,
  received: receivedEvents.map(({ definition }) => definition),
}

/** Returns the events of the service under this profile as AsyncAPI 3.0, from the event definitions alone. */
export function asyncapiDocument(settings: Settings, events: DescribedEvents = ofTheService): Json {
  const { published, received } = events
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Commerce API events',
      version: '1.0.0',
      description:
        'The events that the service publishes on its EventBridge bus, and those of other services that it handles. Delivery is at least once and in no guaranteed order: consumers handle each event_id once and compare occurred_at. The profile of a deployment decides what carries x-open-point.',
    },
    defaultContentType: 'application/json',
    channels: {
      bus: {
        title: 'The event bus',
        description:
          'An EventBridge bus of the stack (output EventBusName): source is commerce-api, detail-type the type, detail the payload. A change that is published in several versions is one event per version, each with its own id: select by detail.version.',
        messages: messagesOf(published, 'published'),
      },
      webhooks: {
        title: 'Received events',
        address: pathOf(receiveEvent, settings),
        description:
          'Signed requests; types that are not named here are kept and acknowledged, and change nothing. An event without a version is of version 1; one of a named type in a version that is not named is acknowledged, too, but waits in the dead-letter queue until its version is known.',
        messages: messagesOf(received, 'received'),
      },
    },
    operations: {
      publish: operation('send', 'bus', 'Tells what happened, once it is committed.'),
      handle: operation('receive', 'webhooks', 'Takes what other services tell.'),
    },
    components: {
      messages: {
        ...components(published, 'published', (definition) => publishedPayload(definition, settings)),
        ...components(received, 'received', (definition) => receivedPayload(definition, settings)),
      },
      schemas: { ReceivedEvent: jsonSchema(webhookEvent(settings)) },
    },
  }
}

type Direction = 'published' | 'received'

/** Returns the name of a message: `order.paid` in version 2 is `order.paid.v2`. */
function nameOf({ type, version }: EventDefinition): string {
  return `${type}.v${version}`
}

function messagesOf(definitions: readonly EventDefinition[], direction: Direction): Json {
  return Object.fromEntries(
    definitions.map((definition) => [
      nameOf(definition),
      { $ref: `#/components/messages/${direction}.${nameOf(definition)}` },
    ]),
  )
}

function components(
  definitions: readonly EventDefinition[],
  direction: Direction,
  payload: (definition: EventDefinition) => Json,
): Json {
  return Object.fromEntries(
    definitions.map((definition) => [
      `${direction}.${nameOf(definition)}`,
      {
        name: definition.type,
        title: `${definition.type}, version ${definition.version}`,
        summary: definition.summary,
        payload: payload(definition),
      },
    ]),
  )
}

function publishedPayload({ type, version, data }: EventDefinition, settings: Settings): Json {
  return jsonSchema(publishedEventSchema(type, version, data(settings)))
}

function receivedPayload({ type, version, data }: EventDefinition, settings: Settings): Json {
  const narrowed = {
    type: { const: type },
    version: { const: version },
    data: jsonSchema(data(settings)),
  }
  const required = version === impliedVersion ? {} : { required: ['version'] }
  return { allOf: [{ $ref: '#/components/schemas/ReceivedEvent' }, { properties: narrowed, ...required }] }
}

function operation(action: 'send' | 'receive', channel: string, summary: string): Json {
  return { action, channel: { $ref: `#/channels/${channel}` }, summary }
}

if (import.meta.main)
  await generatedFile('asyncapi', 'asyncapi.json', async () => asyncapiDocument(await loadSettings()))
