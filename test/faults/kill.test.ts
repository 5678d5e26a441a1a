import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { APIGatewayProxyResult } from 'aws-lambda'
import { bundle } from '#bin/bundle.ts'
import { orderEvent } from '#test/bench/order-event.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { type DynamodbProxy, type Injection, startDynamodbProxy } from './dynamodb-proxy.ts'

let scratch: string
let code: string
let proxy: DynamodbProxy
let service: Service
let tenants = 0
const children = new Set<ChildProcess>()

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'kill-'))
  const entries = { create: join(import.meta.dirname, '../../functions/orders/create-order/handler.ts') }
  const bundles = await bundle({ entries, outdir: scratch, settings: JSON.stringify(localSettings) })
  code = pathToFileURL(join(bundles.create?.directory ?? '', 'index.mjs')).href
  proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
  service = await startService()
})
afterEach(async () => {
  for (const child of children) await kill(child)
  proxy.reset()
})
afterAll(async () => {
  await proxy.stop()
  await rm(scratch, { recursive: true, force: true })
})

/** The function in a process of its own, ready for its first event. */
async function startFunction(): Promise<ChildProcess> {
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL: proxy.endpoint,
    TABLE_NAME: service.tableName,
  }
  const runner = join(import.meta.dirname, 'run-function.mjs')
  const child = fork(runner, [code], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  children.add(child)
  await once(child, 'message')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** POST /v1/orders with a key of this tenant's own: the same event each time but for the token. */
async function eventOf(tenant: string): Promise<Record<string, unknown>> {
  const token = await tokenFor({ tenant, role: 'Editor' })
  const event = orderEvent(token) as { headers: object; multiValueHeaders: object }
  const key = `key-of-${tenant}`
  return {
    ...event,
    headers: { ...event.headers, 'Idempotency-Key': key },
    multiValueHeaders: { ...event.multiValueHeaders, 'Idempotency-Key': [key] },
  }
}

async function send(child: ChildProcess, event: unknown): Promise<APIGatewayProxyResult> {
  child.send(event as object)
  const [reply] = await once(child, 'message')
  return reply
}

const status = ({ statusCode, headers }: APIGatewayProxyResult) => [
  statusCode,
  headers?.['Idempotency-Status'],
]
const steps: [string, () => Injection, boolean][] = [
  [
    'before its transaction reached the table',
    () => proxy.inject({ when: () => true, fault: 'hold-request' }),
    false,
  ],
  ['after its transaction took effect', () => proxy.inject({ when: () => true, fault: 'hold' }), true],
]

describe('a function killed in the middle of an order', () => {
  test.each(steps)('%s: the retry in another process ends in one order and one answer', async (...step) => {
    const [, hold, takesEffect] = step
    const tenant = `killed-${tenants++}`
    const event = await eventOf(tenant)
    const held = hold()
    const victim = await startFunction()
    victim.send(event)
    await held.struck
    await kill(victim)
    held.release()
    expect(await service.items(tenant, 'order')).toHaveLength(takesEffect ? 1 : 0)

    const heir = await startFunction()
    const first = await send(heir, event)
    const second = await send(heir, event)
    expect(status(first)).toEqual([201, takesEffect ? 'replayed' : 'stored'])
    expect(status(second)).toEqual([201, 'replayed'])
    expect(second.body).toBe(first.body)
    const orders = await service.items(tenant, 'order')
    expect(orders.map(({ id }) => id)).toEqual([JSON.parse(first.body).id])
  })

  test('whose transaction arrives after the retry places no second order', async () => {
    const tenant = `killed-${tenants++}`
    const event = await eventOf(tenant)
    const late = proxy.inject({ when: () => true, fault: { delayMs: 1500 } })
    const [victim, heir] = await Promise.all([startFunction(), startFunction()])
    victim.send(event)
    while (late.hits === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await kill(victim)
    const first = await send(heir, event)
    expect(status(first)).toEqual([201, 'stored'])
    // The late transaction is refused by the record that the retry left.
    expect(await late.struck).toMatchObject({ status: 400 })
    expect(status(await send(heir, event))).toEqual([201, 'replayed'])
    expect(await service.items(tenant, 'order')).toHaveLength(1)
  })

  test('after it answered: another process gives the same answer', async () => {
    const tenant = `killed-${tenants++}`
    const event = await eventOf(tenant)
    const victim = await startFunction()
    const answer = await send(victim, event)
    expect(status(answer)).toEqual([201, 'stored'])
    await kill(victim)
    const replay = await send(await startFunction(), event)
    expect(status(replay)).toEqual([201, 'replayed'])
    expect(replay.body).toBe(answer.body)
    expect(await service.items(tenant, 'order')).toHaveLength(1)
  })

  test('again and again: each process that is killed leaves the next one the same single order', async () => {
    const tenant = `killed-${tenants++}`
    const event = await eventOf(tenant)
    for (let round = 0; round < 6; round += 1) {
      const held = proxy.inject({ when: () => true, fault: round % 2 === 0 ? 'hold-request' : 'hold' })
      const victim = await startFunction()
      victim.send(event)
      await held.struck
      await kill(victim)
      held.release()
    }
    const answer = await send(await startFunction(), event)
    expect(status(answer)).toEqual([201, 'replayed'])
    expect(await service.items(tenant, 'order')).toHaveLength(1)
  })
})

test('a call that hangs is given up by the bundled function after three seconds, and tried again', async () => {
  const child = await startFunction()
  proxy.inject({ when: () => true, fault: { delayMs: 6000 } })
  const from = performance.now()
  const answer = await send(child, await eventOf(`killed-${tenants++}`))
  expect(performance.now() - from).toBeLessThan(4500)
  expect(answer.statusCode).toBe(201)
})
