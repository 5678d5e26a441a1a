import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import semver from 'semver'

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
    expect(problems.split('\n').slice(0, 4)).toEqual([
      'Node 22.18 or newer is required, but npm runs on 18.20.0.',
      'Python 3.10 or newer is required, but no Python was found.',
      'A JDK 17 or newer is required, but there is no javac on the PATH.',
      'Maven is required, but there is no mvn on the PATH.',
    ])
  })

  test.each(['Debian', 'Ubuntu', 'macOS'])('names the commands that install them on %s', (system) => {
    const [, commands = ''] = run.output.split(`${system}:\n`)
    expect(commands.split('\n').slice(0, 4)).toEqual(
      Array.from({ length: 4 }, () => expect.stringMatching(/^ {2}\w/)),
    )
  })
})

describe('npm ci', () => {
  test('warns about no package on the Node that the README names', async () => {
    const [, major, minor = '0'] = /Node (\d+)(?:\.(\d+))? or newer/.exec(await read('README.md')) ?? []
    const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Record<string, Package> }
    const unsupported = Object.entries(packages).filter(
      ([, { engines }]) => engines?.node && !semver.satisfies(`${major}.${minor}.0`, engines.node),
    )
    expect(unsupported).toEqual([])
  })

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
