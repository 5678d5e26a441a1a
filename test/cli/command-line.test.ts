import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
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
  return runIn(process.env, ...args)
}

function runIn(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Result> {
  return runWith({ env }, ...args)
}

function runWith({ env = process.env, input = '' }, ...args: string[]): Promise<Result> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      ['bin/commerce.ts', ...args],
      { cwd: root, env: { ...env, ...compileCache } },
      (error, stdout, stderr) => done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

const tokenOf = ['token', '--role', 'Editor', '--sub', 'u1']
const commands = leavesOf(createProgram()).map((command) => [nameOf(command), command] as const)

test('events listen refuses a short secret on standard input', async () => {
  const options = ['--tenant', 'acme', '--forward-to', 'http://a.b', '--secret-stdin']
  const { code, stderr } = await runWith({ input: 'whsec_c2VjcmV0' }, 'events', ...options)
  expect([code, stderr]).toEqual([2, expect.stringContaining('whsec_ and the base64 of 24 to 64 bytes')])
})

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

  test('is printed by the command help', async () => {
    expect(await run('help', 'token')).toEqual(await run('token', '--help'))
  })

  test('of the program names every command', async () => {
    const { stdout } = await run('--help')
    expect(commands.map(([name]) => name).filter((name) => !stdout.includes(`  ${name} `))).toEqual([])
  })
})

test('ends quietly when the reader of its output stops reading', async () => {
  const child = spawn(process.execPath, ['bin/commerce.ts', 'runbook'], {
    cwd: root,
    env: { ...process.env, ...compileCache },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Before the command writes.
  child.stdout.destroy()
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
})

test('package.json names the program, so that npx finds it', () => {
  expect(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).bin).toEqual({
    commerce: 'bin/commerce.ts',
  })
})

test('--version prints the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test('a stack without an AWS region is a failure that says how to set one', async () => {
  const { AWS_REGION: _region, ...env } = process.env
  const none = { AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' }
  const { stderr } = await runIn({ ...env, ...none }, 'audit', 'list', '--tenant', 'acme', '--stack', 'nope')
  expect(stderr).toContain('error: no AWS region is set: set AWS_REGION')
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
    [
      'the payment provider of a stack',
      ['url', '--provider', '--stack', 's'],
      'error: --provider is for the local run only',
    ],
    ['an unexpected argument', ['verify', 'acme'], 'error: too many arguments'],
    ['a time that is not in UTC', ['table', 'restore', 't', '--to', 'yesterday'], 'It takes a time in UTC'],
    ['an unknown queue', ['dead-letters', 'redrive', 'letters'], 'Allowed choices are webhooks, mail'],
    ['a limit that is no number', ['events', '--limit', 'ten'], 'It takes a whole number'],
    [
      'events that do not exist',
      ['events', '--events', 'order.*,orders.*'],
      'no event matches orders.*. The',
    ],
    [
      'an endpoint without a tenant',
      ['events', '--forward-to', 'http://a.b'],
      '--forward-to requires --tenant',
    ],
    [
      'an endpoint that is no address',
      ['events', '--forward-to', 'localhost:3000'],
      'It takes an address such',
    ],
    ['a secret without an endpoint', ['events', '--secret-stdin'], '--secret-stdin requires --forward-to'],
    [
      'a forwarded event of a stack without its profile',
      ['events', '--tenant', 'acme', '--forward-to', 'http://a.b', '--stack', 's'],
      '--forward-to requires --settings with --stack',
    ],
    [
      'an empty secret',
      ['events', '--tenant', 'acme', '--forward-to', 'http://a.b', '--secret-stdin'],
      'standard input is empty',
    ],
    ['an unknown role', ['users', 'set', 'a@b.example', '--role', 'Owner'], 'Allowed choices are Viewer'],
    [
      'a tenant that cannot exist',
      ['audit', 'list', '--tenant', 'bad tenant!'],
      'It takes a name that matches ^[A-Za-z0-9]',
    ],
    ['a token of such a tenant', [...tokenOf, '--tenant', 'a b'], 'It takes a name that matches'],
    ['a purge of such a tenant', ['tenants', 'purge', 'a#b', '--yes'], 'It takes a name that matches'],
    [
      'a window that ends before it begins',
      ['events', 'replay', '--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z', '--stack', 's'],
      'error: --from must be before --to',
    ],
    [
      'a comparison of refunds that ends before it begins',
      ['refunds', 'reconcile', '--tenant', 't', '--from', '2026-01-02', '--to', '2026-01-01'],
      'error: --from must be before --to',
    ],
    [
      'a comparison of refunds in the future',
      ['refunds', 'reconcile', '--tenant', 't', '--from', '2126-01-01'],
      'and at least 30 minutes ago',
    ],
    [
      'a comparison of refunds at no date',
      ['refunds', 'reconcile', '--tenant', 't', '--from', '2026-13-01'],
      'It takes a date or a time in UTC',
    ],
    [
      'a comparison of refunds on a stack without its settings',
      ['refunds', 'reconcile', '--tenant', 't', '--stack', 's'],
      '--stack requires --settings',
    ],
    [
      'an unknown status',
      ['refunds', 'list', '--tenant', 't', '--status', 'lost'],
      'Allowed choices are pending',
    ],
    [
      'a password on the command line of a deployed stack',
      ['users', 'set', 'a@b.example', '--password', 'p', '--stack', 's'],
      'use --password-stdin',
    ],
    ['a hold without a reason', ['holds', 'set', '--tenant', 't'], "required option '--reason <text>'"],
    [
      'a hold with an empty reason',
      ['holds', 'set', '--tenant', 't', '--reason', ' '],
      'It takes one line of 1 to 512 characters',
    ],
    [
      'a hold on what cannot be deleted by itself',
      [
        'holds',
        'set',
        '--tenant',
        't',
        '--reason',
        'r',
        '--target',
        'refund/01900000-0000-8000-8000-000000000000',
      ],
      'It takes order/ID, code/ID or tenant',
    ],
    [
      'a hold on an item without an id',
      ['holds', 'set', '--tenant', 't', '--reason', 'r', '--target', 'order/'],
      'It takes order/ID, code/ID or tenant',
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
    ['holds release', ['holds', 'release', '--tenant', 't', '--reason', 'r']],
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

  test('warns of an unknown scope on standard error', async () => {
    const { stderr } = await token('Editor', '--scope', 'codes:read orders:foo')
    expect(stderr).toMatch(/^warning: unknown scope: orders:foo; the scopes are .*codes:read/)
  })

  test('is still printed for an unknown scope', async () => {
    const { stdout } = await token('Editor', '--scope', 'codes:read orders:foo')
    expect(decodeJwt(stdout.trim()).scope).toBe('codes:read orders:foo')
  })

  test('of known scopes is printed without a warning', async () => {
    expect((await token('Editor', '--scope', 'codes:read codes:write')).stderr).toBe('')
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
