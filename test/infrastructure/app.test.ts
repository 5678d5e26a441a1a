import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { functionEntries } from '#lib/function-entries.ts'
import { publishedProfile } from './published-profile.ts'

const root = join(import.meta.dirname, '../..')
let scratch: string

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'commerce-app-'))
})

afterAll(() => rm(scratch, { recursive: true, force: true }))

describe('what has to be put right is told in one message, without a stack trace', () => {
  test('a missing, an unknown and a malformed setting, all at once', async () => {
    const { 'orders.gone': _missing, ...rest } = await publishedProfile()
    const settings = await profile({ ...rest, 'orders.color': 'red', 'auth.clockToleranceSeconds': -1 })
    const { code, output } = await runApp({ stage: 'prod', settings })
    expect(code).toBe(1)
    expect(output).toContain(`${settings}: 3 setting(s) to put right:`)
    expect(output).toContain('orders.gone: missing.')
    expect(output).toContain('orders.color: unknown setting')
    expect(output).toContain('auth.clockToleranceSeconds:')
    expect(output.trim().split('\n')).toHaveLength(4)
  })

  test.each([
    ['a stage that nobody knows', { stage: 'staging' }, /^there is no stage 'staging': choose one of .*\n$/],
    ['no stage', {}, /^no stage given: choose one of .*\n$/],
    ['a stage on AWS without a profile', { stage: 'prod' }, /^stage prod needs a settings profile: .*\n$/],
    [
      'a profile that is not there',
      { stage: 'prod', settings: '/none.json' },
      /^\/none\.json: there is no .*\n$/,
    ],
  ])('%s', async (_case, context, message) => {
    const { code, output } = await runApp(context)
    expect(code).toBe(1)
    expect(output).toMatch(message)
  })

  test('operations that there are not, in every setting that names some', async () => {
    const published = await publishedProfile()
    const settings = await profile({
      ...published,
      'auth.mfa': { operations: ['refund.create'], claim: 'amr', value: 'mfa' },
      'auth.scopes': { 'orders.make': 'orders:write' },
      'auth.sessionOperations': ['discount.verify', 'discount.check'],
      'idempotency.requiredOn': ['codes.restored'],
      'limits.other': { 'login.signin': { limit: 1, windowSeconds: 1, per: 'principal' } },
      'versioning.sunset': {
        ...(published['versioning.sunset'] as object),
        deprecated: {
          'orders.reads': { deprecatedAt: '2026-01-01', sunsetAt: '2026-07-01' },
          'orders.read': { deprecatedAt: '2026-01-01', sunsetAt: '2026-06-29' },
        },
      },
    })
    const { code, output } = await runApp({ stage: 'prod', settings })
    expect(code).toBe(1)
    expect(output.split('\n').slice(0, 8)).toEqual([
      `${settings}: 7 setting(s) to put right:`,
      '  auth.mfa: there is no operation refund.create',
      '  auth.scopes: there is no operation orders.make',
      '  auth.sessionOperations: there is no operation discount.check',
      '  idempotency.requiredOn: there is no operation codes.restored',
      '  limits.other: there is no operation login.signin',
      '  versioning.sunset: there is no operation orders.reads',
      '  versioning.sunset: orders.read ends 179 days after its deprecation, but callers are promised 180',
    ])
    expect(output).toContain('The operations are codes.bulk-update, ')
  })

  test.each([
    ['prod', ['auth.issuers', 'cors.allowedOrigins', 'refunds.provider', 'auth.issuers']],
    ['dev', ['auth.issuers', 'refunds.provider', 'auth.issuers']],
  ])('the addresses and the key of this machine on the stage %s', async (stage, named) => {
    const settings = join(root, 'shared/settings/profiles/local.json')
    const { code, output } = await runApp({ stage, settings })
    expect(code).toBe(1)
    expect([...output.matchAll(/^ {2}([\w.]+)/gm)].map(([, key]) => key)).toEqual(named)
    expect(output).toContain(`http://127.0.0.1:4577 is on this machine; stage ${stage} is not.`)
    expect(output).toMatch(/auth\.issuers at 0\.keys: .* or, on the local stage, 'development'/)
    expect(output).not.toMatch(/^\s+at /m)
  })
})

test('two syntheses of the same sources and settings are equal, and carry the code of every function', async () => {
  const settings = await profile(await publishedProfile())
  const assemblies = ['first', 'second'].map((name) => join(scratch, name))
  const runs = await Promise.all(assemblies.map((assembly) => runApp({ stage: 'prod', settings }, assembly)))
  expect(runs).toEqual(runs.map(() => ({ code: 0, output: '' })))
  const [first, second] = await Promise.all(
    assemblies.map((assembly) => readFile(join(assembly, 'commerce-prod.template.json'), 'utf8')),
  )
  expect(second).toBe(first)
  for (const name of Object.keys(functionEntries())) {
    expect(existsSync(join(scratch, 'first/functions', name, 'index.mjs'))).toBe(true)
  }
  const { outputs } = JSON.parse(await readFile(join(scratch, 'first/functions/metafile.json'), 'utf8'))
  const withCognito = Object.entries(outputs as Record<string, { inputs: object }>).flatMap(
    ([file, { inputs }]) =>
      Object.keys(inputs).some((input) => input.includes('client-cognito')) ? [file.split('/').at(-2)] : [],
  )
  expect(withCognito.toSorted()).toEqual(['login.send-reset', 'login.sign-in'])
}, 180_000)

async function profile(settings: object): Promise<string> {
  const directory = await mkdtemp(join(scratch, 'profile-'))
  const file = join(directory, 'profile.json')
  await writeFile(file, JSON.stringify(settings))
  return file
}

interface Run {
  code: number
  output: string
}

/** Runs the app as the CDK command line does. */
function runApp(context: Record<string, string>, assembly = join(scratch, 'refused')): Promise<Run> {
  const env = { PATH: process.env.PATH, CDK_CONTEXT_JSON: JSON.stringify(context), CDK_OUTDIR: assembly }
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/app.ts'], { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr })
    })
  })
}
