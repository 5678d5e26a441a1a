import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { pythonPackage } from '#test/support/python-package.ts'
import { blocksOf } from './checkout.ts'
import type { Deployment } from './deployment.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

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

/** A client that another project's tool generates from openapi.json, as the guide says, on the deployed stack. */
export function generatedClients(deployment: () => Deployment): void {
  let folder: string
  let report: string
  let results: Results
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'generated-client-'))
    await copyFile(join(root, 'openapi.json'), join(folder, 'openapi.json'))
    const guide = await readFile(join(root, 'bin/reference/guide.md'), 'utf8')
    const [lines = ''] = blocksOf(guide, 'Clients')
    const [, version = ''] = /openapi-python-client==(\S+)/.exec(lines) ?? []
    const programs = join(await pythonPackage('openapi-python-client', version), 'bin')
    const generated = await run('bash', ['-e', '-c', lines], {
      cwd: folder,
      env: { ...process.env, PATH: `${programs}:${process.env.PATH}` },
    })
    report = generated.stdout + generated.stderr
    const used = run(join(programs, 'python'), [join(import.meta.dirname, 'generated-client.py')])
    const { base_url, token } = deployment()
    const who = { tenant: 'generated', scope: 'codes:read codes:write' }
    const input = { folder: join(folder, 'commerce-api-client'), base_url, token: await token(who) }
    used.child.stdin?.end(JSON.stringify(input))
    results = JSON.parse((await used).stdout)
  }, 180_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('the generator skips no operation', () => {
    expect(report).not.toMatch(/warning|error/i)
  })

  test('the Python client creates an order', () => {
    expect(results.created).toEqual([201, 'stored'])
  })

  test('the Python client repeats a request and gets the same response', () => {
    expect(results.replayed).toEqual([201, 'replayed'])
    expect(results.same).toBe(true)
  })

  test('the Python client gets a typed error', () => {
    expect(results.error).toBe('CONFLICT.idempotency.payload_mismatch')
  })

  test('the Python client reads an order', () => {
    expect(results.read).toBe(1)
  })

  test('the Python client pages through the orders', () => {
    const [first = '', second = '', third = ''] = results.orders
    expect(results.pages).toEqual([[third, second], [first]])
  })

  test('the Python client imports a file of customers', () => {
    expect(results.customers).toMatchObject({
      state: 'succeeded',
      result: { counts: { total: 2, succeeded: 1, failed: 1 } },
    })
  })

  test('the Python client imports a file of codes', () => {
    expect(results.codes.counts).toEqual({ total: 1, succeeded: 1, failed: 0 })
  })
}
