import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import semver from 'semver'
import { naming } from '#test/support/naming.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFile(join(root, file), 'utf8')

/** Runs the setup of the tests with Node 18 and nothing on the PATH, and returns its exit code and output. */
function setUp(): Promise<{ code: unknown; output: string }> {
  const env = { PATH: '/nowhere', npm_config_user_agent: 'npm/10.0.0 node/v18.20.0 linux x64' }
  const script = `import(${JSON.stringify(join(root, 'test/tooling/global-setup.mjs'))}).then(({ default: start }) => start())`
  return new Promise((resolve) => {
    execFile(process.execPath, ['-e', script], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code, output: stdout + stderr }),
    )
  })
}

describe('a machine that lacks every program', () => {
  let run: Awaited<ReturnType<typeof setUp>>
  beforeAll(async () => {
    run = await setUp()
  })

  test('ends the tests before the first one', () => {
    expect(run.code).toBe(1)
  })

  test('lists all missing programs, without a stack trace', () => {
    const [problems = ''] = run.output.split('\n\n')
    expect(problems.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(naming('Node 20.17 … 18.20.0')),
      expect.stringMatching(naming('Python 3.10')),
    ])
  })

  test.each(['Debian', 'Ubuntu', 'macOS'])('names the commands that install them on %s', (system) => {
    const [, commands = ''] = run.output.split(`${system}:\n`)
    expect(commands.split('\n').slice(0, 2)).toEqual(
      Array.from({ length: 2 }, () => expect.stringMatching(/^ {2}\w/)),
    )
  })
})

describe('the version of Node', () => {
  const pinned = async () => JSON.parse(await read('package.json')).devDependencies.node as string

  test.each([
    ['README.md', 'package.json'],
    ['docs/deployment.md', 'package.json'],
    ['client/README.md', 'client/package.json'],
  ])('in %s is the oldest of %s', async (page, manifest) => {
    const { engines } = JSON.parse(await read(manifest))
    expect(await read(page)).toContain(`Node ${engines.node.replace('>=', '')}`)
  })

  test('in README.md is that of node_modules, too', async () => {
    expect(await read('README.md')).toContain(`Node ${semver.major(await pinned())}`)
  })

  test.each([
    ['.nvmrc', /^(\d+)$/m],
    ['docs/examples/github-actions.yml', /node-version: (\d+)/],
  ])('in %s is that of node_modules', async (file, pattern) => {
    expect(pattern.exec(await read(file))?.[1]).toBe(String(semver.major(await pinned())))
  })

  test('in node_modules is supported by every package', async () => {
    const version = await pinned()
    const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Record<string, Package> }
    const unsupported = Object.entries(packages).filter(
      ([, { engines }]) => engines?.node && !semver.satisfies(version, engines.node),
    )
    expect(unsupported).toEqual([])
  })
})

describe('npm ci', () => {
  test('asks about no install script', async () => {
    const { allowScripts } = JSON.parse(await read('package.json'))
    const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Record<string, Package> }
    const scripts = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript)
    const names = scripts.map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(Object.keys(allowScripts)).toEqual(expect.arrayContaining(names))
  })
})

interface Package {
  engines?: { node?: string }
  hasInstallScript?: boolean
}
