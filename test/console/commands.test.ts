import { execFileSync } from 'node:child_process'
import { describe, expect, test } from '@jest/globals'
import type { ConsoleEntry } from '#bin/console/activity.ts'
import { withCommands } from '#bin/console/commands.ts'
import { commandLinesIn, missingOptions, unknownParts } from '#test/support/command-lines.ts'

const stack = 'commerce-prod'
const audit = { kind: 'audit', id: 'a-1', tenant_id: 'acme' } as const
const delivery = { kind: 'delivery', id: 'd-1', tenant: 'acme', subscriber_id: 's-1' } as const
const subscriber = { kind: 'subscriber', id: 's-1', tenant: 'acme' } as const
const refund = { kind: 'refund', id: 'r-1', tenant: 'acme', status: 'pending' } as const
const queue = { kind: 'queue', id: 'webhooks', dead_letters: [{ id: 'm-1' }] } as const

/** Returns the commands of an entry and of its dead letters. */
function commandsOf(entry: ConsoleEntry, name: string | undefined): string[] {
  const { commands = [], dead_letters: letters = [] } = withCommands(entry, name) as {
    commands?: string[]
    dead_letters?: { commands: string[] }[]
  }
  return [...commands, ...letters.flatMap((letter) => letter.commands)]
}

describe('the commands of an entry', () => {
  test.each<[string, ConsoleEntry, string[]]>([
    ['a delivery', delivery, ['deliveries resend d-1 --tenant acme', 'subscribers pause s-1 --tenant acme']],
    ['an active subscriber', { ...subscriber, state: 'active' }, ['subscribers pause s-1 --tenant acme']],
    ['a paused subscriber', { ...subscriber, state: 'paused' }, ['subscribers resume s-1 --tenant acme']],
    ['a deleted subscriber', { ...subscriber, state: 'deleted' }, []],
    ['a pending refund', refund, ['refunds settle r-1 --tenant acme --outcome OUTCOME']],
    ['a paid refund', { ...refund, status: 'succeeded' }, []],
    [
      'a record of an API key',
      { ...audit, token_sub: 'api-key:k-1' },
      ['api-keys revoke k-1 --tenant acme --yes'],
    ],
    ['a record of a user', { ...audit, token_sub: 'u-1' }, []],
    [
      'a queue with dead letters',
      queue,
      [
        'dead-letters redrive webhooks',
        'dead-letters redrive webhooks m-1',
        'dead-letters discard webhooks m-1 --yes',
      ],
    ],
    ['a queue without dead letters', { ...queue, dead_letters: [] }, []],
  ])('%s act on it', (_, entry, lines) => {
    expect(commandsOf(entry, undefined)).toEqual(lines.map((line) => `npx commerce ${line}`))
  })

  const all: ConsoleEntry[] = [delivery, { ...subscriber, state: 'active' }, refund, queue]
  test.each(all.flatMap((entry) => commandsOf(entry, stack)))('%s is complete on a stage', (line) => {
    const found = commandLinesIn(line)
    expect(found).toHaveLength(1)
    expect(found.flatMap(unknownParts)).toEqual([])
    // Somebody who fills in the outcome is asked once more.
    const asked = line.includes('OUTCOME') ? ['refunds settle --yes'] : []
    expect(found.flatMap(missingOptions)).toEqual(asked)
  })

  test('names the profile of the stage where a command needs it', () => {
    expect(commandsOf(refund, stack).join()).toContain('--settings profiles/prod.json')
  })

  test.each(["it's", '$(touch /tmp/x)', '`id`', 'a b', '; rm -rf .', '~', '*', '"', '\\'])(
    'pass the id %s to the command as it is',
    (id) => {
      const [line = ''] = commandsOf({ ...delivery, id }, undefined)
      const printed = execFileSync('sh', ['-c', line.replace('npx commerce', "printf '%s\\n'")]).toString()
      expect(printed.split('\n')[2]).toBe(id)
    },
  )

  test.each(['--yes', '-v', '', 'a\nrm -rf .', 'a\u001b[2J', 'a\u202eb'])(
    'leave out the id %j, which could be more than an id',
    (id) => {
      expect(commandsOf({ ...delivery, id }, undefined)).toEqual([
        'npx commerce subscribers pause s-1 --tenant acme',
      ])
    },
  )
})
