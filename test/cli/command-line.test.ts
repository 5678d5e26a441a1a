import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import { helpOf } from '#bin/cli/commands-page.ts'
import { commandName, createProgram, leavesOf } from '#bin/cli/program.ts'
import { commandLinesIn, unknownParts } from '#test/support/command-lines.ts'
import { compileCache } from '#test/support/compile-cache.ts'
import { naming } from '#test/support/naming.ts'

const root = join(import.meta.dirname, '../..')
const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

interface Result {
  code: number
  stdout: string
  stderr: string
}

interface RunOptions {
  env?: NodeJS.ProcessEnv
  input?: string
  /** Options of Node. */
  node?: string[]
}

/** Runs a command line without a terminal. As in a shell, a word with spaces is in quotes. */
function run(line: string, { env = process.env, input = '', node = [] }: RunOptions = {}): Promise<Result> {
  const words = Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, word]) => quoted ?? word ?? '')
  const args = [...node, 'bin/commerce.mjs', ...words]
  const options = { cwd: root, env: { ...env, ...compileCache } }
  return new Promise((done) => {
    const child = execFile(process.execPath, args, options, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

const commands = leavesOf(createProgram()).map((command) => [commandName(command), command] as const)

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
    const stdout = expect.stringMatching(/^Usage: commerce env \[options]\n/)
    expect(await run('env --help')).toEqual({ code: 0, stdout, stderr: '' })
  })

  test('marks required options', async () => {
    const { stdout } = await run('audit list --help')
    expect(stdout).toMatch(/--tenant <name> +the tenant \(required\)/)
  })

  test('is printed by the command help', async () => {
    expect(await run('help env')).toEqual(await run('env --help'))
  })

  test('of the program names every command', async () => {
    const { stdout } = await run('--help')
    expect(commands.map(([name]) => name).filter((name) => !stdout.includes(`  ${name} `))).toEqual([])
  })
})

test('ends quietly when the reader of its output stops reading', async () => {
  const child = spawn(process.execPath, ['bin/commerce.mjs', 'runbook'], {
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
  expect(packageJson.bin).toEqual({ commerce: 'bin/commerce.mjs' })
})

describe('a Node that is too old', () => {
  const pretend = (property: string, value: string) =>
    `Object.defineProperty(process, '${property}', { value: '${value}' });`
  const node = (script: string) => ['--import', `data:text/javascript,${script}`]

  test('starts the one in node_modules', async () => {
    const old = node(pretend('version', 'v20.17.0'))
    expect(await run('--version', { node: old })).toMatchObject({
      code: 0,
      stdout: `${packageJson.version}\n`,
    })
  })

  test('is named on a system without one, with what installs another', async () => {
    const old = node(pretend('version', 'v20.17.0') + pretend('platform', 'sunos'))
    const { code, stderr } = await run('--version', { node: old })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(naming('Node 24 … v20.17.0')) })
  })
})

test('--version prints the version of package.json', async () => {
  expect(await run('--version')).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
})

test('a stack without an AWS region is a failure that says how to set one', async () => {
  const { AWS_REGION: _region, ...rest } = process.env
  const env = { ...rest, AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' }
  const { stderr } = await run('audit list --tenant acme --stack nope', { env })
  expect(stderr).toContain('AWS_REGION')
})

test('a stack without AWS credentials is a failure that says how to get some', async () => {
  const { AWS_ACCESS_KEY_ID: _id, AWS_SECRET_ACCESS_KEY: _key, AWS_PROFILE: _profile, ...rest } = process.env
  const none = { AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' }
  const env = { ...rest, ...none, AWS_REGION: 'eu-west-1', AWS_EC2_METADATA_DISABLED: 'true' }
  const { stderr } = await run('releases --stack nope', { env })
  expect(stderr).toContain('AWS_PROFILE')
})

test('a failure is reported with exit code 1', async () => {
  expect(await run('env --tenant a --settings none')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: none\b/),
  })
})

test('profile check fails for a profile with values of an example', async () => {
  const { code, stderr } = await run('profile check docs/examples/profile-prod.json --stage prod')
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(naming('aws.environment')) })
})

test('events listen refuses a short secret on standard input', async () => {
  const line = 'events --tenant acme --forward-to http://a.b --secret-stdin'
  expect(await run(line, { input: 'whsec_c2VjcmV0' })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(naming('whsec_ … 24 … 64')),
  })
})

describe('exit code 2 and a message on standard error are the result of', () => {
  test.each([
    ['', 'commerce [options] [command]'],
    ['tokens', 'tokens'],
    ['api-keys', 'commerce api-keys'],
    ['verify --stag s', '--stag'],
    ["verify --stack ''", '--stack is empty'],
    ["api-keys rotate '' --tenant acme", '<id> is empty'],
    ['verify acme', 'error: '],
    ['event listen', 'Did you mean … events'],
    ['ordrs', 'Did you mean … orders'],
    ['env --tenant acme --stack s', '--tenant'],
    ['env --scope codes:read', '--scope requires --tenant'],
    ['env --role Viewer', '--role requires --tenant'],
    ['table restore t --to yesterday', '--to … yesterday … UTC'],
    ['dead-letters redrive letters', 'letters … webhooks, mail'],
    ['events --limit ten', '--limit … ten'],
    ['events --events order.*,orders.*', 'orders.*'],
    ['events --events order.*,o\u202e', 'o\\u202e'],
    ['events --forward-to http://a.b', '--forward-to … --tenant'],
    ['events --forward-to localhost:3000', '--forward-to … localhost:3000'],
    ['events --secret-stdin', '--secret-stdin … --forward-to'],
    ['events --tenant acme --forward-to http://a.b --stack s', '--forward-to … --settings … --stack'],
    ['events --tenant acme --forward-to http://a.b --secret-stdin', 'standard input'],
    ['events replay --from 2026-01-02T00:00:00Z --to 2026-01-01T00:00:00Z --stack s', '--from … --to'],
    ['users set a@b.example --role Owner', 'Owner … Viewer'],
    ['users set a@b.example --password p --stack s', '--password-stdin'],
    ['users set a@b.example --password-stdin', 'standard input'],
    ["audit list --tenant 'bad tenant!'", 'bad tenant! … ^[A-Za-z0-9]'],
    ["env --tenant 'a b'", '^[A-Za-z0-9]'],
    ['audit list --tenant t --from 2026-01-02T00:00:00Z --to 2026-01-01T00:00:00Z', '--from … --to'],
    ['audit list --tenant t --from 3w', '--from … 3w … 24h'],
    ['audit list --tenant t --limit 0', '--limit … 100000'],
    ['events replay --from 2026-01-01T00:00:00Z --to 2026-01-02T00:00:00Z', '--stack … --subscriber'],
    [
      'events replay --from 2026-01-01T00:00:00Z --to 2026-01-02T00:00:00Z --tenant t',
      '--subscriber … --tenant',
    ],
    ['tenants purge a#b --yes', '^[A-Za-z0-9]'],
    ['refunds reconcile --tenant t --from 2026-01-02 --to 2026-01-01', '--from … --to'],
    ['refunds reconcile --tenant t --from 2126-01-01', '--from … 30 minutes'],
    ['refunds reconcile --tenant t --from 2026-13-01', '2026-13-01 … UTC'],
    ['refunds reconcile --tenant t --stack s', '--stack … --settings'],
    ['refunds list --tenant t --status lost', 'lost … pending'],
    ['refunds settle id --tenant t --yes', '--outcome <outcome>'],
    ['refunds settle id --tenant t --outcome lost --yes', 'lost … failed, paid'],
    ['refunds settle id --tenant t --outcome paid --yes', '--provider-refund-id … --currency'],
    ['refunds settle id --tenant t --outcome failed --currency EUR --yes', '--currency … paid'],
    ['refunds settle id --tenant t --outcome paid --currency euro --yes', '--currency … EUR'],
    ['refunds settle id --tenant t --outcome failed --stack s --yes', '--stack … --settings'],
    ['holds set --tenant t', '--reason <text>'],
    ["holds set --tenant t --reason ' '", '--reason … 1 … 512'],
    ['holds set --tenant t --reason a\u202eb', '--reason … 1 … 512'],
    // It cannot be deleted by itself.
    [
      'holds set --tenant t --reason r --target refund/01900000-0000-8000-8000-000000000000',
      '--target … order/ID',
    ],
    ['holds set --tenant t --reason r --target order/', '--target … order/ID, code/ID'],
  ])('commerce %s', async (line, message) => {
    expect(await run(line)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(naming(message)) })
  })

  test.each([
    'orders erase id --tenant t',
    'tenants purge t',
    'holds lift --tenant t --reason r',
    'sessions revoke id --tenant t',
    'api-keys revoke id --tenant t',
    'rollback --stack s',
    'refunds settle id --tenant t --outcome failed',
    'refunds reconcile --tenant t --from 2026-01-01 --adopt',
  ])('commerce %s, without --yes where nobody can be asked', async (line) => {
    expect(await run(line)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  })
})

test.each([
  ['cart.update', '{}', 'cart.update … cart.updated'],
  ['cart.updated', '{"amount_minr":1,"currency":"EUR"}', 'amount_minr … amount_minor'],
])('webhook send warns of what the service ignores: %s %s', async (type, data, warning) => {
  const { stderr } = await run(`webhook send ${type} --id c --tenant t --data '${data}'`)
  expect(stderr).toMatch(naming(`warning … ${warning}`))
})

describe('the token of env', () => {
  /** Makes the process read the file of a local run that there need not be. */
  const readsRun = (file: string) => `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { readFileSync } = fs
    fs.readFileSync = (path, ...rest) => String(path).endsWith('.local/service.json') ? ${JSON.stringify(file)} : readFileSync(path, ...rest)
    syncBuiltinESMExports()`
  const importing = (file: string) => `data:text/javascript,${encodeURIComponent(readsRun(file))}`
  const withRun = importing('{"base_url":"http://localhost"}')

  test('is not printed without a local run', async () => {
    const printed = await run('env --tenant acme', { node: ['--import', importing('')] })
    expect(printed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(naming('npm start')) })
  })

  const token = async (options: string) => {
    const { stdout, stderr } = await run(`env --tenant acme --role ${options}`, {
      node: ['--import', withRun],
    })
    const [, jwt = ''] = /^TOKEN='(.*)'$/m.exec(stdout) ?? []
    return { claims: decodeJwt(jwt), stderr }
  }

  test.each([
    ['role', 'Nonsense', { roles: ['Nonsense'] }, naming('Nonsense … Viewer, Editor, Admin, Service')],
    [
      'scope',
      "Editor --scope 'codes:read orders:foo'",
      { scope: 'codes:read orders:foo' },
      naming('orders:foo … codes:read'),
    ],
  ])('warns of an unknown %s', async (_, options, claims, warning) => {
    const printed = await token(options)
    expect(printed.claims).toMatchObject(claims)
    expect(printed.stderr).toMatch(warning)
  })

  test.each(['Editor', "Editor --scope 'codes:read codes:write'"])(
    'warns of nothing known: %s',
    async (options) => {
      expect((await token(options)).stderr).not.toContain('warning')
    },
  )

  test.each(['--expires-in -60', '--expires-in=-60'])('takes a negative lifetime: %s', async (option) => {
    const { exp = 0, iat = 0 } = (await token(`Editor ${option}`)).claims
    expect(exp - iat).toBe(-60)
  })

  test('takes other claims', async () => {
    expect((await token(`Editor --claims '{"amr":["mfa"]}'`)).claims.amr).toEqual(['mfa'])
  })
})
