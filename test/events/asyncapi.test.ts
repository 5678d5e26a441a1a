import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import * as v from 'valibot'
import { loadSettings, localProfile } from '#bin/build/settings-file.ts'
import { asyncapiDocument } from '#bin/describe/asyncapi.ts'
import { eventDefinitions } from '#functions/events.ts'
import { deliveryBody } from '#shared/deliveries/delivery.ts'
import { Order } from '#shared/orders/order.ts'
import { publishedEventSchema } from '#shared/platform/events/event-definition.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { Refund } from '#shared/refunds/refund.ts'
import { signingHeaders } from '#shared/subscribers/signing-secret.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { webhookSecret } from '#test/support/signed-events.ts'
import { publishEverything, type SampleEvent, sampleEvents } from './published-events.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents have any shape
type Any = any
const kept: Any = JSON.parse(readFileSync(join(import.meta.dirname, '../../asyncapi.json'), 'utf8'))
const addFormats = formats as unknown as (ajv: object) => void

/** Returns a validator for a payload of the document. */
function checkOf(message: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false })
  addFormats(ajv)
  const { payload } = kept.components.messages[message]
  return ajv.compile({ ...payload, components: { schemas: kept.components.schemas } })
}

describe('asyncapi.json', () => {
  test('is generated from the event definitions', async () => {
    const document = asyncapiDocument(await loadSettings(localProfile, 'local'))
    expect(kept).toEqual(JSON.parse(JSON.stringify(document)))
  })

  test('is a valid AsyncAPI 3.0 document, which model generators read', () => {
    const schema = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json')
    const ajv = new Ajv({ strict: false, logger: false, allErrors: true })
    addFormats(ajv)
    const valid = ajv.compile(schema)
    expect([valid(kept), valid.errors]).toEqual([true, null])
    expect(valid({ ...kept, channels: 'none' })).toBe(false)
  })

  test('contains exactly the events of the service, with their versions', () => {
    const published = eventDefinitions.map(({ type, version }) => `${type}.v${version}`)
    const received = receivedEvents.map(({ definition: { type, version } }) => `${type}.v${version}`)
    expect(Object.keys(kept.channels.bus.messages)).toEqual(published)
    expect(Object.keys(kept.channels.subscribers.messages)).toEqual([...published, 'ping.v1'])
    expect(Object.keys(kept.channels.webhooks.messages)).toEqual(received)
    expect(new Set(published).size).toBe(published.length)
  })

  test('names the server of every channel', () => {
    const servers = Object.keys(kept.servers).map((name) => `#/servers/${name}`)
    for (const channel of Object.values<Any>(kept.channels)) {
      const references = (channel.servers ?? []).map(({ $ref }: Any) => $ref)
      expect(servers).toEqual(expect.arrayContaining(references))
      expect(references).not.toEqual([])
    }
  })

  test('describes the configured field of a cart’s amount', () => {
    const other: Any = asyncapiDocument(otherSettings)
    const text = JSON.stringify(other.components.schemas.ReceivedCartUpdatedData)
    expect(text).toContain('"total"')
    expect(text).toContain('"x-open-point":"discount.cartFields"')
  })
})

describe('the data of an event about a resource', () => {
  const dataOf = (document: Any, event: string) => document.components.schemas[`${event}Data`]
  test('is described as the profile decides it: what callers get, or the id and the tenant', () => {
    const other: Any = asyncapiDocument(otherSettings)
    const described = (document: Any) =>
      ['OrderCreated', 'RefundSucceeded'].map((event) =>
        Object.keys(dataOf(document, event).properties).sort(),
      )
    const subject = ['id', 'tenant_id']
    const shown = (entries: object) => [...new Set([...Object.keys(entries), ...subject])].sort()
    expect(described(kept)).toEqual([subject, shown(Refund.shownEntries(localSettings))])
    expect(described(other)).toEqual([shown(Order.shownEntries(otherSettings)), subject])
  })

  test('is marked as the choice of the profile', () => {
    expect(dataOf(kept, 'RefundSucceeded')['x-open-point']).toBe('events.payloads')
  })

  test('never depends on the setting where an event has fields of its own', () => {
    const shown = eventDefinitions.filter(({ type }) => !(type in localSettings['events.payloads']))
    for (const { data } of shown)
      expect(Object.keys((data(otherSettings) as Any).entries)).toEqual(
        Object.keys((data(localSettings) as Any).entries),
      )
  })
})

describe('published events', () => {
  let events: PublishedEvent[]
  beforeAll(async () => {
    events = await publishEverything()
  })

  test.each(eventDefinitions)('contain $type, and each matches asyncapi.json', (definition) => {
    const { type, version } = definition
    const ours = events.filter((event) => event.type === type && event.version === version)
    if (ours.length === 0) throw new Error(`nothing publishes ${type}: add a sample to published-events.ts`)
    const valid = checkOf(`published.${type}.v${version}`)
    for (const event of ours) {
      expect([valid(event), valid.errors]).toEqual([true, null])
    }
  })

  test.each(eventDefinitions)(
    'of type $type have no field that asyncapi.json does not describe',
    (definition) => {
      const { type, version, data } = definition
      const exact = publishedEventSchema(type, version, data(localSettings))
      for (const event of events.filter((one) => one.type === type && one.version === version))
        expect(v.safeParse(exact, event).issues).toBeUndefined()
    },
  )

  test.each(eventDefinitions)('of type $type may get more fields later', ({ type, version }) => {
    const valid = checkOf(`published.${type}.v${version}`)
    const event = events.find((one) => one.type === type && one.version === version) as PublishedEvent
    expect(valid({ ...event, added: 1, data: { ...event.data, added: 'later' } })).toBe(true)
  })

  test.each(eventDefinitions)('of type $type reach subscribers as asyncapi.json says', (definition) => {
    const { type, version } = definition
    const valid = checkOf(`delivered.${type}.v${version}`)
    const { payload } = kept.components.messages[`delivered.${type}.v${version}`]
    const { properties } = kept.components.schemas[payload.$ref.split('/').at(-1)]
    for (const event of events.filter((one) => one.type === type && one.version === version)) {
      const body = JSON.parse(deliveryBody(event))
      expect([valid(body), valid.errors]).toEqual([true, null])
      expect(Object.keys(body).sort()).toEqual(Object.keys(properties).sort())
    }
  })

  test('have only types of asyncapi.json, whichever route was called', () => {
    const named = eventDefinitions.map(({ type, version }) => `${type}.v${version}`)
    for (const { type, version } of events) expect(named).toContain(`${type}.v${version}`)
  })

  test('never contain an e-mail address', () => {
    expect(JSON.stringify(events)).not.toMatch(/[\w.+-]+@[\w-]+\.\w/)
  })
})

describe('the headers of a delivered event', () => {
  const sent = { eventId: 'e-1', body: '{}', at: 0, secrets: [webhookSecret] }

  test.each([
    ['the local profile', localSettings],
    ['another profile', otherSettings],
  ])('are those of the description with %s', (_, settings) => {
    const { components }: Any = asyncapiDocument(settings)
    const { required } = components.schemas.DeliveredHeaders
    expect(required).toEqual(Object.keys(signingHeaders(sent, settings)))
  })
})

describe('received events', () => {
  test('have the headers that senders sign, and say what their fields mean', () => {
    const { messages, schemas } = kept.components
    for (const [name, { headers }] of Object.entries<Any>(messages))
      if (name.startsWith('received.')) expect(headers.$ref).toBe('#/components/schemas/ReceivedHeaders')
    for (const headers of [schemas.ReceivedHeaders, schemas.DeliveredHeaders])
      expect(headers.properties['webhook-signature'].description).toContain(
        '`v1,` followed directly by the base64',
      )
    const sent = { eventId: 'e-1', body: '{}', at: 0, secrets: [webhookSecret] }
    expect(schemas.ReceivedHeaders.required).toEqual(Object.keys(signingHeaders(sent, localSettings)))
    expect(schemas.WebhookEvent.properties.occurred_at.description).toBe('UTC, ending in Z.')
    expect(schemas.WebhookEventData.description).toContain(`tenant ${localSettings['auth.publicTenant']}.`)
  })

  test.each(sampleEvents)('of type $type match asyncapi.json', ({ type, data }: SampleEvent) => {
    const valid = checkOf(`received.${type}.v1`)
    const event = { event_id: 'e-1', type, occurred_at: '2026-01-01T00:00:00Z', data }
    expect([valid(event), valid.errors]).toEqual([true, null])
    expect(valid({ ...event, data: {} })).toBe(false)
    expect(valid({ ...event, type: 'other.type' })).toBe(false)
  })

  test('of every handled type were tested', () => {
    const tried = new Set(sampleEvents.map(({ type }) => type))
    expect([...tried].toSorted()).toEqual(receivedEvents.map(({ definition }) => definition.type).toSorted())
  })
})
