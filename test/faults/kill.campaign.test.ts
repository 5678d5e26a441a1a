import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import type { APIGatewayProxyResult } from 'aws-lambda'
import { orderEvent } from '#test/bench/order-event.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { startDynamodbProxy } from './dynamodb-proxy.ts'
import type { Fault } from './faults.ts'
import { bundleFunctions } from './function-process.ts'

const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
const service = await startService({ tableName: await createTable() })
const functions = await bundleFunctions({ create: 'orders/create-order' }, localSettings, {
  AWS_ENDPOINT_URL: proxy.endpoint,
  TABLE_NAME: service.tableName,
})
afterEach(async () => {
  await functions.killAll()
  proxy.reset()
})
afterAll(async () => {
  await functions.stop()
  await proxy.stop()
})

const startFunction = () => functions.start('create')

/** Returns POST /v1/orders with a key for each tenant. Only the token differs between calls. */
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

const status = ({ statusCode, headers }: APIGatewayProxyResult) => [
  statusCode,
  headers?.['Idempotency-Status'],
]
const steps: [string, Fault, boolean][] = [
  ['before its transaction reached the table', 'hold-request', false],
  ['after its transaction took effect', 'hold', true],
]

/** Each attempt of the function fails: it makes another one if a busy machine kills it only after three seconds. */
const injectFault = (fault: Fault) =>
  proxy.inject({
    when: ({ operation }) => operation === 'TransactWriteItems',
    times: Number.POSITIVE_INFINITY,
    fault,
  })

/** Starts an order in a function that is killed at its transaction. */
async function killDuring(event: object, fault: Fault): Promise<void> {
  const { injected } = injectFault(fault)
  const target = await startFunction()
  target.begin(event)
  await injected
  await target.kill()
  proxy.reset()
}

describe('a function killed in the middle of an order', () => {
  test.each(steps)(
    '%s: the retry in another process results in one order and one response',
    async (...step) => {
      const [, fault, takesEffect] = step
      const tenant = uniqueTenant('killed')
      const event = await eventOf(tenant)
      await killDuring(event, fault)
      expect(await service.items(tenant, 'order')).toHaveLength(takesEffect ? 1 : 0)

      const successor = await startFunction()
      const first = await successor.send(event)
      const second = await successor.send(event)
      expect(status(first)).toEqual([201, takesEffect ? 'replayed' : 'stored'])
      expect(status(second)).toEqual([201, 'replayed'])
      expect(second.body).toBe(first.body)
      const orders = await service.items(tenant, 'order')
      expect(orders.map(({ id }) => id)).toEqual([JSON.parse(first.body).id])
    },
  )

  test('whose transaction arrives after the retry creates no second order', async () => {
    const tenant = uniqueTenant('killed')
    const event = await eventOf(tenant)
    const { promise, resolve: land } = Promise.withResolvers<void>()
    const late = injectFault({ until: promise })
    const [target, successor] = await Promise.all([startFunction(), startFunction()])
    target.begin(event)
    while (late.hits === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await target.kill()
    proxy.reset()
    const first = await successor.send(event)
    expect(status(first)).toEqual([201, 'stored'])
    // The late transaction fails, because the retry wrote the record.
    land()
    expect(await late.injected).toMatchObject({ status: 400 })
    expect(status(await successor.send(event))).toEqual([201, 'replayed'])
    expect(await service.items(tenant, 'order')).toHaveLength(1)
  })
})

test('the bundled function aborts a hanging call after three seconds and retries it', async () => {
  const child = await startFunction()
  proxy.inject({ when: () => true, fault: 'hold' })
  const answer = await child.send(await eventOf(uniqueTenant('killed')))
  expect(answer.statusCode).toBe(201)
})
