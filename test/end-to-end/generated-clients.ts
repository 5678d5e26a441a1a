import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { pythonPackage } from '#test/support/python-package.ts'
import { blocksOf } from './checkout.ts'
import type { Deployment } from './deployment.ts'

const run = promisify(execFile)
const here = import.meta.dirname
const root = join(here, '../..')
const description = join(root, 'openapi.json')

/** The service that a client calls, and its token. */
interface Service {
  base_url: string
  token: string
}

/** What a client prints. */
interface Results {
  created: [number, string]
  replayed: [number, string]
  same: boolean
  error: string | null
  read: number
  orders: string[]
  pages: string[][]
  customers: { state: string; result: { counts: object } }
  codes: { counts: object }
}

const generators = { Python: pythonClient, Java: javaClient }

/** Clients that tools of other projects generate from openapi.json, on the deployed stack. */
export function generatedClients(deployment: () => Deployment): void {
  describe.each(Object.entries(generators))('a client in %s', (language, generate) => {
    let report: string
    let results: Results
    beforeAll(async () => {
      const { base_url, token } = deployment()
      const who = { tenant: `generated-${language.toLowerCase()}`, scope: 'codes:read codes:write' }
      const used = await generate({ base_url, token: await token(who) })
      report = used.report
      results = JSON.parse(used.output)
    }, 300_000)

    test('has every operation: the generator reports no problem', () => {
      expect(report).not.toMatch(/warn|error/i)
    })

    test('creates an order', () => {
      expect(results.created).toEqual([201, 'stored'])
    })

    test('repeats a request', () => {
      expect(results.replayed).toEqual([201, 'replayed'])
    })

    test('gets the same response to a repeated request', () => {
      expect(results.same).toBe(true)
    })

    test('gets a typed error', () => {
      expect(results.error).toBe('CONFLICT.idempotency.payload_mismatch')
    })

    test('reads an order', () => {
      expect(results.read).toBe(1)
    })

    test('pages through the orders', () => {
      const [first = '', second = '', third = ''] = results.orders
      expect(results.pages).toEqual([[third, second], [first]])
    })

    test('imports a file of customers', () => {
      expect(results.customers).toMatchObject({
        state: 'succeeded',
        result: { counts: { total: 2, succeeded: 1, failed: 1 } },
      })
    })

    test('imports a file of codes', () => {
      expect(results.codes.counts).toEqual({ total: 1, succeeded: 1, failed: 0 })
    })
  })
}

/** Generates the client with the lines of the guide, and uses it. */
async function pythonClient({ base_url, token }: Service): Promise<{ report: string; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'generated-client-'))
  try {
    await copyFile(description, join(folder, 'openapi.json'))
    const [lines = ''] = blocksOf(await readFile(join(root, 'bin/reference/guide.md'), 'utf8'), 'Clients')
    const [, version = ''] = /openapi-python-client==(\S+)/.exec(lines) ?? []
    const programs = join(await pythonPackage('openapi-python-client', version), 'bin')
    const env = { ...process.env, PATH: `${programs}:${process.env.PATH}` }
    const { stdout, stderr } = await run('bash', ['-e', '-c', lines], { cwd: folder, env })
    const using = run(join(programs, 'python'), [join(here, 'generated-client.py')])
    using.child.stdin?.end(JSON.stringify({ folder: join(folder, 'commerce-api-client'), base_url, token }))
    return { report: stdout + stderr, output: (await using).stdout }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Generates and compiles the client once for each description, and uses it. */
async function javaClient({ base_url, token }: Service): Promise<{ report: string; output: string }> {
  const files = [
    description,
    ...['pom.xml', 'GeneratedClient.java'].map((name) => join(here, 'java-client', name)),
  ]
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  const version = createHash('sha256').update(texts.join()).digest('hex').slice(0, 16)
  const folder = join(root, 'node_modules/.cache', `java-client-${version}`)
  const classpath = join(folder, 'classpath.txt')
  let report = ''
  if (!existsSync(classpath)) {
    const source = join(folder, 'src/main/java')
    await mkdir(source, { recursive: true })
    const [openapi = '', pom = '', program = ''] = files
    await copyFile(openapi, join(folder, 'openapi.json'))
    await copyFile(pom, join(folder, 'pom.xml'))
    await copyFile(program, join(source, 'GeneratedClient.java'))
    // The file of the class path is written last.
    const goals = ['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classpath}`]
    const { stdout, stderr } = await run('mvn', ['-B', '-q', ...goals], { cwd: folder })
    report = stdout + stderr
  }
  const path = `${join(folder, 'target/classes')}:${await readFile(classpath, 'utf8')}`
  const env = { PATH: process.env.PATH, BASE_URL: base_url, TOKEN: token }
  const { stdout } = await run('java', ['-cp', path, 'GeneratedClient'], { env })
  return { report, output: stdout }
}
