import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { eventDefinitions } from '#functions/events.ts'
import type { EventDefinition } from '#shared/platform/events/event-definition.ts'
import { localSettings } from '#test/support/settings.ts'
import { brokenEvents, releasedEvents } from './released-events.ts'

const released = JSON.parse(readFileSync(new URL('released.json', import.meta.url), 'utf8'))
const placed = 'order.placed.v1'

/** Returns what breaks if the data of order.placed gets these fields. */
function changed(fieldsOf: (fields: v.ObjectEntries) => v.ObjectEntries): string[] {
  const definitions = eventDefinitions.map((one): EventDefinition => {
    if (one.type !== 'order.placed') return one
    const { entries } = one.data(localSettings) as v.StrictObjectSchema<v.ObjectEntries, undefined>
    return { ...one, data: () => v.strictObject(fieldsOf(entries)) }
  })
  return brokenEvents(released, releasedEvents(definitions, localSettings))
}

describe('the events of the last release', () => {
  test('are published with all of their fields', () => {
    expect(changed((fields) => fields)).toEqual([])
  })

  test.each<[string, (fields: v.ObjectEntries) => v.ObjectEntries]>([
    ['a field that is not always present', (fields) => ({ ...fields, note: v.exactOptional(v.string()) })],
    ['a description', (fields) => ({ ...fields, order_id: v.pipe(v.string(), v.description('The order.')) })],
  ])('may get %s', (_, fieldsOf) => {
    expect(changed(fieldsOf)).toEqual([])
  })

  test.each<[string, (fields: v.ObjectEntries) => v.ObjectEntries, string]>([
    ['lose a field', ({ order_id: _, ...fields }) => fields, 'data.order_id is missing'],
    ['retype a field', (fields) => ({ ...fields, order_id: v.number() }), 'data.order_id has another type'],
    [
      'make a field null',
      (fields) => ({ ...fields, order_id: v.nullable(v.string()) }),
      'data.order_id has another type',
    ],
    [
      'leave a field out',
      (fields) => ({ ...fields, order_id: v.exactOptional(v.string()) }),
      'data.order_id became optional',
    ],
    ['require a new field', (fields) => ({ ...fields, note: v.string() }), 'data.note is new and required'],
  ])('never %s', (_, fieldsOf, broken) => {
    expect(changed(fieldsOf)).toEqual([`${placed}.${broken}`])
  })

  test.each<string>(released[placed].required)('never lose %s', (name) => {
    const now = releasedEvents(eventDefinitions, localSettings)
    delete now[placed]?.properties?.[name]
    expect(brokenEvents(released, now)).toEqual([`${placed}.${name} is missing`])
  })

  test('are never left out', () => {
    const definitions = eventDefinitions.filter(({ type }) => type !== 'order.placed')
    expect(brokenEvents(released, releasedEvents(definitions, localSettings))).toEqual([
      `${placed} is not published any more`,
    ])
  })
})
