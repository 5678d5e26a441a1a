import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { asyncapiDocument } from '#bin/asyncapi.ts'
import { loadSettings, localProfile } from '#bin/settings-file.ts'
import { eventDefinitions } from '#functions/events.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import { otherSettings } from '#test/support/settings.ts'
import { happenings, type Told, tellEverything } from './published-events.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
type Any = any
const kept: Any = JSON.parse(readFileSync(join(import.meta.dirname, '../../asyncapi.json'), 'utf8'))
const addFormats = formats as unknown as (ajv: object) => void

/** A payload of the document as a check. */
function checkOf(message: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false })
  addFormats(ajv)
  const { payload } = kept.components.messages[message]
  return ajv.compile({ ...payload, components: { schemas: kept.components.schemas } })
}

describe('asyncapi.json', () => {
  test('is what the event definitions say', async () => {
    const document = asyncapiDocument(await loadSettings(localProfile, 'local'))
    expect(kept).toEqual(JSON.parse(JSON.stringify(document)))
  })

  test('is a valid AsyncAPI 3.0 document', () => {
    const schema = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json')
    const ajv = new Ajv({ strict: false, logger: false, allErrors: true })
    addFormats(ajv)
    const valid = ajv.compile(schema)
    expect([valid(kept), valid.errors]).toEqual([true, null])
    expect(valid({ ...kept, channels: 'none' })).toBe(false)
  })

  test('names every event of the service with its version, and nothing else', () => {
    const published = eventDefinitions.map(({ type, version }) => `${type}.v${version}`)
    const received = receivedEvents.map(({ definition: { type, version } }) => `${type}.v${version}`)
    expect(Object.keys(kept.channels.bus.messages)).toEqual(published)
    expect(Object.keys(kept.channels.webhooks.messages)).toEqual(received)
    expect(new Set(published).size).toBe(published.length)
  })

  test('tells where another profile finds the amount of a cart', () => {
    const other: Any = asyncapiDocument(otherSettings)
    const text = JSON.stringify(other.components.schemas.ReceivedCartUpdatedData)
    expect(text).toContain('"total"')
    expect(text).toContain('"x-open-point":"discount.cartFields"')
  })
})

describe('what is published', () => {
  let events: PublishedEvent[]
  beforeAll(async () => {
    events = await tellEverything()
  }, 60_000)

  test.each(eventDefinitions)('$type is published, and each is as asyncapi.json says', (definition) => {
    const { type, version } = definition
    const ours = events.filter((event) => event.type === type && event.version === version)
    expect(ours.length).toBeGreaterThan(0)
    const valid = checkOf(`published.${type}.v${version}`)
    for (const event of ours) {
      expect([valid(event), valid.errors]).toEqual([true, null])
      expect(valid({ ...event, data: { ...event.data, email: 'a@example.com' } })).toBe(false)
    }
  })

  test('is of types that asyncapi.json names, whatever route was called', () => {
    const named = eventDefinitions.map(({ type, version }) => `${type}.v${version}`)
    for (const { type, version } of events) expect(named).toContain(`${type}.v${version}`)
  })

  test('never holds an e-mail address', () => {
    expect(JSON.stringify(events)).not.toMatch(/[\w.+-]+@[\w-]+\.\w/)
  })
})

describe('what is received', () => {
  test.each(happenings)('$type as it is handled is as asyncapi.json says', ({ type, data }: Told) => {
    const valid = checkOf(`received.${type}.v1`)
    const event = { event_id: 'e-1', type, occurred_at: '2026-01-01T00:00:00Z', data }
    expect([valid(event), valid.errors]).toEqual([true, null])
    expect(valid({ ...event, data: {} })).toBe(false)
    expect(valid({ ...event, type: 'other.type' })).toBe(false)
  })

  test('all that is handled was tried', () => {
    const tried = new Set(happenings.map(({ type }) => type))
    expect([...tried].toSorted()).toEqual(receivedEvents.map(({ definition }) => definition.type).toSorted())
  })
})
