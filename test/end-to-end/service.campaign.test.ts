import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { commandActions } from '#bin/permissions/command-actions.ts'
import { listen } from './bus-listener.ts'
import { clientOverHttp } from './client-over-http.ts'
import { codesOverHttp } from './codes-over-http.ts'
import { consolePage } from './console-page.ts'
import { type Deployment, deploy, type HttpAnswer, type Send } from './deployment.ts'
import { generatedClients } from './generated-clients.ts'
import { identityOverHttp } from './identity-over-http.ts'
import { importsOverHttp } from './imports-over-http.ts'
import { localAwsOverHttp } from './local-aws-over-http.ts'
import { loginOverHttp } from './login-over-http.ts'
import { moneyOverHttp } from './money-over-http.ts'
import { operatorsOverHttp } from './operators-over-http.ts'
import { permissionsOverHttp } from './permissions-over-http.ts'
import { receiversOverHttp } from './receivers-over-http.ts'
import { recordedActions } from './recorded-actions.ts'
import { redriveOverHttp } from './redrive-over-http.ts'
import { referencePage } from './reference-page.ts'
import { routingOverHttp } from './routing-over-http.ts'
import { schemathesis } from './schemathesis.ts'
import { nothingLeaked } from './secrecy.ts'
import { subscribersOverHttp } from './subscribers-over-http.ts'

/** Commands that these tests do not run. Others compare the calls of some of them, or run their code with recorded answers. */
const runElsewhere = [
  'url',
  'runbook',
  'events replay',
  'orders erase',
  'subscribers re-encrypt',
  'tenants purge',
  'holds set',
  'holds list',
  'holds release',
  'tenants block',
  'tenants unblock',
  'tenants blocked',
  'dead-letters list',
  'dead-letters show',
  'dead-letters discard',
  'table restore',
  'table carry-over',
  'freeze',
  'unfreeze',
  'addresses list',
  'addresses block',
  'addresses unblock',
  'preflight',
  'rollback',
  'releases list',
  'releases prune',
]

let service: Deployment
let listener: Awaited<ReturnType<typeof listen>>
beforeAll(async () => {
  service = await deploy()
  listener = await listen(service)
}, 600_000)
afterAll(async () => {
  await listener?.close()
  await service?.stop()
})

const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' }
const place = (key: string, options: Send = {}) =>
  service.send('/v1/orders', {
    method: 'POST',
    body: order,
    ...options,
    headers: { 'Idempotency-Key': key, ...options.headers },
  })

describe('discount codes over HTTP on the deployed stack', () => codesOverHttp(() => service))
describe('imports over HTTP on the deployed stack', () => importsOverHttp(() => service))

describe('the client on the deployed stack', () => clientOverHttp(() => service))

describe('generated clients on the deployed stack', () => generatedClients(() => service))

describe('refunds, webhooks and discounts over HTTP on the deployed stack', () =>
  moneyOverHttp(() => ({ service, listener })))

describe('redrive of failed stream changes on the deployed stack', () =>
  redriveOverHttp(() => ({ service, listener })))

describe('the reference in a browser', () => referencePage(() => service))
describe('the console in a browser', () => consolePage(() => service))
describe('one-time codes, sessions and API keys over HTTP on the deployed stack', () =>
  identityOverHttp(() => service))
describe('logins over HTTP on the deployed stack', () => loginOverHttp(() => service))
describe('the local AWS below the deployed stack', () => localAwsOverHttp(() => service))

describe('commands of operators on the deployed stack', () => operatorsOverHttp(() => service))
describe('subscribers on the deployed stack', () => subscribersOverHttp(() => service))
describe('the endpoints of the guide on the deployed stack', () => receiversOverHttp(() => service))

describe('permissions of the commands above', () => {
  recordedActions(
    () => service,
    Object.keys(commandActions).filter((name) => !runElsewhere.includes(name)),
  )
})

describe('orders over HTTP on the deployed stack', () => {
  test('an order is created, replayed, rejected with another payload, read and listed', async () => {
    const first = await place('first')
    expect([first.status, first.headers.get('idempotency-status')]).toEqual([201, 'stored'])
    const location = new URL(first.headers.get('location') ?? '', service.base_url)
    expect(location.pathname).toMatch(new RegExp(`/v1/orders/${first.json.id}$`))
    const byLocation = await fetch(location, {
      headers: { Authorization: `Bearer ${await service.token()}` },
    })
    expect(await byLocation.json()).toEqual(first.json)

    const replay = await place('first')
    expect([replay.status, replay.text, replay.headers.get('idempotency-status')]).toEqual([
      201,
      first.text,
      'replayed',
    ])
    const mismatch = await place('first', { body: { ...order, amount_minor: 1 } })
    expect([mismatch.status, mismatch.json.error.code]).toEqual([
      409,
      'CONFLICT.idempotency.payload_mismatch',
    ])

    const read = await service.send(`/v1/orders/${first.json.id}`, { as: { role: 'Viewer' } })
    expect([read.status, read.json]).toEqual([200, first.json])
    const headers = { 'If-None-Match': read.headers.get('etag') ?? '' }
    const unchanged = await service.send(`/v1/orders/${first.json.id}`, { headers })
    expect([unchanged.status, unchanged.text]).toEqual([304, ''])
    const list = await service.send('/v1/orders')
    expect(list.json.data).toEqual([first.json])
  })

  test('a hundred concurrent calls with one key are one order with equal responses', async () => {
    const as = { tenant: 'crowd' }
    const called = await Promise.all(Array.from({ length: 100 }, () => place('crowd', { as })))
    // On a slow machine, a call may wait for the first one until its time is up: 503, and a retry is a replay.
    const answers = await Promise.all(
      called.map((answer) => (answer.status >= 500 ? place('crowd', { as }) : answer)),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(201)
    const said = answers.map(({ headers }) => headers.get('idempotency-status'))
    expect(said.toSorted()).toEqual([...Array.from({ length: 99 }, () => 'replayed'), 'stored'])
    expect(await ordersOf(as)).toHaveLength(1)
  })

  test('another tenant’s order looks absent', async () => {
    const { json } = await place('foreign', { as: { tenant: 'owner' } })
    const as = { tenant: 'onlooker', sub: 'snoop' }
    const headers = { 'X-Correlation-Id': 'same' }
    const foreign = await service.send(`/v1/orders/${json.id}`, { as, headers })
    const absent = await service.send('/v1/orders/01900000-0000-8000-8000-000000000000', { as, headers })
    expect([foreign.status, foreign.text, ownHeaders(foreign)]).toEqual([
      404,
      absent.text,
      ownHeaders(absent),
    ])
    const records = await service.run('audit', 'list', '--tenant', 'onlooker')
    expect(records.map(({ reason }) => reason)).toEqual(['AUTHZ.scope.tenant', 'NOT_FOUND.order'])
  })

  test('order.created and order.placed reach a subscriber', async () => {
    const placed = await place('events', {
      as: { tenant: 'listened' },
      headers: { 'X-Correlation-Id': 'corr-1' },
    })
    const ours = () => listener.received.filter(({ data }) => data.tenant_id === 'listened')
    await listener.until(() => ours().length >= 2)
    const circumstances = {
      version: 1,
      correlation_id: 'corr-1',
      source: 'commerce-api',
      event_id: expect.any(String),
    }
    const data = { id: placed.json.id, tenant_id: 'listened' }
    const { cart_id: _, ...money } = order
    expect(ours().toSorted((a, b) => (a.type < b.type ? -1 : 1))).toEqual([
      expect.objectContaining({ type: 'order.created', ...circumstances, data }),
      expect.objectContaining({
        type: 'order.placed',
        ...circumstances,
        data: { ...data, order_id: data.id, ...money },
      }),
    ])
    for (const { occurred_at } of ours()) expect(occurred_at).toMatch(/Z$/)
  })

  test('order.created reaches a subscriber within a second', async () => {
    // The fastest of twenty counts: a busy machine delays some of them, a relay that waits delays all.
    let fastest = Number.POSITIVE_INFINITY
    for (let n = 0; n < 20 && fastest > 1000; n += 1) {
      const { id } = (await place(`soon-${n}`, { as: { tenant: 'soon' } })).json
      const from = performance.now()
      await listener.until(() =>
        listener.received.some(({ type, data }) => type === 'order.created' && data.id === id),
      )
      fastest = Math.min(fastest, performance.now() - from)
    }
    expect(fastest).toBeLessThan(1000)
  })

  test('a process killed in the middle loses nothing: the retry gets the one response', async () => {
    const as = { tenant: 'killed' }
    await place('warm-up', { as: { tenant: 'warm' } })
    const first = new Map<string, HttpAnswer>()
    const killed = () => [...first.values()].some(({ status }) => status !== 201)
    // Orders follow one another until one is killed, regardless of the speed of the machine.
    const buyers = Array.from({ length: 10 }, async (_, buyer) => {
      for (let n = 0; !killed(); n += 1) {
        const key = `kill-${buyer}-${n}`
        first.set(key, await place(key, { as }))
      }
    })
    const done = Promise.all(buyers)
    while (!killed()) {
      await sleep(20)
      for (const pid of await workersOf(service.enginePid)) tryKill(pid)
    }
    await done
    const keys = [...first.keys()]
    const retried = await Promise.all(keys.map((key) => placeUntilAlive(key, as)))
    expect(retried.map(({ status }) => status)).toEqual(keys.map(() => 201))
    for (const [n, answer] of [...first.values()].entries())
      if (answer.status === 201) expect(retried[n]?.text).toBe(answer.text)
    expect(await ordersOf(as)).toHaveLength(keys.length)
  })
})

routingOverHttp(() => service)

describe('the gateway', () => {
  test('a preflight request permits the allowed origin only', async () => {
    const ask = (Origin: string) =>
      service.send('/v1/orders', { method: 'OPTIONS', as: null, headers: { Origin } })
    const allowed = await ask('http://localhost:5173')
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'http://localhost:5173',
    ])
    expect(allowed.headers.get('access-control-allow-methods')).toContain('POST')
    expect((await ask('http://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('responses of the functions instead of the gateway', () => {
  test.each<[string, string, Send, number, string]>([
    ['no credentials', '/v1/orders', { as: null }, 401, 'AUTH.invalid_credentials'],
    ['an expired token', '/v1/orders', { as: { expiresInSeconds: -60 } }, 401, 'AUTH.token.expired'],
    [
      'a Viewer who places an order',
      '/v1/orders',
      { method: 'POST', as: { role: 'Viewer' }, body: order },
      403,
      'AUTHZ.role.denied',
    ],
    [
      'a body that is too large',
      '/v1/orders',
      { method: 'POST', body: 'x'.repeat(40_000) },
      413,
      'VALIDATION.body.too_large',
    ],
    [
      'another content type',
      '/v1/orders',
      { method: 'POST', body: order, headers: { 'Content-Type': 'text/plain' } },
      415,
      'VALIDATION.content_type.unsupported',
    ],
    ['no key', '/v1/orders', { method: 'POST', body: order }, 400, 'VALIDATION.idempotency_key.required'],
  ])('%s', async (_, path, options, status, code) => {
    const answer = await service.send(path, options)
    expect([answer.status, answer.json.error.code]).toEqual([status, code])
    expect(answer.json.error.correlation_id).toBe(answer.headers.get('x-correlation-id'))
  })

  test('health responds without credentials, to HEAD too', async () => {
    const health = await service.send('/health', { as: null })
    expect([health.status, health.json, health.headers.get('content-type')]).toEqual([
      200,
      { status: 'pass' },
      'application/health+json',
    ])
    const head = await service.send('/health', { method: 'HEAD', as: null })
    expect([head.status, head.text]).toEqual([200, ''])
  })
})

test('Schemathesis finds no server error and no response that openapi.json does not describe', async () => {
  const token = await service.token({ tenant: 'fuzzed', scope: 'codes:read codes:write' })
  const { passed, report, operations } = await schemathesis(service.base_url, token)
  if (!passed) throw new Error(report)
  expect(report).toMatch(new RegExp(`Tested: +${operations}`))
}, 600_000)

describe('the stored data and logs of the entire run', () => nothingLeaked(() => ({ service, listener })))
describe('permissions of the deployed roles', () => permissionsOverHttp(() => service))

/** The headers of the response, without those that the engine adds to each. */
function ownHeaders({ headers }: HttpAnswer): Record<string, string> {
  const all = Object.fromEntries(headers.entries())
  const { date: _1, 'x-amzn-requestid': _2, 'x-amz-request-id': _3, ...rest } = all
  return rest
}

/** Returns the ids of all orders of a tenant. */
async function ordersOf(as: NonNullable<Send['as']>): Promise<string[]> {
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/v1/orders?page_size=100${cursor && `&cursor=${cursor}`}`
    const { json, status, text }: HttpAnswer = await service.send(path, { as })
    if (status !== 200) throw new Error(text)
    seen.push(...json.data.map(({ id }: { id: string }) => id))
    cursor = json.next_cursor
  }
  return seen
}

/** Retries as a client does. The gateway answers 502 until it sees that a process which it would call has been killed. */
async function placeUntilAlive(key: string, as: NonNullable<Send['as']>): Promise<HttpAnswer> {
  for (let retry = 0; ; retry += 1) {
    const answer = await place(key, { as })
    if (answer.status !== 502 || retry === 50) return answer
    await sleep(100)
  }
}

async function workersOf(engine: number): Promise<number[]> {
  const found = promisify(execFile)('pgrep', ['-P', String(engine), '-f', '_worker.js'])
  const { stdout } = await found.catch(() => ({ stdout: '' }))
  return stdout.trim().split('\n').filter(Boolean).map(Number)
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended in the meantime.
  }
}
