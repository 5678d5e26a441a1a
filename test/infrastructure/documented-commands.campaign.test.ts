import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { compileCache } from '#test/support/compile-cache.ts'
import { naming } from '#test/support/naming.ts'
import { deployedProfile } from './published-profile.ts'

/** Each command is a process, and one of them synthesizes. */
const root = join(import.meta.dirname, '../..')
const ofDocs = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))
const pages = ['README.md', 'CHANGELOG.md', ...ofDocs.map((name) => `docs/${name}`)]
const texts = await Promise.all(pages.map((name) => readFile(join(root, name), 'utf8')))
const named = texts.flatMap((text) => text.match(/npx cdk [^`#\n]*[^`#\s]/g) ?? [])
/** Documented profiles are replaced by one that is deployed, and documented folders by that of the test. */
const commands = [
  ...new Set(
    named.map((command) =>
      command.replace(/settings=\S+/, 'settings=PROFILE').replace(/ (?:-o|--app) cdk\S+/, ''),
    ),
  ),
]
/** Without the context of the app, which commands on a synthesized output ignore. */
const withoutContext = (all: string[]) => [...new Set(all.map((command) => command.replace(/ -c \S+/g, '')))]
const ofKind = (kind: string) => commands.filter((command) => command.startsWith(`npx cdk ${kind} `))
const flags = new Set(
  commands.flatMap((command) => command.match(/(?<=-c )(?!stage=|settings=|release=)\S+/g) ?? []),
)
const contextOf = (flag: string) => Object.fromEntries([flag.split('=')])

const scratch = await mkdtemp(join(tmpdir(), 'commerce-commands-'))
const profile = join(scratch, 'profile.json')
const assembly = join(scratch, 'cdk.out')
beforeAll(async () => {
  await writeFile(profile, JSON.stringify(await deployedProfile()))
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

/** No account: there are no credentials, and nothing listens at the endpoint. */
const env = {
  ...compileCache,
  PATH: process.env.PATH,
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  AWS_REGION: 'eu-west-1',
  AWS_EC2_METADATA_DISABLED: 'true',
  CDK_DISABLE_CLI_TELEMETRY: 'true',
  CDK_DISABLE_VERSION_CHECK: '1',
}

interface Run {
  code: number
  output: string
}

function run(command: string, ...more: string[]): Promise<Run> {
  const [, , ...words] = command
    .replace('PROFILE', profile)
    .split(' ')
    .map((word) => (word === "''" ? '' : word))
  return node([join(root, 'node_modules/aws-cdk/bin/cdk'), ...words, ...more, '--no-notices'])
}

/** Runs the app like the CDK command line, which takes twice as long. */
function runApp(context: Record<string, string>): Promise<Run> {
  return node(['bin/app.ts'], {
    CDK_CONTEXT_JSON: JSON.stringify({ stage: 'prod', release: 'r1', ...context }),
    CDK_OUTDIR: assembly,
  })
}

function node(args: string[], more: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve) => {
    const options = { cwd: root, env: { ...env, HOME: scratch, ...more } }
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })
}

const usageError = /Specify an environment name|Unknown (option|argument|command)|Usage:/

test('the pages contain a command of each kind, and no other', () => {
  const kinds = ['bootstrap', 'synth', 'diff', 'deploy'].map(ofKind)
  expect(kinds.filter((one) => one.length === 0)).toEqual([])
  expect(kinds.flat().sort()).toEqual([...commands].sort())
})

test.each(ofKind('bootstrap'))('`%s` runs until it needs the account', async (command) => {
  const { output } = await run(command)
  expect(output).not.toMatch(usageError)
  expect(output).toContain('111122223333')
})

describe('one synthesis', () => {
  test.each(ofKind('synth'))('`%s` succeeds', async (command) => {
    expect(await run(command, '--output', assembly)).toEqual({ code: 0, output: expect.any(String) })
  })

  // They use the synthesized output.
  test.each(withoutContext([...ofKind('diff'), ...ofKind('deploy')]))(
    '`%s` fails for the missing credentials',
    async (command) => {
      const { code, output } = await run(command, '--app', assembly)
      expect(output).not.toMatch(usageError)
      expect(output).toContain('no credentials have been configured')
      expect(code).toBe(1)
    },
  )
})

describe('the flags of the documented commands', () => {
  test('are accepted by the app', async () => {
    const { output } = await runApp(Object.assign({}, ...[...flags].map(contextOf)))
    expect(output).toMatch(naming('prod … profile'))
  })

  test.each([...flags])('`-c %s` has a fixed value', async (flag) => {
    const { output } = await runApp(contextOf(`${flag}-else`))
    expect(output).toContain(`-c ${flag}-else`)
  })
})
