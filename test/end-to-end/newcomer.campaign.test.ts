import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isHealthy } from '#bin/local/engine.ts'
import { localAwsEnvironment } from '#bin/local/environment.ts'
import { publishedProfile } from '#test/infrastructure/published-profile.ts'
import { startBrowser } from '#test/support/browser.ts'
import { freePort } from '#test/support/free-port.ts'
import { outputsOf, patternOf, scriptOf, walkthroughOf } from '#test/support/walkthrough.ts'
import { blocksOf, type Checkout, checkout } from './checkout.ts'
import { sendFromReference } from './reference-page.ts'

let here: Checkout
let readme: string
let port: number
let started: ReturnType<typeof spawn>
let output = ''

beforeAll(async () => {
  here = await checkout()
  readme = here.file('README.md')
  port = await freePort()
  started = spawn('npm', ['start', '--', '--port', String(port)], {
    cwd: here.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [started.stdout, started.stderr]) stream?.on('data', (text) => (output += text))
  while (!output.includes('Ready in') && started.exitCode === null) await sleep(200)
  if (started.exitCode !== null) throw new Error(output)
}, 600_000)
afterAll(async () => {
  if (started.exitCode === null) started.kill('SIGINT')
  await here.remove()
})

const serviceFile = () => join(here.folder, '.local/service.json')

describe('npm start', () => {
  test('matches the description in the README', () => {
    expect(blocksOf(readme, 'Run it')[0]).toContain('npm ci && npm start')
  })

  test('ends with lines that work when pasted', async () => {
    const pasted = output.split('\n').filter((line) => /^(BASE_URL|TOKEN)=|^curl /.test(line))
    expect(pasted).toHaveLength(5)
    const { stdout } = await here.shell(pasted.map((line) => `${line}; echo`).join('\n'))
    const [created, read, list] = stdout.split('\n').filter((line) => line.startsWith('{'))
    expect(JSON.parse(created ?? '')).toMatchObject({ cart_id: 'cart-1', status: 'active' })
    expect(read).toBe(created)
    expect(JSON.parse(list ?? '').data).toEqual([JSON.parse(created ?? '')])
  })

  test('prints the address of the service', () => {
    const service = JSON.parse(here.file('.local/service.json'))
    expect(service).toMatchObject({ aws_endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1' })
    expect(Object.keys(service)).toEqual([
      'base_url',
      'aws_endpoint',
      'region',
      'table',
      'event_bus',
      'provider_url',
      'webhook_secret',
      'outputs',
    ])
  })

  test('deploys templates that a second deployment would not change', async () => {
    const diff = 'npx cdk diff --fail -c stage=local --output diff.out --no-notices --ci'
    const { output: said } = await here.shell(diff, localAwsEnvironment(`http://127.0.0.1:${port}`))
    expect(said).toContain('Number of stacks with differences: 0')
  })

  test('reports a port that is in use', async () => {
    const second = await here.shell(`npm start -- --port ${port}`)
    expect([second.code, second.output]).toEqual([1, expect.stringContaining(String(port))])
  })
})

describe('a user who follows the README', () => {
  test('creates an order in a shell, and gets a replay', async () => {
    const [request = ''] = blocksOf(readme, 'A first request')
    const first = await here.shell(request)
    expect(first.output).toMatch(/^HTTP\/1.1 201.*idempotency-status: stored.*"cart_id":"cart-1"/is)
    const again = await here.shell(request)
    expect(again.output).toMatch(/^HTTP\/1.1 201.*idempotency-status: replayed/is)
    const body = ({ stdout }: { stdout: string }) => stdout.split('\n').at(-1)
    expect(body(again)).toBe(body(first))
    const other = await here.shell(request.replace('1999', '2000'))
    expect(other.output).toMatch(/^HTTP\/1.1 409.*CONFLICT\.idempotency\.payload_mismatch/is)
  })

  test('creates an order from the reference page', async () => {
    const [, address = ''] = /API reference.*: (http\S+)/.exec(output) ?? []
    const browser = await startBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(address)
      const shown = await sendFromReference(page, 'orders/POST/v1/orders')
      expect(shown).toMatch(/201 Created[\s\S]*idempotency-status\s+stored[\s\S]*"status": "active"/i)
    } finally {
      await browser.close()
    }
  })

  test('creates an order from the client', async () => {
    const [request = '', program = '', run = ''] = blocksOf(readme, 'A first request')
    const [, name = ''] = /^\/\/ (\S+\.ts)/.exec(program) ?? []
    here.write(name, program)
    const { output: said } = await here.shell(`${request.replace(/^curl[\s\S]*/m, '')}\n${run}`)
    const [placed = '', ...listed] = said.trim().split('\n')
    const [, id = ''] = /^(\S+) is active, stored now$/.exec(placed) ?? []
    expect(listed).toContainEqual(expect.stringContaining(id))
    expect(listed.length).toBeGreaterThanOrEqual(3)
  })

  test('imports a file of customers, and gets the number of the invalid row', async () => {
    const [, , , lines = ''] = blocksOf(readme, 'A first request')
    const { code, stdout } = await here.shell(lines)
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'PARTIAL',
      total: 2,
      succeeded: 1,
      rejects: [{ row: 2, code: 'VALIDATION.email', field: 'email' }],
    })
    expect(code).toBe(1)
  })

  test('reads the meaning of each alarm and its place on the dashboard', async () => {
    const [lines = ''] = blocksOf(readme, 'Operating it')
    expect((await here.shell(lines)).code).toBe(0)
    const runbook = here.file('runbook.md')
    expect(runbook).toContain('## page-OrdersCreate')
    expect(runbook).toContain('orders.create: latency (ms)')
  })
})

describe('a walkthrough runs as it is written', () => {
  const folder = join(import.meta.dirname, '../../docs/guides')
  const files = readdirSync(folder).filter((file) =>
    /^```sh$/m.test(readFileSync(join(folder, file), 'utf8')),
  )

  test.each(files)(
    '%s',
    async (file) => {
      const walkthrough = walkthroughOf(here.file(`docs/guides/${file}`))
      for (const [name, text] of Object.entries(walkthrough.files)) here.write(name, text)
      const { code, stdout, output: said } = await here.shell(scriptOf(walkthrough))
      if (code !== 0) throw new Error(said)
      const outputs = outputsOf(stdout)
      for (const [at, { expected }] of walkthrough.steps.entries())
        if (expected !== undefined) expect(outputs[at]).toMatch(patternOf(expected))
    },
    120_000,
  )
})

test('synthesizes a production stage, after the profile was rejected for local values', async () => {
  const [copying = ''] = blocksOf(readme, 'Deploying to AWS')
  const refused = await here.shell(copying)
  expect(refused.code).toBe(1)
  const named = refused.output.matchAll(/^ {2}([\w.]+)/gm)
  expect(new Set([...named].map(([, setting]) => setting))).toEqual(
    new Set([
      'auth.issuers',
      'cors.allowedOrigins',
      'imports.maxBytes',
      'limits.webAcl',
      'mail.domain',
      'otp.mail',
      'refunds.account',
      'refunds.provider',
    ]),
  )
  expect(refused.output).not.toMatch(/^\s+at /m)

  here.write('prod.json', JSON.stringify(await publishedProfile()))
  const synth = copying.split('\n').find((line) => line.includes('cdk synth')) ?? ''
  expect(await here.shell(synth)).toMatchObject({ code: 0 })
  const templates = readdirSync(join(here.folder, 'cdk.out')).filter((name) =>
    name.endsWith('.template.json'),
  )
  const all = templates.map((name) => here.file(`cdk.out/${name}`)).join()
  for (const text of ['"TableName"', '"DashboardName": "commerce-prod"', '"AWS::KMS::Key"'])
    expect(all).toContain(text)
}, 600_000)

test('ends npm start with Ctrl-C, and leaves nothing running', async () => {
  const ended = once(started, 'close')
  started.kill('SIGINT')
  await ended
  expect(await isHealthy(`http://127.0.0.1:${port}`)).toBe(false)
  expect(existsSync(serviceFile())).toBe(false)
})
