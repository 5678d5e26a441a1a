import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { compileCache } from '#test/support/compile-cache.ts'
import { clientTypes } from '#test/tooling/client-types.ts'

const execute = promisify(execFile)
const env = { ...process.env, ...compileCache }
const run = (command: string, args: string[], options: { cwd?: string } = {}) =>
  execute(command, args, { ...options, env })
const root = join(import.meta.dirname, '../..')
const client = join(root, 'client')

test('schema.ts is generated from openapi.json', async () => {
  const description = JSON.parse(await readFile(join(root, 'openapi.json'), 'utf8'))
  expect(await readFile(join(client, 'schema.ts'), 'utf8')).toBe(await clientTypes(description))
})

describe('the package', () => {
  /** A project outside the checkout that installs the packed client. */
  let project: string
  let file: string
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'client-consumer-'))
    const pack = ['run', '--silent', 'pack:client', '--', '--silent', '--pack-destination', project]
    const { stdout } = await run('npm', pack, { cwd: root })
    file = join(project, stdout.trim())
    await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }')
    await run('npm', ['install', '--no-audit', '--no-fund', file], { cwd: project })
  })
  afterAll(() => rm(project, { recursive: true, force: true }))

  test('contains the compiled files, the README and the license', async () => {
    const { stdout } = await run('tar', ['-tzf', file])
    const names = stdout.trim().split('\n')
    expect(names.filter((name) => !name.startsWith('package/dist/')).toSorted()).toEqual([
      'package/LICENSE',
      'package/README.md',
      'package/package.json',
    ])
    expect(names.filter((name) => /(?<!\.d)\.ts$/.test(name))).toEqual([])
  })

  test.each([
    ['publint', 'publint@0.3.25', ['publint', 'run', '--strict']],
    ['are-the-types-wrong', '@arethetypeswrong/cli@0.18.5', ['attw', '--profile', 'esm-only']],
  ])('%s reports no problem', async (_, pinned, command) => {
    const checked = await run('npm', ['exec', '--yes', `--package=${pinned}`, '--', ...command, file]).catch(
      ({ stdout, stderr }) => Promise.reject(new Error(stdout + stderr)),
    )
    expect(checked.stdout).not.toBe('')
  })

  test('works in JavaScript', async () => {
    const program = `
      import { CommerceError, commerceClient } from 'commerce-client'
      const order = { id: 'o1', status: 'active' }
      const fetch = async () => Response.json(order, { status: 201, headers: { 'Idempotency-Status': 'stored' } })
      const client = commerceClient({ baseUrl: 'http://localhost', token: 't', fetch })
      const body = { cart_id: 'c', amount_minor: 1, currency: 'EUR' }
      const { data, replayed } = await client.POST('/v1/orders', { body })
      console.log(data.id, replayed, CommerceError.name)`
    await writeFile(join(project, 'program.js'), program)
    const { stdout } = await run('node', ['--no-experimental-strip-types', 'program.js'], { cwd: project })
    expect(stdout.trim()).toBe('o1 false CommerceError')
  })

  test('has the named types in TypeScript', async () => {
    const program = `
      import { commerceClient, type DiscountCode, type Order, type OrderList, type Refund } from 'commerce-client'
      const client = commerceClient({ baseUrl: 'http://localhost' })
      export async function first(): Promise<Order | undefined> {
        const { data }: { data: OrderList } = await client.GET('/v1/orders')
        return data.data[0]
      }
      export const codeOf = ({ code }: DiscountCode): string => code
      export const amountOf = ({ amount }: Refund): number => amount
      export const wrong = ({ colour }: Order) => colour`
    await mkdir(join(project, 'src'))
    await writeFile(join(project, 'src/program.ts'), program)
    const compilerOptions = {
      ...{ module: 'nodenext', strict: true, noEmit: true, skipDefaultLibCheck: true },
      ...{ target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], types: [] },
    }
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run('node', [compiler, '-p', project]).catch((failed) => failed)
    // An order has no color, and nothing else is wrong.
    expect(stdout.match(/error TS.*/g)).toEqual([expect.stringContaining("'colour' does not exist")])
  })
})
