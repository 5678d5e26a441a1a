import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { type ReleasedNames, releasedNames } from './released-names.ts'

const file = join(import.meta.dirname, 'released.json')
const released: ReleasedNames = JSON.parse(readFileSync(file, 'utf8'))
const current = releasedNames()

describe('since the last release there is still', () => {
  describe.each(Object.entries(released.commands))('the command %s', (name, before) => {
    const now = current.commands[name]

    test('with its options and arguments', () => {
      expect(now?.options).toEqual(expect.arrayContaining(before.options))
      expect(now?.arguments.accepted).toBeGreaterThanOrEqual(before.arguments.accepted)
    })

    test('which requires no more than before', () => {
      expect(before.requiredOptions).toEqual(expect.arrayContaining(now?.requiredOptions ?? []))
      expect(now?.arguments.required).toBeLessThanOrEqual(before.arguments.required)
    })
  })

  test.each(Object.entries(released.errors))('the error code %s with its status', (code, error) => {
    expect(current.errors[code]).toEqual(error)
  })

  test.each(Object.entries(released.clientTypes))('the type %s of the client', (name, members) => {
    expect(current.clientTypes[name]).toEqual(expect.arrayContaining(members))
  })

  test.each(['settings', 'receivedEvents', 'clientExports', 'clientMethods'] as const)(
    'each of %s',
    (kind) => {
      expect(current[kind]).toEqual(expect.arrayContaining(released[kind]))
    },
  )
})

test('a client requires no more options than before', () => {
  const required = ({ clientTypes }: ReleasedNames) =>
    clientTypes.ClientOptions?.filter((name) => !name.endsWith('?'))
  expect(required(released)).toEqual(expect.arrayContaining(required(current) ?? []))
})
