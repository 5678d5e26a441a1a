import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { entryPoints } from '#lib/functions/function-names.ts'
import { compileCache } from '#test/support/compile-cache.ts'
import { naming } from '#test/support/naming.ts'
import { deployedProfile, publishedProfile } from './published-profile.ts'
import type { Template } from './synthesis.ts'

/** Each run of the app is a process, which loads CDK. */
const root = join(import.meta.dirname, '../..')

const release = 'r1'
const scratch = await mkdtemp(join(tmpdir(), 'commerce-app-'))

afterAll(() => rm(scratch, { recursive: true, force: true }))

describe('wrong settings are reported in one message, without a stack trace', () => {
  test('a missing, an unknown and a malformed setting together', async () => {
    const { 'orders.gone': _missing, ...rest } = await publishedProfile()
    const settings = await profile({ ...rest, 'orders.color': 'red', 'auth.clockToleranceSeconds': -1 })
    const { code, output } = await runApp({ stage: 'prod', settings, release })
    expect(code).toBe(1)
    expect(output).toContain(`${settings}: 3 problem(s) to fix:`)
    expect(output).toContain('orders.gone: missing.')
    expect(output).toContain('orders.color: unknown setting')
    expect(output).toContain('auth.clockToleranceSeconds:')
    expect(output.trim().split('\n')).toHaveLength(4)
  })

  test.each([
    ['an unknown stage', { stage: 'nowhere' }, /^there is no stage 'nowhere': choose one of .*\n$/],
    [
      'a missing profile',
      { stage: 'prod', release, settings: '/none.json' },
      /^\/none\.json: there is no .*\n$/,
    ],
  ])('%s', async (_case, context, message) => {
    const { code, output } = await runApp(context)
    expect(code).toBe(1)
    expect(output).toMatch(message)
  })

  test('an unknown operation, with the operations that there are', async () => {
    const mfa = { operations: ['refund.create'], claim: ['amr'], value: 'mfa' }
    const settings = await profile({ ...(await deployedProfile()), 'auth.mfa': mfa })
    const { code, output } = await runApp({ stage: 'prod', settings, release })
    expect(code).toBe(1)
    expect(output).toMatch(naming('auth.mfa … refund.create'))
    expect(output).toContain('codes.bulk-update, ')
  })
})

test.each([
  ['account', '444455556666', 'eu-west-1'],
  ['region', '222233334444', 'eu-central-1'],
])('credentials of another %s than that of the profile are refused', async (_, account, region) => {
  const settings = await profile(await deployedProfile())
  const { code, output } = await runApp({ stage: 'prod', settings, release }, undefined, root, {
    CDK_DEFAULT_ACCOUNT: account,
    CDK_DEFAULT_REGION: region,
  })
  expect(code).toBe(1)
  expect(output).toMatch(
    naming(`${account} … ${region} … 222233334444 … eu-west-1 … AWS_PROFILE … AWS_REGION`),
  )
})

test('an example that was not changed is refused, with each of its values', async () => {
  const settings = await profile(await publishedProfile())
  const { code, output } = await runApp({ stage: 'prod', settings, release })
  expect(code).toBe(1)
  expect(output).toMatch(naming('aws.environment … 111122223333'))
  for (const key of [
    'auth.issuers',
    'discount.cartOwners',
    'cors.allowedOrigins',
    'limits.webAcl',
    'mail.sender',
  ])
    expect(output).toMatch(naming(`${key} … acme.cloud`))
})

test('two syntheses of the same sources and settings are equal, regardless of their folders', async () => {
  const settings = await profile(await deployedProfile())
  const checkouts = { first: root, second: await anotherCheckout() }
  const runs = await Promise.all(
    Object.entries(checkouts).map(([name, checkout]) =>
      runApp({ stage: 'prod', settings, release }, join(scratch, name), checkout),
    ),
  )
  expect(runs).toEqual(runs.map(() => ({ code: 0, output: '' })))
  const [first, second] = await Promise.all(Object.keys(checkouts).map(deployedFiles))
  const { artifacts } = JSON.parse(await readFile(join(scratch, 'first/manifest.json'), 'utf8'))
  expect(artifacts['commerce-prod'].environment).toBe('aws://222233334444/eu-west-1')
  // The templates of the stack and of its nested stacks, and the assets, which are named by their hashes.
  const templates = Object.values(first ?? {}).filter((text) => text.includes('"Resources"'))
  const nested = templates.flatMap((text) => {
    const { Resources: resources } = JSON.parse(text) as Template
    return Object.values(resources).filter(({ Type }) => Type === 'AWS::CloudFormation::Stack')
  })
  expect(templates).toHaveLength(1 + nested.length)
  expect(Object.keys(first ?? {})).toHaveLength(1 + templates.length)
  expect(second).toEqual(first)
  const hashes = Object.keys(JSON.parse(first?.['commerce-prod.assets.json'] ?? '').files)
  expect(hashes.length).toBeGreaterThan(Object.keys(entryPoints()).length)
  for (const name of Object.keys(entryPoints())) {
    expect(existsSync(join(scratch, 'first/functions', name, 'index.mjs'))).toBe(true)
  }
  const { outputs } = JSON.parse(await readFile(join(scratch, 'first/functions/metafile.json'), 'utf8'))
  const withCognito = Object.entries(outputs as Record<string, { inputs: object }>).flatMap(
    ([file, { inputs }]) =>
      Object.keys(inputs).some((input) => input.includes('client-cognito')) ? [file.split('/').at(-2)] : [],
  )
  expect(withCognito.toSorted()).toEqual(['login.send-reset', 'login.sign-in'])
})

/** The files that the CDK command line deploys, from which it detects changes. */
async function deployedFiles(assembly: string): Promise<Record<string, string>> {
  const directory = join(scratch, assembly)
  const names = (await readdir(directory)).filter((name) => /\.(template|assets)\.json$/.test(name)).sort()
  const texts = names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const)
  return Object.fromEntries(await Promise.all(texts))
}

/** The sources in another folder, with the same packages. */
async function anotherCheckout(): Promise<string> {
  const checkout = join(scratch, 'checkout')
  for (const name of ['bin', 'functions', 'lib', 'shared', 'package.json', 'tsconfig.json']) {
    await cp(join(root, name), join(checkout, name), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'))
  return checkout
}

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

/** Runs the app like the CDK command line. */
function runApp(
  context: Record<string, string>,
  assembly = join(scratch, 'refused'),
  cwd = root,
  variables: Record<string, string> = {},
): Promise<Run> {
  const ofApp = { CDK_CONTEXT_JSON: JSON.stringify(context), CDK_OUTDIR: assembly }
  const env = { ...compileCache, PATH: process.env.PATH, ...ofApp, ...variables }
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/app.ts'], { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr })
    })
  })
}
