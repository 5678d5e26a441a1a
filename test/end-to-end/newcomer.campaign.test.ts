import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { isHealthy } from '#bin/local/engine.ts'
import { type LocalAws, localAwsEnvironment } from '#bin/local/environment.ts'
import { awsAccessOf } from '#bin/local/service-file.ts'
import { startBrowser } from '#test/support/browser.ts'
import { freePort } from '#test/support/free-port.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import {
  codeOf,
  outputsOf,
  patternOf,
  scriptOf,
  type Walkthrough,
  walkthroughOf,
} from '#test/support/walkthrough.ts'
import { blocksOf, type Checkout, changeProfile, checkout, type Ran } from './checkout.ts'
import { sendFromReference } from './reference-page.ts'
import { patience } from './until.ts'

let here: Checkout
let readme: string
let port: number
let aws: LocalAws
let first: Run

beforeAll(async () => {
  here = checkout()
  await changeProfile(here)
  readme = here.file('README.md')
  port = await freePort()
  first = await startRun(port)
  aws = access()
})
afterAll(async () => {
  await first?.end()
  await here.remove()
})

/** A run of `npm start`. */
interface Run {
  /** Returns what it has printed. */
  printed(): string
  /** Ends it with Ctrl-C. */
  end(): Promise<void>
}

/** Starts a run in the checkout, and waits until it is ready. */
async function startRun(port: number): Promise<Run> {
  let output = ''
  const child = spawn('npm', ['start', '--', '--port', String(port)], {
    cwd: here.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  while (!output.includes('Ready in') && child.exitCode === null) await sleep(200)
  if (child.exitCode !== null) throw new Error(output)
  return {
    printed: () => output,
    async end() {
      if (child.exitCode === null) child.kill('SIGINT')
      await closed
    },
  }
}

const serviceFile = () => join(here.folder, '.local/service.json')
const access = () => awsAccessOf(JSON.parse(here.file('.local/service.json')))

describe('npm start', () => {
  test('matches the description in the README', () => {
    expect(blocksOf(readme, 'Run it')[0]).toContain('npm ci && npm start')
  })

  test('ends with lines that work when pasted', async () => {
    const pasted = first
      .printed()
      .split('\n')
      .filter((line) => /^(BASE_URL|TOKEN)=|^curl /.test(line))
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
      'access_key_id',
      'secret_access_key',
      'table',
      'event_bus',
      'provider_url',
      'webhook_secret',
      'outputs',
    ])
  })

  test('deploys templates that a second deployment would not change', async () => {
    // --port has moved the addresses in the profile.
    const profile = `.build/local/${port}/profile.json`
    const diff = `npx cdk diff --fail -c stage=local -c settings=${profile} --output diff.out --no-notices --ci`
    const { output: said } = await here.shell(diff, localAwsEnvironment(aws))
    expect(said).toContain('Number of stacks with differences: 0')
  })

  test('reports a port that is in use', async () => {
    const second = await here.shell(`npm start -- --port ${port}`)
    expect([second.code, second.output]).toEqual([1, expect.stringContaining(String(port))])
  })
})

describe('a second run in the same checkout', () => {
  let second: Run
  let port: number
  beforeAll(async () => {
    port = await freePort()
    second = await startRun(port)
  })
  afterAll(() => second?.end())
  /** Returns the status of each address that a run prints. */
  const statuses = async (text: string) => {
    const addresses = [...text.matchAll(/(?:: |BASE_URL=)(http:\S+)/g)].map(([, address = '']) => address)
    return Promise.all(
      addresses.map(async (address) => {
        const url = address.endsWith('_user_request_') ? `${address}/health` : address
        return (await fetch(url)).status
      }),
    )
  }

  test('serves its API, pages, console and payment provider', async () => {
    expect(await statuses(second.printed())).toEqual([200, 200, 200, 200])
  })

  test('leaves those of the first alone', async () => {
    expect(await statuses(first.printed())).toEqual([200, 200, 200, 200])
  })

  test('is the one that commands use', () => {
    expect(access().endpoint).toBe(`http://127.0.0.1:${port}`)
  })

  test('is left to the first when it ends', async () => {
    await second.end()
    expect(access()).toMatchObject({ endpoint: aws.endpoint })
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

  test('sends each kind of request from the reference page, with a new key each time', async () => {
    const [, address = ''] = /API reference.*: (http\S+)/.exec(first.printed()) ?? []
    const browser = await startBrowser()
    try {
      const page = await browser.newPage()
      page.setDefaultTimeout(patience)
      await page.goto(address)
      const send = (operation: string) => sendFromReference(page, operation)
      for (let n = 0; n < 2; n += 1)
        expect(await send('orders/POST/v1/orders')).toMatch(
          /201 Created[\s\S]*idempotency-status\s+stored[\s\S]*"status": "active"/i,
        )
      expect(await send('orders/GET/v1/orders')).toContain('200 OK')
      expect(await send('refunds/POST/v1/refunds')).toContain('201 Created')
      expect(await send('codes/POST/codes')).toContain('201 Created')
      expect(await send('discounts/POST/discount/verify')).toContain('200 OK')
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

  test('makes a user, logs in and places an order with the token, as on the stage dev', async () => {
    const [, lines = ''] = blocksOf(readme, 'Deploying to AWS')
    const { output } = await here.shell(lines.replaceAll(' --stack commerce-dev', ''))
    expect(output).toMatch(/"role":"Editor","created":true/)
    expect(output).toMatch(/HTTP\/1.1 201.*idempotency-status: stored.*"tenant_id":"acme"/is)
  })

  test('forwards the event of an order to an endpoint, signed with the secret that the command prints', async () => {
    const received: { headers: Record<string, string>; body: string }[] = []
    const { port, stop } = await startHttpServer(async (request, response) => {
      received.push({ headers: request.headers as Record<string, string>, body: await text(request) })
      response.writeHead(204).end()
    })
    try {
      const [listen = ''] = blocksOf(readme, 'Receive events')
      const line = listen.replace('localhost:3000', `127.0.0.1:${port}`).trim()
      let forwarded: Ran | undefined
      const listening = here.shell(`${line} --limit 1`).then((ran) => {
        forwarded = ran
      })
      // The command may not have subscribed when an order is placed.
      const [order = ''] = blocksOf(readme, 'A first request')
      for (let number = 1; !forwarded; number += 1)
        await here.shell(order.replace('first', `forwarded-${number}`))
      await listening
      expect(JSON.parse(forwarded.stdout)).toMatchObject({ type: 'order.placed', status: 204 })
      const webhook = new Webhook(/whsec_\S+/.exec(forwarded.output)?.[0] ?? '')
      const verified = received.map(({ body, headers }) => webhook.verify(body, headers))
      expect(verified).toMatchObject([{ type: 'order.placed' }])
    } finally {
      await stop()
    }
  })

  test('reads the meaning of each alarm and its place on the dashboard', async () => {
    const [lines = ''] = blocksOf(readme, 'Operating it')
    expect((await here.shell(lines)).code).toBe(0)
    const runbook = here.file('runbook.md')
    expect(runbook).toContain('## OrdersCreateFailing')
    expect(runbook).toContain('orders.create: latency (ms)')
  })
})

describe('a walkthrough runs as it is written', () => {
  const folder = join(import.meta.dirname, '../../docs/guides')
  const files = readdirSync(folder).filter((file) =>
    /^```sh$/m.test(readFileSync(join(folder, file), 'utf8')),
  )

  test.each(files)('%s', async (file) => {
    const page = here.file(`docs/guides/${file}`).replaceAll('3000', String(await freePort()))
    await runAsWritten(walkthroughOf(page))
  })
})

/** Runs a page. @param before the lines that set what the page calls given */
async function runAsWritten(walkthrough: Walkthrough, before = ''): Promise<string[]> {
  for (const [name, text] of Object.entries(walkthrough.files)) here.write(name, text)
  const { code, stdout, output: said } = await here.shell(before + scriptOf(walkthrough))
  if (code !== 0) throw new Error(said)
  const outputs = outputsOf(stdout)
  for (const [at, { expected }] of walkthrough.steps.entries())
    if (expected !== undefined) expect(outputs[at]).toMatch(patternOf(expected))
  return outputs
}

test('the served guide runs as it is written', async () => {
  const [, address = ''] = /API reference.*: (http\S+)/.exec(first.printed()) ?? []
  const page = await (await fetch(new URL('guide.html', address))).text()
  // The campaign of the generated clients runs the lines that generate them.
  const sections = page.split(/(?=<h2)/).filter((section) => !/^<h2[^>]*>Clients</.test(section))
  const outputs = await runAsWritten(
    walkthroughOf(codeOf(sections.join(''))),
    `eval "$(npx commerce env --tenant guide)"
    SECRET=$(npx commerce webhook secret)\n`,
  )
  expect(outputs).toHaveLength(2)
  expect(outputs[0]).toMatch(/^HTTP\/1.1 201.*idempotency-status: stored/is)
})

test('checks the profiles of the examples and synthesizes all stages on AWS', async () => {
  // Who copies an example sets an account and names in it: a synthesis refuses those of the example.
  const blocks = blocksOf(readme, 'Deploying to AWS')
  const blockOf = (stage: string) =>
    (blocks.find((lines) => lines.includes(`profile-${stage}.json`)) ?? '').replace(
      /cp \S+ (profiles\/\S+)/,
      "$&\nsed -i.bak 's/111122223333/222233334444/; s/acme[.]cloud/acme.dev/g' $1",
    )
  const [dev, prod] = [blockOf('dev'), blockOf('prod')]
  const without = (lines: string, ...parts: string[]) =>
    lines
      .split('\n')
      .filter((line) => !parts.some((part) => line.includes(part)))
      .join('\n')
  const synthesis = dev.match(/cdk deploy --all (.*)/)?.[1]
  const checked = await here.shell(
    `${without(dev, 'cdk bootstrap', 'cdk deploy')}\nnpx cdk synth -q ${synthesis}`,
  )
  expect(checked).toMatchObject({ code: 0, output: expect.stringContaining('"decided":1') })
  expect(await here.shell(prod)).toMatchObject({ code: 0 })
  const staging = prod.replaceAll(/(profiles\/|stage[ =])prod/g, '$1staging')
  expect(await here.shell(staging)).toMatchObject({ code: 0 })
  const templates = readdirSync(join(here.folder, 'cdk.out')).filter((name) =>
    name.endsWith('.template.json'),
  )
  const all = templates.map((name) => here.file(`cdk.out/${name}`)).join()
  for (const text of ['"TableName"', '"DashboardName": "commerce-prod-eu-west-1"', '"AWS::KMS::Key"'])
    expect(all).toContain(text)
})

test('ends npm start with Ctrl-C, and leaves nothing running', async () => {
  await first.end()
  expect(await isHealthy(aws)).toBe(false)
  expect(existsSync(serviceFile())).toBe(false)
})
