import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { defineResource, type ViewOf } from '#shared/platform/base/resource.ts'
import { defineResourceEvent, resourceEvent } from '#shared/platform/events/event-definition.ts'
import { characters } from '#shared/platform/formats/text.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'

const Parcel = defineResource({
  title: 'Parcel',
  setting: 'orders.fields',
  shows: (name, settings) => name === 'id' || settings['orders.fields'].includes(name),
  fields: {
    id: v.string(),
    tenant_id: v.string(),
    weight: {
      request: (settings: Settings) => v.pipe(v.number(), v.maxValue(settings['imports.maxRows'])),
      view: v.number(),
    },
    note: {
      request: v.exactOptional(v.pipe(v.string(), characters(1, 200))),
      view: v.exactOptional(v.string()),
    },
  },
})
interface Parcel extends ViewOf<typeof Parcel> {
  version: number
}

const parcel: Parcel = { id: 'p1', tenant_id: 'acme', weight: 3, version: 1 }
const noted: Parcel = { ...parcel, note: 'Fragile' }
const showing = (...fields: string[]): Settings => ({ ...localSettings, 'orders.fields': fields })

describe('the request of a resource', () => {
  test.each([
    [{ weight: 1 }, true],
    [{ weight: 1, note: 'Fragile' }, true],
    [{ weight: 1, note: 'x'.repeat(201) }, false],
    [{ weight: 1, id: 'p1' }, false],
    [{ note: 'Fragile' }, false],
  ])('%j: accepted %j', (body, accepted) => {
    expect(v.is(Parcel.request(localSettings), body)).toBe(accepted)
  })

  test('has the limits of the settings, and views have none', () => {
    const settings = { ...showing('weight'), 'imports.maxRows': 2 }
    expect(v.is(Parcel.request(settings), { weight: 3 })).toBe(false)
    expect(v.parse(Parcel.view(settings), Parcel.viewOf(parcel))).toEqual({ id: 'p1', weight: 3 })
  })
})

describe('the view of a resource', () => {
  test('has its fields, without an optional one that is not stored, and nothing else', () => {
    expect(Parcel.viewOf(parcel)).toEqual({ id: 'p1', tenant_id: 'acme', weight: 3 })
    expect(Object.keys(Parcel.viewOf(parcel))).toEqual(['id', 'tenant_id', 'weight'])
    expect(Parcel.viewOf(noted)).toEqual({ id: 'p1', tenant_id: 'acme', weight: 3, note: 'Fragile' })
  })

  test('gets a response with the fields that the settings show', () => {
    expect(v.parse(Parcel.view(showing('note')), Parcel.viewOf(noted))).toEqual({ id: 'p1', note: 'Fragile' })
    expect(v.parse(Parcel.view(showing('note')), Parcel.viewOf(parcel))).toEqual({ id: 'p1' })
  })

  test('with another field is a fault, and so is one without a field that callers do not get', () => {
    const schema = Parcel.view(showing())
    expect(v.is(schema, Parcel.viewOf(parcel))).toBe(true)
    expect(v.is(schema, { ...Parcel.viewOf(parcel), version: 1 })).toBe(false)
    expect(v.is(schema, { id: 'p1', tenant_id: 'acme' })).toBe(false)
  })

  test('does not compile without a field, or with one that is undefined', () => {
    // @ts-expect-error no weight
    const light: Parcel = { id: 'p1', tenant_id: 'acme', version: 1 }
    // @ts-expect-error an absent note is not undefined
    const silent: Parcel = { ...parcel, note: undefined }
    expect([light, silent].map((one) => v.is(Parcel.view(localSettings), one))).toEqual([false, false])
  })
})

test('an event with its resource has what callers get', () => {
  const definition = {
    type: 'order.created',
    version: 1,
    summary: '',
    resource: Parcel,
    carriers: ['order'],
  } as const
  const Created = defineResourceEvent(definition)
  const payloads = { ...localSettings['events.payloads'], 'order.created': 'resource' as const }
  const settings = { ...showing('note'), 'events.payloads': payloads }
  const dataOf = (one: Parcel) => resourceEvent(Created, one, settings).data
  expect(dataOf(noted)).toEqual({ id: 'p1', tenant_id: 'acme', note: 'Fragile' })
  expect(Object.keys(dataOf(parcel)).sort()).toEqual(['id', 'tenant_id'])
  expect(v.is(Created.data(settings), dataOf(parcel))).toBe(true)
  expect(v.is(Created.data(settings), { ...dataOf(parcel), weight: 3 })).toBe(false)
})
