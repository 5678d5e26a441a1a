import { describe, expect, test } from '@jest/globals'
import {
  type CommandBlock,
  player,
  problemsOf,
  procedureIn,
  proceduresOf,
  type StandIn,
} from '#test/support/procedures.ts'

const page = 'docs/operations.md'

/** Played by test/end-to-end/restore-procedure.campaign.test.ts. */
const played = ['Restore the table to a point in time']

const facts = 'test/infrastructure/documented-facts.test.ts'
const operatorPolicy = 'test/infrastructure/operator-policy.test.ts'
const freeze = 'test/operators/freeze.test.ts'

/** The commands of procedures that the local AWS cannot play, with the tests that stand for them. */
const listed: Record<string, StandIn[]> = {
  Freeze: [
    {
      command: 'npx commerce freeze',
      because: 'it is played within a restore',
      test: { file: freeze, title: 'changes exactly what the template of a deployment with -c freeze keeps' },
    },
    {
      command: 'npx commerce unfreeze',
      because: 'it is played within a restore',
      test: { file: freeze, title: 'that is ended leaves the state of the template' },
    },
  ],
  Losses: [
    {
      command: 'aws iam',
      because: 'the local AWS has no managed policies',
      test: {
        file: operatorPolicy,
        title: 'permits operators to pass the roles of backups and schedules, and no other',
      },
    },
  ],
  'Restore a nightly backup': [
    {
      command: 'VAULT=',
      because: 'the local stage has no backups',
      test: { file: facts, title: 'list the resources of a stack by a command that lists more than 100' },
    },
    {
      command: 'aws backup',
      because: 'the local stage has no backups',
      test: { file: operatorPolicy, title: 'permits %s, which docs/operations.md calls' },
    },
    {
      command: 'KEY=',
      because: 'the local stage has no key',
      test: { file: facts, title: 'a restored backup keeps the key of the stack' },
    },
  ],
}

describe('the procedures of the page', () => {
  test('that restore or freeze are played, or listed with a test that stands for each command', async () => {
    const headings = await proceduresOf(page)
    expect(headings).toEqual(expect.arrayContaining([...played, ...Object.keys(listed)]))
  })

  test.each(Object.entries(listed))('%s: a stand-in exists for every command', async (heading, standIns) => {
    const commands = (await procedureIn(page, heading)).flat()
    const uncovered = commands.filter((one) => !standIns.some(({ command }) => one.startsWith(command)))
    expect(uncovered).toEqual([])
  })

  test.each(Object.entries(listed))('%s: every stand-in is a test', async (heading, standIns) => {
    expect(await problemsOf(standIns, await procedureIn(page, heading))).toEqual([])
  })

  test('a missing heading is an error', async () => {
    await expect(procedureIn(page, 'Nothing')).rejects.toThrow(
      "docs/operations.md has no commands below 'Nothing'",
    )
  })

  test('a stand-in without its test is a problem', async () => {
    const standIn = { command: 'npx', because: 'it cannot', test: { file: facts, title: 'no such test' } }
    expect(await problemsOf([standIn], [['npx commerce freeze']])).toEqual([
      `${facts} has no test 'no such test'`,
    ])
  })

  test('a stand-in without its command is a problem', async () => {
    const standIn = {
      command: 'aws',
      because: 'it cannot',
      test: { file: operatorPolicy, title: 'permits %s, which docs/operations.md calls' },
    }
    expect(await problemsOf([standIn], [['npx commerce freeze']])).toEqual(['no block has the command aws'])
  })
})

describe('the player of procedures', () => {
  const env = { PATH: process.env.PATH }

  test('keeps variables from block to block, with the values of the place', async () => {
    const { play } = player({ env, values: { NAME: 'local' } })
    const blocks: CommandBlock[] = [['NAME=prod'], ['echo "$NAME"']]
    const outputs: string[] = []
    for (const block of blocks) outputs.push(await play(block))
    expect(outputs).toEqual(['', 'local\n'])
  })

  test('adds the options of the place', async () => {
    const { play } = player({ env, values: {}, options: { 'echo one': 'two' } })
    expect(await play(['echo one', 'echo three'])).toBe('one two\nthree\n')
  })

  test('fails with the output of a command that fails, and runs no further one', async () => {
    const { play } = player({ env, values: {} })
    const failed = await play(['echo first', 'false', 'echo last']).catch((thrown: Error) => thrown.message)
    expect(failed).toContain('first\n')
    expect(failed).not.toMatch(/^last$/m)
  })

  test('refuses a variable without a value for the place', async () => {
    const { play } = player({ env, values: {} })
    await expect(play(['STACK=commerce-prod'])).rejects.toThrow('there is no value for STACK')
  })
})
