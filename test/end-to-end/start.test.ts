import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { isHealthy } from '#bin/local/engine.ts'
import { localAwsEnvironment, NODE_BIN } from '#bin/local/environment.ts'
import { SERVICE_FILE } from '#bin/local/service-file.ts'
import { freePort } from '#test/support/free-port.ts'

const root = join(import.meta.dirname, '../..')
/** That of a service which whoever runs the tests may have running. */
const kept = existsSync(SERVICE_FILE) ? readFileSync(SERVICE_FILE) : undefined
let port: number
let started: ReturnType<typeof spawn>
let output = ''

beforeAll(async () => {
  port = await freePort()
  started = spawn('npm', ['start', '--', '--port', String(port)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [started.stdout, started.stderr]) stream?.on('data', (text) => (output += text))
  while (!output.includes('Ready in') && started.exitCode === null) await sleep(200)
  if (started.exitCode !== null) throw new Error(output)
}, 180_000)
afterAll(() => {
  if (kept) writeFileSync(SERVICE_FILE, kept)
})

test('npm start ends with lines that work as they are when pasted', async () => {
  const pasted = output.split('\n').filter((line) => /^(BASE_URL|TOKEN)=|^curl /.test(line))
  expect(pasted).toHaveLength(5)
  const { stdout } = await promisify(execFile)('bash', [
    '-e',
    '-c',
    pasted.map((line) => `${line}; echo`).join('\n'),
  ])
  const [created, read, list] = stdout.split('\n').filter((line) => line.startsWith('{'))
  expect(JSON.parse(created ?? '')).toMatchObject({ cart_id: 'cart-1', status: 'active' })
  expect(read).toBe(created)
  expect(JSON.parse(list ?? '').data).toEqual([JSON.parse(created ?? '')])
})

test('it says where the service is', () => {
  const service = JSON.parse(readFileSync(SERVICE_FILE, 'utf8'))
  expect(service).toMatchObject({ aws_endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1' })
  expect(Object.keys(service)).toEqual([
    'base_url',
    'aws_endpoint',
    'region',
    'table',
    'event_bus',
    'outputs',
  ])
})

test('deploying once more what is deployed would change nothing', async () => {
  const settings = join(root, 'shared/settings/profiles/local.json')
  const assembly = await mkdtemp(join(tmpdir(), 'commerce-diff-'))
  const context = ['-c', 'stage=local', '-c', `settings=${settings}`]
  const { stdout, stderr } = await promisify(execFile)(
    join(NODE_BIN, 'cdk'),
    ['diff', '--fail', '--app', 'node bin/app.ts', '--output', assembly, ...context, '--no-notices', '--ci'],
    {
      cwd: root,
      env: { ...localAwsEnvironment(`http://127.0.0.1:${port}`), CDK_DISABLE_VERSION_CHECK: '1' },
    },
  )
  await rm(assembly, { recursive: true })
  expect(`${stdout}${stderr}`).toContain('Number of stacks with differences: 0')
}, 120_000)

test('a second start on the port says that it is taken', async () => {
  const second = promisify(execFile)('node', ['bin/local/start.ts', '--port', String(port)], { cwd: root })
  await expect(second).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(String(port)) })
})

test('Ctrl-C ends it and leaves nothing running', async () => {
  const ended = once(started, 'close')
  started.kill('SIGINT')
  await ended
  expect(await isHealthy(`http://127.0.0.1:${port}`)).toBe(false)
  expect(existsSync(SERVICE_FILE)).toBe(false)
}, 60_000)
