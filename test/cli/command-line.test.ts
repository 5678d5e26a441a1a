import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import { helpOf } from '#bin/cli/commands-page.ts'
import { createProgram, leavesOf, nameOf } from '#bin/cli/program.ts'
import { commandLinesIn, unknownParts } from '#test/support/command-lines.ts'
import { compileCache } from '#test/support/compile-cache.ts'

const root = join(import.meta.dirname, '../..')

interface Result {
  code: number
  stdout: string
  stderr: string
}

/** Runs a command line without a terminal. */
function run(...args: string[]): Promise<Result> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      ['bin/commerce.ts', ...args],
      { cwd: root, env: { ...process.env, ...compileCache } },
      (error, stdout, stderr) => done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })
}

const commands = leavesOf(createProgram()).map((command) => [nameOf(command), command] as const)

describe('the help of a command', () => {
  test.each(commands)('%s shows how it is used', (name, command) => {
    expect(helpOf(command)).toContain(`Usage: commerce ${name}`)
  })

  test.each(commands)('%s describes all options', (_, command) => {
    expect(command.options.filter(({ description }) => description === '')).toEqual([])
  })

  test.each(commands)('%s shows examples', (_, command) => {
    expect(commandLinesIn(helpOf(command))).not.toEqual([])
  })

  test.each(commands)('%s shows examples whose options exist', (_, command) => {
    expect(commandLinesIn(helpOf(command)).flatMap(unknownParts)).toEqual([])
  })

  test('is printed with exit code 0', async () => {
    const { code, stdout, stderr } = await run('token', '--help')
    expect({ code, stderr, usage: stdout.split('\n')[0] }).toEqual({
      code: 0,
      stderr: '',
      usage: 'Usage: commerce token [options]',
    })
  })

  test('marks required options', async () => {
    const { stdout } = await run('audit', 'list', '--help')
    expect(stdout).toContain('--tenant <name>  the tenant (required)')
  })

  test('of the program names every command', async () => {
    const { stdout } = await run('--help')
    expect(commands.map(([name]) => name).filter((name) => !stdout.includes(`  ${name} `))).toEqual([])
  })
})

test('package.json names the program, so that npx finds it', () => {
  expect(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).bin).toEqual({
    commerce: 'bin/commerce.ts',
  })
})

describe('exit code 2 and a message on standard error', () => {
  test.each([
    ['no command', [], 'Usage: commerce [options] [command]'],
    ['an unknown command', ['tokens'], "error: unknown command 'tokens'"],
    ['a group without a command', ['api-keys'], 'Usage: commerce api-keys'],
    [
      'a missing option',
      ['token', '--tenant', 'acme'],
      "error: required option '--role <role>' not specified",
    ],
    ['an unknown option', ['verify', '--stag', 's'], "error: unknown option '--stag'"],
    ['an unexpected argument', ['verify', 'acme'], 'error: too many arguments'],
    ['a time that is not in UTC', ['table', 'restore', 't', '--to', 'yesterday'], 'It takes a time in UTC'],
    ['an unknown queue', ['dead-letters', 'redrive', 'letters'], 'Allowed choices are webhooks, mail'],
    ['a limit that is no number', ['events', '--limit', 'ten'], 'It takes a whole number'],
    ['an unknown role', ['users', 'set', 'a@b.example', '--role', 'Owner'], 'Allowed choices are Viewer'],
    [
      'a window that ends before it begins',
      ['events', 'replay', '--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z', '--stack', 's'],
      'error: --from must be before --to',
    ],
    [
      'a password on the command line of a deployed stack',
      ['users', 'set', 'a@b.example', '--password', 'p', '--stack', 's'],
      'use --password-stdin',
    ],
    [
      'an empty standard input instead of a password',
      ['users', 'set', 'a@b.example', '--password-stdin'],
      'standard input is empty',
    ],
  ])('are the result of %s', async (_, args, message) => {
    const { code, stdout, stderr } = await run(...args)
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  })

  test.each([
    ['orders erase', ['orders', 'erase', 'id', '--tenant', 't']],
    ['tenants purge', ['tenants', 'purge', 't']],
    ['sessions revoke', ['sessions', 'revoke', 'id', '--tenant', 't']],
    ['api-keys revoke', ['api-keys', 'revoke', 'id', '--tenant', 't']],
    ['rollback', ['rollback', '--stack', 's']],
  ])('are the result of %s without --yes where nobody can be asked', async (_, args) => {
    const { code, stderr } = await run(...args)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('Confirm with --yes.') })
  })
})

test('a failure is reported with exit code 1', async () => {
  const { code, stderr } = await run(
    'token',
    '--tenant',
    'a',
    '--role',
    'Editor',
    '--sub',
    'u',
    '--settings',
    'none',
  )
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^error: none: there is no such profile/),
  })
})

describe('token', () => {
  const token = (...more: string[]) => run('token', '--tenant', 'acme', '--sub', 'u1', '--role', ...more)

  test('warns of an unknown role on standard error', async () => {
    const { stderr } = await token('Nonsense')
    expect(stderr).toBe(
      "warning: there is no role 'Nonsense'; the roles are Viewer, Editor, Admin, Service\n",
    )
  })

  test('is still printed for an unknown role', async () => {
    const { stdout } = await token('Nonsense')
    expect(decodeJwt(stdout.trim()).roles).toEqual(['Nonsense'])
  })

  test('of a known role is printed without a warning', async () => {
    expect((await token('Editor')).stderr).toBe('')
  })

  test.each([[['--expires-in', '-60']], [['--expires-in=-60']]])(
    'takes a negative lifetime: %j',
    async (args) => {
      const { stdout } = await token('Editor', ...args)
      const { exp = 0, iat = 0 } = decodeJwt(stdout.trim())
      expect(exp - iat).toBe(-60)
    },
  )

  test('takes other claims', async () => {
    const { stdout } = await token('Editor', '--claims', '{"amr":["mfa"]}')
    expect(decodeJwt(stdout.trim()).amr).toEqual(['mfa'])
  })
})
