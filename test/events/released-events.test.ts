import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { type EventDefinition, heldSubject, subject } from '#shared/platform/events/event-definition.ts'
import { localSettings } from '#test/support/settings.ts'
import { brokenEvents, releasedEvents } from './released-events.ts'

const made: EventDefinition = {
  type: 'thing.made',
  version: 1,
  summary: 'A thing was made.',
  data: () => v.strictObject({ ...subject, size: v.number() }),
  held: heldSubject,
}
const { held: _, ...withoutHeld } = made
const edited = 'thing.made.v1 is released: define a new version instead of editing it'
const unknown = (name: string) => `${name}: the last release cannot build it, so it needs storedWhole`

describe('the events of a release', () => {
  test.each<[string, EventDefinition, EventDefinition, string[]]>([
    ['may stay', made, made, []],
    ['may get another summary', made, { ...made, summary: 'Another.' }, []],
    ['keep the schema of their data', made, { ...made, data: () => v.strictObject(subject) }, [edited]],
    ['keep what their item holds', made, { ...made, held: { id: 'id' } }, [edited]],
    ['are not taken from their item by the writer first', withoutHeld, made, [unknown('thing.made.v1')]],
    ['are taken from their item by the relay first', withoutHeld, { ...made, storedWhole: true }, []],
    ['get a version that is stored whole', made, { ...made, version: 2, storedWhole: true }, []],
    [
      'get no version that a relay of the release cannot build',
      made,
      { ...made, version: 2 },
      [unknown('thing.made.v2')],
    ],
  ])('%s', (_name, before, after, broken) => {
    expect(brokenEvents(releasedEvents([before], localSettings), [after], localSettings)).toEqual(broken)
  })
})
