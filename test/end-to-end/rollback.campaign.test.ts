import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Deployment, deploy } from './deployment.ts'
import { missingTimeout, subscribedOrders } from './subscribed-orders.ts'
import { until } from './until.ts'

/** The releases differ in their settings, which are part of the code of every function. */
const named = (release: string) => ({
  'health.body': { status: 'pass', release },
  // A delivery that fails is repeated until its subscriber recovers, however long a rollback takes.
  'deliveries.schedule': { retriesAfterSeconds: Array(1000).fill(5), jitter: 0, maxRetryAfterSeconds: 0 },
})
const broken = {
  ...named('broken'),
  // Endpoints refuse orders in dollars, the consumer of webhooks takes another amount of carts, a step of the workflow loses rejected rows, and
  // the user pool's trigger issues tokens without scopes.
  'orders.currencies': ['EUR'],
  'discount.cartFields': { amount: 'data.without_tax', currency: 'data.currency', owner: 'data.user_id' },
  'imports.result': { rejectsShown: 1, linkSeconds: 300 },
  'login.scopes': { Viewer: [], Editor: [], Admin: [], Service: [] },
}
const good = { order: 201, discount: 100, rejects: 3, codes: 200 }
const bad = { order: 400, discount: 50, rejects: 1, codes: 403 }

const email = 'jane@users.example'
const password = 'Correct-horse-12!'
const as = { tenant: 'rolled', role: 'Editor', sub: 'u1', scope: 'codes:write codes:read' }

let service: Deployment
let subscribed: Awaited<ReturnType<typeof subscribedOrders>>
/** The order whose delivery fails on a release that is rolled back. */
let interrupted: string
/** The responses to orders, which are placed all the time, by their status. */
const traffic: Record<number, number> = {}
let sending: Promise<void> | undefined
const ended = new AbortController()

beforeAll(async () => {
  service = await deploy({ id: 'v1', changes: named('first') })
  await service.pipe(
    password,
    'users',
    'set',
    email,
    '--tenant',
    'rolled',
    '--role',
    'Viewer',
    '--password-stdin',
  )
  subscribed = await subscribedOrders(service, 'subscribed')
  sending = (async () => {
    while (!ended.signal.aborted) {
      await order(1250)
      await sleep(20)
    }
  })()
}, 1_800_000)
afterAll(async () => {
  ended.abort()
  await sending
  await subscribed?.endpoint.stop()
  await service?.stop()
})

async function order(amount_minor: number) {
  const answer = await service.send('/v1/orders', {
    method: 'POST',
    as,
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    body: { cart_id: 'c', amount_minor, currency: 'USD' },
  })
  traffic[answer.status] = (traffic[answer.status] ?? 0) + 1
  return answer
}

/** Returns the discount of ten percent on a cart that the consumer of webhooks has received. */
async function discountOfCart(): Promise<number> {
  const [cart, code] = [crypto.randomUUID(), `TEN-${crypto.randomUUID().slice(0, 8)}`]
  const data = JSON.stringify({ amount_minor: 1000, without_tax: 500, currency: 'EUR' })
  const event = ['cart.updated', '--id', cart, '--tenant', as.tenant, '--data', data]
  await service.run('webhook', 'send', ...event, '--url', service.base_url)
  const post = (path: string, body: object, headers = {}) =>
    service.send(path, {
      method: 'POST',
      as,
      headers: { 'Idempotency-Key': crypto.randomUUID(), ...headers },
      body,
    })
  await post('/codes', { code, type: 'percent-10', name: 'Ten', expiry_at: '2099-01-01T00:00:00Z' })
  const { json } = await until(
    () => post('/discount/verify', { code }, { 'X-Cart-Id': cart }),
    ({ status }) => status !== 404,
  )
  return json.amount
}

/** What an endpoint, a consumer, a step of the workflow and the user pool's trigger do, as callers see it. */
async function served() {
  const health = await service.send('/health', { as: null })
  const { status } = await order(1250)
  const discount = await discountOfCart()
  const begun = await service.send('/imports', {
    method: 'POST',
    as,
    headers: { 'Content-Type': 'text/csv' },
    body: `email,name\r\n${['a', 'b', 'c'].map((name) => `nobody,${name}${crypto.randomUUID()}\r\n`).join('')}`,
  })
  const imported = await until(
    async () => (await service.send(`/operations/${begun.json.operation_id}`, { as })).json,
    ({ state }) => state !== 'pending' && state !== 'running',
  )
  const login = await service.send('/login', { method: 'POST', as: null, body: { email, password } })
  const codes = await service.send('/codes', {
    as: null,
    headers: { Authorization: `Bearer ${login.json.access_token}` },
  })
  return {
    release: health.json.release,
    order: status,
    discount,
    rejects: imported.result?.rejects?.length,
    codes: codes.status,
  }
}

const rollback = async (...args: string[]) => (await service.run('rollback', '--yes', ...args))[0]

/** Each test continues where the one before ended. */
describe('releases on the local AWS', () => {
  test('the first one serves', async () => {
    expect(await served()).toEqual({ release: 'first', ...good })
  })

  test('a rollback without an older release has nothing to do', async () => {
    await expect(rollback()).rejects.toThrow(
      /ended with code 1: .*nothing to do: no release before v1 is kept/s,
    )
  })

  test('the second one, which is broken, serves everywhere', async () => {
    await service.release({ id: 'v2', changes: broken })
    expect(await served()).toEqual({ release: 'broken', ...bad })
  })

  test('a delivery fails on it', async () => {
    interrupted = await subscribed.interrupt()
    expect(subscribed.idsOf(interrupted).length).toBeGreaterThan(0)
  })

  test('a rollback says where it goes and how to deploy next', async () => {
    expect(await subscribed.placeDuring(rollback())).toMatchObject({
      from: 'v2',
      to: 'v1',
      rolled_back: ['v2'],
      next_deployment: 'add -c rollout=bypass',
    })
  })

  test('the first one serves everywhere again', async () => {
    expect(await served()).toEqual({ release: 'first', ...good })
  })

  test('deliveries that failed before the rollback still wait', async () => {
    expect(await subscribed.states()).toEqual(expect.arrayContaining(['waiting', 'suspended']))
  })

  test(
    'all deliveries are made after it',
    async () => {
      subscribed.endpoint.status = 200
      await subscribed.place()
      await subscribed.resume()
      expect(await subscribed.missing()).toEqual([])
    },
    missingTimeout,
  )

  test('a repeated rollback has nothing to do', async () => {
    await expect(rollback()).rejects.toThrow(
      /ended with code 1: .*nothing to do: the stack is rolled back to v1/s,
    )
  })

  test('a deployment of the same code and settings serves everywhere, as it is a new release', async () => {
    await service.release({ id: 'v3', changes: broken })
    expect(await served()).toEqual({ release: 'broken', ...bad })
  })

  test('the second rollback goes to the release that served before, not to the broken one', async () => {
    expect(await rollback()).toMatchObject({ from: 'v3', to: 'v1', rolled_back: ['v3', 'v2'] })
    expect(await served()).toEqual({ release: 'first', ...good })
  })

  test('a fixed release serves everywhere', async () => {
    await service.release({ id: 'v4', changes: named('fixed') })
    expect(await served()).toEqual({ release: 'fixed', ...good })
  })

  test('versions of old releases are deleted, and the fixed one serves on', async () => {
    const before = await service.run('releases')
    expect(before.map(({ release, rolled_back }) => [release, rolled_back])).toEqual([
      ['v4', false],
      ['v3', true],
      ['v2', true],
      ['v1', false],
    ])
    const after = await service.run('releases', '--prune', '--keep', '2')
    expect(after.map(({ release }) => release)).toEqual(['v4', 'v3'])
    expect(await served()).toEqual({ release: 'fixed', ...good })
  })

  test('no order of all that time failed in any other way', () => {
    expect(Object.keys(traffic).sort()).toEqual(['201', '400'])
  })

  test('all releases sign the deliveries', () => expect(subscribed.unsigned()).toBe(0))

  test('all releases send an event with the same webhook-id', () => {
    expect(new Set(subscribed.idsOf(interrupted)).size).toBe(1)
  })

  test('no delivery is a dead letter', async () => {
    expect(await subscribed.deadLetters()).toEqual([])
  })
})
