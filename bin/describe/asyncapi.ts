import * as v from 'valibot'
import { eventDefinitions } from '#functions/events.ts'
import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { type EventDefinition, publishedEventSchema } from '#shared/platform/events/event-definition.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import { impliedVersion, webhookEvent } from '#shared/webhooks/webhook-event.ts'
import { pascalCase, withNamedSchemas } from './openapi/components.ts'
import { type Json, jsonSchema, opened } from './openapi/schemas.ts'
import { ownership } from './openapi.ts'
import { version } from './version.ts'

/** Events in all of their versions. */
interface DescribedEvents {
  published: readonly EventDefinition[]
  received: readonly EventDefinition[]
}

const ofTheService: DescribedEvents = {
  published: eventDefinitions,
  received: receivedEvents.map(({ definition }) => definition),
}

const servers = {
  eventBridge: {
    host: 'events.{region}.amazonaws.com',
    protocol: 'eventbridge',
    description: 'Amazon EventBridge. Subscribers add a rule to the bus of the stack.',
    variables: { region: { description: 'The region of the stack.', examples: ['eu-west-1'] } },
  },
  api: {
    host: '{host}',
    pathname: '/{stage}',
    protocol: 'https',
    description: 'The API. Its address is that of the stack (output BaseUrl).',
    variables: {
      host: { description: 'The host of the address.', examples: ['api.example.com'] },
      stage: { description: 'The path of the address. Empty if the stage has a domain.', default: '' },
    },
  },
}

/** Returns the events of the service under this profile as AsyncAPI 3.1, from the event definitions alone. */
export function asyncapiDocument(settings: Settings, events: DescribedEvents = ofTheService): Json {
  const schemas: Record<string, Json> = {}
  const published = messages(events.published, 'published', (event) =>
    withNamedSchemas(publishedPayload(event, settings), schemas),
  )
  const received = messages(events.received, 'received', (event) =>
    withNamedSchemas(receivedPayload(event, settings), schemas),
  )
  return {
    asyncapi: '3.1.0',
    info: {
      title: 'Commerce API events',
      version,
      description:
        'The events that the service publishes on its EventBridge bus, and those of other services that it handles. Delivery is at least once and in no guaranteed order: consumers handle each event_id once and compare occurred_at. The profile of a deployment decides whatever carries x-open-point.',
      ...ownership,
      tags: [{ name: 'events', description: 'Published and received events.' }],
    },
    defaultContentType: 'application/json',
    servers,
    channels: channels(settings, published.references, received.references),
    operations: {
      publish: {
        ...operation('send', 'bus', 'Publishes changes after they are committed.'),
        description: 'At least once, in no guaranteed order.',
      },
      handle: {
        ...operation('receive', 'webhooks', 'Receives events of other services.'),
        description: 'An event is stored before the response and handled once.',
        security: [{ $ref: '#/components/securitySchemes/signature' }],
      },
    },
    components: {
      messages: { ...published.components, ...received.components },
      schemas,
      securitySchemes: {
        signature: { type: 'httpApiKey', in: 'header', name: settings['webhooks.scheme'].signatureHeader },
      },
    },
  }
}

function channels(settings: Settings, published: Json, received: Json): Json {
  return {
    bus: {
      servers: [{ $ref: '#/servers/eventBridge' }],
      title: 'The event bus',
      description:
        'An EventBridge bus of the stack (output EventBusName): source is commerce-api, detail-type the type, detail the payload. A change that is published in several versions is one event per version, each with its own id: select by detail.version.',
      messages: published,
    },
    webhooks: {
      servers: [{ $ref: '#/servers/api' }],
      title: 'Received events',
      address: pathOf(receiveEvent, settings),
      description:
        'Signed requests. Events of other types are stored and acknowledged, and have no effect. An event without a version has version 1. An event of a listed type in an unlisted version is acknowledged and waits in the dead-letter queue until the service knows that version.',
      messages: received,
    },
  }
}

/** Returns the components of messages, and references to them. `order.paid` in version 2 is `order.paid.v2`. */
function messages(
  definitions: readonly EventDefinition[],
  direction: 'published' | 'received',
  payload: (event: EventDefinition) => Json,
): { references: Json; components: Json } {
  const [references, components]: [Json, Json] = [{}, {}]
  for (const event of definitions) {
    const { type, version, summary } = event
    const [name, component] = [`${type}.v${version}`, `${direction}.${type}.v${version}`]
    references[name] = { $ref: `#/components/messages/${component}` }
    const title = `${type}, version ${version}`
    components[component] = { name: type, title, summary, payload: payload(event) }
  }
  return { references, components }
}

function publishedPayload({ type, version, data }: EventDefinition, settings: Settings): Json {
  const title = nameOf(type, version)
  const named = v.pipe(data(settings), v.title(`${title}Data`))
  const { additionalProperties: _, ...schema } = jsonSchema(publishedEventSchema(type, version, named))
  const properties = schema.properties as Json
  // The type and the version stay constants: subscribers select events by them.
  return { title, ...schema, properties: { ...properties, data: opened(properties.data as Json) } }
}

function receivedPayload({ type, version, data }: EventDefinition, settings: Settings): Json {
  const title = `Received${nameOf(type, version)}`
  const described = { title: `${title}Data`, ...jsonSchema(data(settings)) }
  const properties = { type: { const: type }, version: { const: version }, data: described }
  const required = version === impliedVersion ? {} : { required: ['version'] }
  return { title, allOf: [jsonSchema(webhookEvent(settings)), { properties, ...required }] }
}

/** Returns the name of an event's schema: OrderPaid, and OrderPaidV2 for its second version. */
function nameOf(type: string, version: number): string {
  return `${pascalCase(type)}${version === 1 ? '' : `V${version}`}`
}

function operation(action: 'send' | 'receive', channel: string, summary: string): Json {
  return { action, channel: { $ref: `#/channels/${channel}` }, summary }
}
