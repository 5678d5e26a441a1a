import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'

const root = join(import.meta.dirname, '../..')

interface Result {
  code: number
  stdout: string
  stderr: string
}

/** Runs a command line of package.json, such as `node bin/token.ts`, with more arguments. */
function run(commandLine: string, ...more: string[]): Promise<Result> {
  const args = [...commandLine.split(' ').slice(1), ...more]
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

/** The commands of the project itself: scripts that run one of its files. */
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const commands = Object.entries(scripts as Record<string, string>)
  .map(([name, script]) => [name, script.replace(/^exec /, '')] as const)
  .filter(([, script]) => /^node [a-z0-9/-]+\.ts( --[a-z]+)?$/.test(script))

describe('--help', () => {
  test('is tried on the commands of package.json', () => {
    const names = commands.map(([name]) => name)
    expect(names).toEqual(expect.arrayContaining(['start', 'token', 'openapi', 'compatibility', 'bench']))
  })

  test.concurrent.each(commands)(
    'of npm run %s prints the usage and exits with code 0',
    async (_, commandLine) => {
      const { code, stdout, stderr } = await run(commandLine, '--help')
      expect({ code, stderr, usage: stdout.startsWith('usage: npm ') }).toEqual({
        code: 0,
        stderr: '',
        usage: true,
      })
    },
    60_000,
  )
})

describe('wrong options', () => {
  test.each([
    ['a missing option', ['--tenant', 'acme', '--role', 'Editor'], '--sub is required'],
    ['an unknown option', ['--tenants', 'acme'], "Unknown option '--tenants'"],
    ['an unexpected argument', ['acme'], "Unexpected argument 'acme'"],
  ])('%s is reported with the usage and exit code 1', async (_, args, message) => {
    const { code, stderr } = await run('node bin/token.ts', ...args)
    expect(code).toBe(1)
    expect(stderr).toContain(message)
    expect(stderr).toContain('usage: npm run -s token')
  })
})

describe('token', () => {
  const token = (...more: string[]) =>
    run('node bin/token.ts', '--tenant', 'acme', '--sub', 'u1', '--role', ...more)

  test('warns of an unknown role on standard error', async () => {
    const { stderr } = await token('Nonsense')
    expect(stderr).toBe(
      "warning: there is no role 'Nonsense'; the roles are Viewer, Editor, Admin, Service\n",
    )
  })

  test('is still printed for an unknown role', async () => {
    const { code, stdout } = await token('Nonsense')
    expect([code, decodeJwt(stdout.trim()).roles]).toEqual([0, ['Nonsense']])
  })

  test('of a known role is printed without a warning', async () => {
    expect((await token('Editor')).stderr).toBe('')
  })

  test('takes a negative --expires-in as an argument of its own', async () => {
    const { stdout } = await token('Editor', '--expires-in', '-60')
    const { exp = 0, iat = 0 } = decodeJwt(stdout.trim())
    expect(exp - iat).toBe(-60)
  })

  test('takes a negative --expires-in behind an equals sign', async () => {
    const { stdout } = await token('Editor', '--expires-in=-60')
    const { exp = 0, iat = 0 } = decodeJwt(stdout.trim())
    expect(exp - iat).toBe(-60)
  })
})
