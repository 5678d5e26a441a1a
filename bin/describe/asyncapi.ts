import * as v from 'valibot'
import { eventDefinitions } from '#functions/events.ts'
import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { pascalCase } from '#lib/functions/function-names.ts'
import { pingType, pingVersion } from '#shared/deliveries/delivery.ts'
import {
  defineEvent,
  type EventDefinition,
  publishedEventSchema,
  subject,
} from '#shared/platform/events/event-definition.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import { impliedVersion, webhookEvent } from '#shared/webhooks/webhook-event.ts'
import { withNamedSchemas } from './openapi/components.ts'
import { type Json, jsonSchema, opened } from './openapi/schemas.ts'
import { ownership } from './openapi.ts'
import { deliveredHeaders, receivedHeaders, signatureForm } from './signature.ts'
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

/** What subscribers get besides the published events. */
const ping = defineEvent({
  type: pingType,
  version: pingVersion,
  summary: 'An operator tests a subscriber, which is named by the id.',
  data: () => v.object(subject),
})

const servers = {
  eventBridge: {
    host: 'events.{region}.amazonaws.com',
    protocol: 'eventbridge',
    description: 'Amazon EventBridge. Consumers in the AWS account add a rule to the bus of the stack.',
    variables: { region: { description: 'The region of the stack.', examples: ['eu-west-1'] } },
  },
  subscriber: {
    host: '{host}',
    pathname: '/{path}',
    protocol: 'https',
    description: 'The endpoint of a subscriber. An operator registers it (npx commerce subscribers create).',
    variables: {
      host: { description: 'The host of the address.', examples: ['shop.example.com'] },
      path: { description: 'The path of the address.', examples: ['hooks'] },
    },
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

/** Returns the events of the service under this profile as AsyncAPI 3.0, from the event definitions alone. */
export function asyncapiDocument(settings: Settings, events: DescribedEvents = ofTheService): Json {
  const schemas: Record<string, Json> = {}
  const messagesOf = (
    definitions: readonly EventDefinition[],
    direction: Direction,
    content: (event: EventDefinition, settings: Settings) => Json,
  ) => messages(definitions, direction, (event) => withNamedSchemas(content(event, settings), schemas))
  const published = messagesOf(events.published, 'published', publishedContent)
  const delivered = messagesOf([...events.published, ping], 'delivered', deliveredContent)
  const received = messagesOf(events.received, 'received', receivedContent)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Commerce API events',
      version,
      description:
        'The events that the service publishes on its EventBridge bus and delivers to subscribers, and those of other services that it handles. Delivery is at least once and in no guaranteed order: consumers handle each event_id once and compare occurred_at. The profile of a deployment decides whatever carries x-open-point.',
      ...ownership,
      tags: [{ name: 'events', description: 'Published and received events.' }],
    },
    defaultContentType: 'application/json',
    servers,
    channels: channels(settings, {
      published: published.references,
      delivered: delivered.references,
      received: received.references,
    }),
    operations: {
      publish: {
        ...operation('send', 'bus', 'Publishes changes after they are committed.'),
        description: 'At least once, in no guaranteed order.',
      },
      deliver: {
        ...operation('send', 'subscribers', 'Posts events to the endpoints of subscribers.'),
        description:
          'At least once, in no guaranteed order, with retries. A 2xx response in time ends the delivery, and 410 ends the subscription. An attempt has the same webhook id as the one before.',
        security: [{ $ref: '#/components/securitySchemes/signature' }],
      },
      handle: {
        ...operation('receive', 'webhooks', 'Receives events of other services.'),
        description: 'An event is stored before the response and handled once.',
        security: [{ $ref: '#/components/securitySchemes/signature' }],
      },
    },
    components: {
      messages: { ...published.components, ...delivered.components, ...received.components },
      schemas,
      securitySchemes: {
        signature: {
          type: 'httpApiKey',
          in: 'header',
          name: settings['webhooks.scheme'].signatureHeader,
          description: signatureForm(settings),
        },
      },
    },
  }
}

function channels(settings: Settings, { published, delivered, received }: Record<Direction, Json>): Json {
  return {
    bus: {
      servers: [{ $ref: '#/servers/eventBridge' }],
      title: 'The event bus',
      description:
        'An EventBridge bus of the stack (output EventBusName): source is commerce-api, detail-type the type, detail the payload. A change that is published in several versions is one event per version, each with its own id: select by detail.version.',
      messages: published,
    },
    subscribers: {
      servers: [{ $ref: '#/servers/subscriber' }],
      title: 'Delivered events',
      description:
        'Signed requests to the URL of each subscriber of the tenant that asked for the type. The guide Receive events has endpoints in several languages.',
      messages: delivered,
    },
    webhooks: {
      servers: [{ $ref: '#/servers/api' }],
      title: 'Received events',
      address: pathOf(receiveEvent, settings),
      description:
        'Signed requests. Events of other types are stored and acknowledged, and have no effect. An event without a version has version 1. An event of a listed type and version whose data does not have the described shape gets 400. An event of a listed type in an unlisted version is acknowledged and waits in the dead-letter queue until the service knows that version.',
      messages: received,
    },
  }
}

type Direction = 'published' | 'delivered' | 'received'

/** Returns the components of messages, and references to them. `order.paid` in version 2 is `order.paid.v2`. */
function messages(
  definitions: readonly EventDefinition[],
  direction: Direction,
  content: (event: EventDefinition) => Json,
): { references: Json; components: Json } {
  const [references, components]: [Json, Json] = [{}, {}]
  for (const event of definitions) {
    const { type, version, summary } = event
    const [name, component] = [`${type}.v${version}`, `${direction}.${type}.v${version}`]
    references[name] = { $ref: `#/components/messages/${component}` }
    const title = `${type}, version ${version}`
    components[component] = { name: type, title, summary, ...content(event) }
  }
  return { references, components }
}

function publishedContent({ type, version, data }: EventDefinition, settings: Settings): Json {
  const title = schemaName(type, version)
  const named = v.pipe(data(settings), v.title(`${title}Data`))
  const { additionalProperties: _, ...schema } = jsonSchema(publishedEventSchema(type, version, named))
  const properties = schema.properties as Json
  // The type and the version stay constants: subscribers select events by them.
  return {
    payload: { title, ...schema, properties: { ...properties, data: opened(properties.data as Json) } },
  }
}

/** Subscribers get a published event without its trace. */
function deliveredContent(event: EventDefinition, settings: Settings): Json {
  const { title, properties, ...schema } = publishedContent(event, settings).payload as Json
  const { traceparent: _t, tracestate: _s, baggage: _b, ...delivered } = properties as Json
  const payload = { title: `Delivered${title}`, ...schema, properties: delivered }
  return { headers: deliveredHeaders(settings), payload }
}

function receivedContent({ type, version, data }: EventDefinition, settings: Settings): Json {
  const title = `Received${schemaName(type, version)}`
  const described = { title: `${title}Data`, ...jsonSchema(data(settings)) }
  const properties = { type: { const: type }, version: { const: version }, data: described }
  const required = version === impliedVersion ? {} : { required: ['version'] }
  return {
    headers: receivedHeaders(settings),
    payload: { title, allOf: [jsonSchema(webhookEvent(settings)), { properties, ...required }] },
  }
}

/** Returns the name of an event's schema: OrderPaid, and OrderPaidV2 for its second version. */
function schemaName(type: string, version: number): string {
  return `${pascalCase(type)}${version === 1 ? '' : `V${version}`}`
}

function operation(action: 'send' | 'receive', channel: string, summary: string): Json {
  return { action, channel: { $ref: `#/channels/${channel}` }, summary }
}
