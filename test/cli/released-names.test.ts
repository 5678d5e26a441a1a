import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { type ReleasedNames, releasedNames } from './released-names.ts'

const file = join(import.meta.dirname, 'released.json')
const released: ReleasedNames = JSON.parse(readFileSync(file, 'utf8'))
const current = releasedNames()

describe('since the last release there is still', () => {
  test.each(Object.entries(released.commands))('the command %s with its options', (name, options) => {
    expect(current.commands[name]).toEqual(expect.arrayContaining(options))
  })

  test.each(Object.entries(released.errors))('the error code %s with its status', (code, error) => {
    expect(current.errors[code]).toEqual(error)
  })

  test.each(['settings', 'receivedEvents', 'clientExports', 'clientMethods'] as const)(
    'each of %s',
    (kind) => {
      expect(current[kind]).toEqual(expect.arrayContaining(released[kind]))
    },
  )
})
