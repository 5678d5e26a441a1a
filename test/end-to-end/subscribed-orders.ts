import { setTimeout as sleep } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { maxDelaySeconds } from '#shared/deliveries/schedule-delivery.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { startSubscriberEndpoint } from '#test/support/subscriber-endpoint.ts'
import type { Deployment } from './deployment.ts'

/** How long an accepted order may take to reach its subscribers: the longest delay of a message, and some runs of the sweep. */
const maxMilliseconds = (maxDelaySeconds + 200) * 1000
/** The time limit of a test that waits for them. */
export const missingTimeout = maxMilliseconds + 100_000

/** Places orders of a tenant whose two subscribers have to accept each of them, whatever operators do meanwhile. */
export async function subscribedOrders(service: Deployment, tenant: string) {
  const endpoint = await startSubscriberEndpoint()
  const run = (...args: string[]) => service.run(...args, '--tenant', tenant)
  const register = async (name: string) => {
    const options = ['--url', `${endpoint.url}/${name}`, '--events', 'order.placed']
    const [created] = await run('subscribers', 'create', ...options)
    return { id: String(created?.id), secret: String(created?.secret) }
  }
  const failing = await register('failing')
  const paused = await register('paused')
  const receivedBy = ({ secret }: typeof failing) => endpoint.verified(secret)
  const received = () => [failing, paused].flatMap(receivedBy)
  const statesOf = async ({ id }: typeof failing) => {
    const deliveries = await run('deliveries', 'list', '--subscriber', id, '--limit', '100000')
    return deliveries.map(({ state }) => state)
  }
  const orders = new Set<string>()
  const missingAt = (subscriber: typeof failing) => {
    const ids = new Set(
      receivedBy(subscriber).flatMap(({ data, status }) => (status === 200 ? [data.id] : [])),
    )
    return [...orders].filter((id) => !ids.has(id))
  }

  /** Places an order. A busy machine may answer with a timeout first. @returns its id */
  async function place(): Promise<string> {
    for (;;) {
      const { status, json } = await service.placeOrder(tenant)
      if (status < 500 && status !== 201) throw new Error(`the order got ${JSON.stringify(json)}`)
      if (status !== 201) continue
      orders.add(json.id)
      return json.id
    }
  }

  return {
    endpoint,
    place,
    /** Places orders until some work ends, and returns its result. */
    async placeDuring<T>(work: Promise<T>): Promise<T> {
      let isDone = false
      const end = () => {
        isDone = true
      }
      work.then(end, end)
      while (!isDone) {
        const { status, json } = await service.placeOrder(tenant)
        if (status === 201) orders.add(json.id)
        await sleep(2000)
      }
      return work
    },
    /** Stores an order as a request does that is in flight when requests are refused. */
    async store(): Promise<void> {
      const client = DynamoDBDocumentClient.from(new DynamoDBClient(service.aws))
      const [placed = ''] = orders
      const query = { TableName: service.table, Key: keyOf(tenant, 'order', placed) }
      const { Item } = await client.send(new GetCommand(query))
      const id = newId(systemClock)
      const order = { ...Item, ...keyOf(tenant, 'order', id), id }
      await client.send(new PutCommand({ TableName: service.table, Item: order }))
      orders.add(id)
    },
    /** Places an order whose delivery fails and waits, and that is suspended for the other subscriber. @returns its id */
    async interrupt(): Promise<string> {
      await run('subscribers', 'pause', paused.id)
      endpoint.status = 503
      const order = await place()
      while (!(await statesOf(failing)).includes('waiting')) await sleep(200)
      while (!(await statesOf(paused)).includes('suspended')) await sleep(200)
      return order
    },
    /** Returns the states of the deliveries to both subscribers. */
    states: async () => [...(await statesOf(failing)), ...(await statesOf(paused))],
    resume: () => run('subscribers', 'resume', paused.id),
    /** Waits until both subscribers have accepted all orders. @returns those that one of them has not accepted in time */
    async missing(): Promise<string[]> {
      const missing = () => [failing, paused].flatMap(missingAt)
      for (const over = Date.now() + maxMilliseconds; missing().length > 0 && Date.now() < over; )
        await sleep(200)
      return missing()
    },
    /** Returns the values of `webhook-id` of an order. */
    idsOf: (order: string) =>
      received().flatMap(({ webhook_id, data }) => (data.id === order ? [webhook_id] : [])),
    /** Returns the number of requests that the secret of no subscriber signed. */
    unsigned: () => endpoint.requests - received().length,
    async deadLetters(): Promise<unknown[]> {
      const lists = ['published_events', 'deliveries'].map((name) =>
        service.run('dead-letters', 'list', name),
      )
      return (await Promise.all(lists)).flat()
    },
  }
}
