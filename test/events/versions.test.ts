import { createRequire } from 'node:module'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import * as v from 'valibot'
import { asyncapiDocument } from '#bin/describe/asyncapi.ts'
import { eventBridge } from '#shared/platform/aws/event-bridge.ts'
import {
  carriersOf,
  defineEvent,
  event,
  publishedEventSchema,
  subject,
} from '#shared/platform/events/event-definition.ts'
import { type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import { relay } from '#shared/platform/events/relay.ts'
import { created, defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create } from '#shared/platform/table/table.ts'
import { startFakeBus } from '#test/support/fake-bus.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

/** A weight as text in version 1 and as a number in version 2. */
const Packed = defineEvent({
  type: 'parcel.packed',
  version: 1,
  summary: 'A parcel was packed.',
  data: () => v.strictObject({ ...subject, weight: v.string() }),
  carriers: ['order'],
})
const PackedInGrams = defineEvent({
  type: 'parcel.packed',
  version: 2,
  summary: 'A parcel was packed, and weighed in grams.',
  data: () => v.strictObject({ ...subject, grams: v.number() }),
  carriers: ['order'],
})
const both = [Packed, PackedInGrams]
const targets = { carriers: carriersOf(both), publish: eventBridge('bus'), setAside: () => Promise.reject() }

const route = defineRoute({
  operation: 'tests.pack',
  method: 'POST',
  path: '/tests/pack',
  summary: 'Pack',
  description: 'Tells one change in two versions.',
  auth: 'bearer',
  access: 'create',
  idempotency: 'none',
  body: () => v.strictObject({ once: v.optional(v.string()) }),
  reply: { status: () => 201, schema: () => v.strictObject({ id: v.string() }) },
  errors: [],
  uses: [],
  table: { put: ['order'] },
  impact: 'Nothing.',
})
const pack = defineEndpoint(route, {
  decide({ body: { once } }, { newId, scope: { tenant: tenant_id } }) {
    const id = newId()
    const events = [
      event(Packed, { id, tenant_id, weight: '1.5 kg' }, once),
      event(PackedInGrams, { id, tenant_id, grams: 1500 }, once),
    ]
    return created({ id }, { writes: [create({ ...keyOf(tenant_id, 'order', id), id })], events })
  },
})

let service: Service
const bus = await startFakeBus()
beforeAll(async () => {
  service = await startService({ extra: [pack] })
})
beforeEach(() => {
  bus.events = []
})
afterAll(() => bus.stop())

async function packed(tenant: string, once?: string): Promise<PublishedEvent[]> {
  const answer = await service.call({ method: 'POST', path: '/tests/pack', as: { tenant }, body: { once } })
  const item = (await service.items(tenant, 'order')).find(({ id }) => id === answer.json.id)
  if (!item) throw new Error(answer.body)
  // Twice, because a stream delivers at least once.
  for (let times = 0; times < 2; times += 1) {
    const change = { sequenceNumber: '1', before: undefined, after: item }
    expect((await relay([change], targets)).failedFrom).toBeUndefined()
  }
  return publishedEvents(item)
}
const details = (taken: typeof bus.events): PublishedEvent[] => taken.map(({ Detail }) => JSON.parse(Detail))
const ids = (events: readonly PublishedEvent[]) => new Set(events.map(({ event_id }) => event_id))

describe('an event with two versions', () => {
  test('is described in both, each with its own data, in a valid document', () => {
    const { components, channels, ...rest } = JSON.parse(
      JSON.stringify(asyncapiDocument(localSettings, { published: both, received: both })),
    )
    const resolved = (value: { $ref?: string }) =>
      value.$ref ? components.schemas[value.$ref.replace('#/components/schemas/', '')] : value
    const payloadOf = (message: string) => resolved(components.messages[message].payload)
    expect(Object.keys(channels.bus.messages)).toEqual(['parcel.packed.v1', 'parcel.packed.v2'])
    for (const [version, own] of [
      [1, 'weight'],
      [2, 'grams'],
    ]) {
      const published = payloadOf(`published.parcel.packed.v${version}`)
      expect(published.properties.version).toMatchObject({ const: version })
      expect(Object.keys(resolved(published.properties.data).properties)).toEqual(['id', 'tenant_id', own])
      const [, narrowed] = payloadOf(`received.parcel.packed.v${version}`).allOf
      expect(narrowed.properties.version).toEqual({ const: version })
      // An event without a version has version 1.
      expect(narrowed.required).toEqual(version === 1 ? undefined : ['version'])
    }
    const schema = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json')
    const ajv = new Ajv({ strict: false, logger: false })
    ;(formats as unknown as (ajv: object) => void)(ajv)
    const valid = ajv.compile(schema)
    expect([valid({ ...rest, components, channels }), valid.errors]).toEqual([true, null])
  })

  test('is published in both for one change, each once by its id and in its version’s format', async () => {
    const events = await packed('two-versions')
    const received = details(bus.events)
    expect(received).toEqual([...events, ...events])
    expect(ids(received).size).toBe(2)
    for (const { type, version, data } of both) {
      const schema = publishedEventSchema(type, version, data(localSettings))
      const ours = received.filter((one) => one.version === version)
      expect(ours).toHaveLength(2)
      for (const one of ours) expect(v.safeParse(schema, one).issues).toBeUndefined()
    }
  })

  test('that is published repeatedly is still one event for each version', async () => {
    const first = await packed('once', 'parcel-7')
    const again = await packed('once', 'parcel-7')
    expect(ids(first).size).toBe(2)
    expect(ids(again)).toEqual(ids(first))
    expect(
      ids([...first, ...(await packed('once', 'parcel-8')), ...(await packed('else', 'parcel-7'))]).size,
    ).toBe(6)
  })

  test('is selected by its version in a rule of the bus', async () => {
    await packed('chosen')
    for (const { version } of both) {
      const rule = {
        source: ['commerce-api'],
        'detail-type': ['parcel.packed'],
        detail: { version: [version] },
      }
      const matching = bus.events.filter(
        ({ Source, DetailType, Detail }) =>
          rule.source.includes(Source) &&
          rule['detail-type'].includes(DetailType) &&
          rule.detail.version.includes(JSON.parse(Detail).version),
      )
      expect(details(matching).map((one) => one.version)).toEqual([version, version])
    }
  })
})
