import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { type CommandBlock, player, problemsOf, procedureIn, proceduresOf } from '#test/support/procedures.ts'
import { playedBy, standIns, withoutStandIns } from '#test/support/stand-ins.ts'

const page = 'docs/operations.md'
const root = join(import.meta.dirname, '../..')
const facts = 'test/infrastructure/documented-facts.test.ts'

describe('the procedures of the page', () => {
  test('are played, or have tests that stand for them, and no others do', async () => {
    const known = new Set([...Object.keys(playedBy), ...Object.keys(standIns)])
    expect([...known].sort()).toEqual((await proceduresOf(page)).sort())
  })

  test.each(Object.entries(playedBy))('%s is played by %s', async (heading, campaign) => {
    expect(await readFile(join(root, campaign), 'utf8')).toContain(heading)
  })

  const onlyListed = Object.keys(standIns).filter((heading) => playedBy[heading] === undefined)
  test.each(onlyListed)('%s: a stand-in exists for every command', async (heading) => {
    expect(withoutStandIns(heading, (await procedureIn(page, heading)).flat())).toEqual([])
  })

  test.each(Object.entries(standIns))('%s: every stand-in is a test', async (heading, listed) => {
    expect(await problemsOf(listed, await procedureIn(page, heading))).toEqual([])
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
      test: { file: facts, title: 'a restored backup keeps the key of the stack' },
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

  test('replaces the placeholders of the page', async () => {
    const { play } = player({ env, values: {}, placeholders: { KEY_ID: 'k1', prod: 'local' } })
    expect(await play(['echo KEY_ID of prod'])).toBe('k1 of local\n')
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
