import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { forward } from '#bin/commands/events/forward-event.ts'
import { type EventSelection, receiveEvents } from '#bin/commands/events/published-events.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { startFakeAws } from '#test/support/fake-aws.ts'
import { freePort } from '#test/support/free-port.ts'
import { type HttpServer, startHttpServer } from '#test/support/http-server.ts'
import { naming } from '#test/support/naming.ts'
import { localSettings } from '#test/support/settings.ts'
import { webhookSecret as secret } from '#test/support/signed-events.ts'

const event: PublishedEvent = {
  event_id: 'e-1',
  type: 'order.placed',
  version: 1,
  occurred_at: '2026-01-31T12:00:00.000Z',
  source: 'commerce-api',
  correlation_id: 'c-1',
  data: { id: 'o-1', tenant_id: 'acme' },
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
}

describe('an event that is forwarded', () => {
  let server: HttpServer
  let url: string
  let received: { headers: IncomingHttpHeaders; body: string }[]
  beforeAll(async () => {
    received = []
    // It never answers /silent, and never ends its answers to /stalled and /endless.
    server = await startHttpServer(async (request, response) => {
      received.push({ headers: request.headers, body: await text(request) })
      if (request.url === '/stalled') response.writeHead(200).write('a')
      else if (request.url === '/endless') response.writeHead(200).write('a'.repeat(2048))
      else if (request.url !== '/silent')
        response.writeHead(Number(request.url?.slice(1)), { Location: '/204' }).end()
    })
    url = server.url
  })
  afterAll(() => server.stop())
  const forwardTo = (address: string, timeoutSeconds = 60) => {
    const settings = { ...localSettings, 'deliveries.timeoutSeconds': timeoutSeconds }
    return forward(event, { url: address, secret, settings })
  }

  test('is reported with the status of the response', async () => {
    const { milliseconds, ...forwarded } = await forwardTo(`${url}/204`)
    const { event_id, type, occurred_at } = event
    expect(forwarded).toEqual({ event_id, type, occurred_at, status: 204 })
    expect(milliseconds).toBeGreaterThanOrEqual(0)
  })

  test('is signed for the public library', async () => {
    await forwardTo(`${url}/204`)
    const { headers, body } = received.at(-1) ?? { headers: {}, body: '' }
    const verified = new Webhook(secret).verify(body, headers as Record<string, string>)
    expect(verified).toMatchObject({ event_id: headers['webhook-id'] })
  })

  test('has the fields that subscribers get, without the trace', async () => {
    await forwardTo(`${url}/204`)
    const { traceparent: _, ...sent } = event
    expect(JSON.parse(received.at(-1)?.body ?? '')).toEqual(sent)
  })

  test('is not posted to the target of a redirect', async () => {
    const before = received.length
    expect(await forwardTo(`${url}/302`)).toMatchObject({ status: 302 })
    expect(received).toHaveLength(before + 1)
  })

  test('is reported with the reason if nothing listens', async () => {
    const { status, reason } = await forwardTo(`http://127.0.0.1:${await freePort()}`)
    expect({ status, reason }).toEqual({ status: undefined, reason: 'ECONNREFUSED' })
  })

  test('is reported with the reason if the endpoint does not finish its response in time', async () => {
    const { status, reason } = await forwardTo(`${url}/stalled`, 1)
    expect({ status, reason }).toEqual({ status: undefined, reason: expect.stringContaining('1 s') })
  })

  test('needs the first kilobyte of the response only', async () => {
    expect(await forwardTo(`${url}/endless`)).toMatchObject({ status: 200 })
  })

  test('is reported with the reason if the endpoint does not respond in time', async () => {
    const { status, reason } = await forwardTo(`${url}/silent`, 1)
    expect({ status, reason }).toEqual({ status: undefined, reason: expect.stringContaining('1 s') })
  })
})

describe('a subscription to published events', () => {
  type Called = [operation: string, input: Record<string, unknown>][]
  /**
   * Receives one event, as a command does.
   * @param failing the operations that fail
   * @param called gets the operations in their order, with their input
   */
  async function receiveOne(
    selection: EventSelection,
    failing: readonly string[] = [],
    called: Called = [],
  ): Promise<Called> {
    const Body = JSON.stringify({ detail: event })
    const MD5OfBody = createHash('md5').update(Body).digest('hex')
    const answers: Record<string, unknown> = {
      'AWSEvents.PutRule': { RuleArn: 'arn:aws:events:eu-west-1:111122223333:rule/rule' },
      'AmazonSQS.CreateQueue': { QueueUrl: 'https://sqs.eu-west-1.amazonaws.com/111122223333/queue' },
      'AmazonSQS.GetQueueAttributes': {
        Attributes: { QueueArn: 'arn:aws:sqs:eu-west-1:111122223333:queue' },
      },
      'AWSEvents.PutTargets': {},
      'AmazonSQS.ReceiveMessage': {
        Messages: [{ MessageId: 'm', ReceiptHandle: 'r', Body, MD5OfBody }],
      },
      'AmazonSQS.DeleteMessageBatch': { Successful: [], Failed: [] },
      'AWSEvents.RemoveTargets': {},
      'AWSEvents.DeleteRule': {},
      'AmazonSQS.DeleteQueue': {},
    }
    const operations = Object.entries(answers).map(([name, answer]) => [
      name,
      (input: Record<string, unknown>) => {
        const operation = name.split('.')[1] ?? ''
        called.push([operation, input])
        if (failing.includes(operation)) throw new Error(`${operation} failed`)
        return answer
      },
    ])
    const aws = await startFakeAws(Object.fromEntries(operations))
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const access = { endpoint: aws.endpoint, region: 'eu-west-1', credentials }
    const { signal } = new AbortController()
    const started = () => called.push(['started', {}])
    try {
      const stack = { outputs: { EventBusName: 'bus' }, access }
      for await (const events of receiveEvents(stack, selection, { signal, started })) {
        expect(events).toEqual([event])
        break
      }
    } finally {
      await aws.stop()
    }
    return called
  }

  test('removes its rule and its queue at the end', async () => {
    const called = await receiveOne({})
    expect(called.map(([name]) => name)).toEqual([
      'PutRule',
      'CreateQueue',
      'GetQueueAttributes',
      'PutTargets',
      'started',
      'ReceiveMessage',
      'DeleteMessageBatch',
      'RemoveTargets',
      'DeleteRule',
      'DeleteQueue',
    ])
  })

  test.each([
    ['CreateQueue', ['PutRule', 'CreateQueue', 'RemoveTargets', 'DeleteRule']],
    [
      'PutTargets',
      [
        'PutRule',
        'CreateQueue',
        'GetQueueAttributes',
        'PutTargets',
        'RemoveTargets',
        'DeleteRule',
        'DeleteQueue',
      ],
    ],
  ])('removes what it has created if %s fails', async (failing, operations) => {
    const called: Called = []
    const message = await receiveOne({}, [failing], called).catch((thrown: Error) => thrown.message)
    expect(called.map(([name]) => name)).toEqual(operations)
    expect(message).toBe(`Error: ${failing} failed`)
  })

  test.each(['RemoveTargets', 'DeleteRule', 'DeleteQueue'])(
    'goes on removing if %s fails',
    async (failing) => {
      const called: Called = []
      await receiveOne({}, [failing], called).catch(() => {})
      expect(called.slice(-3).map(([name]) => name)).toEqual(['RemoveTargets', 'DeleteRule', 'DeleteQueue'])
    },
  )

  test('names what it could not remove, with the commands that do it', async () => {
    const called: Called = []
    const message = await receiveOne({}, ['DeleteRule'], called).catch((thrown: Error) => thrown.message)
    const name = called[0]?.[1].Name
    expect(message).toBe(
      [
        `the rule and the queue ${name} may remain: Error: DeleteRule failed. Remove them with`,
        `  aws events remove-targets --event-bus-name bus --rule ${name} --ids queue`,
        `  aws events delete-rule --event-bus-name bus --name ${name}`,
        '  aws sqs delete-queue --queue-url https://sqs.eu-west-1.amazonaws.com/111122223333/queue',
      ].join('\n'),
    )
  })

  test('shows the failure that ended it and that of the removal', async () => {
    const message = await receiveOne({}, ['ReceiveMessage', 'DeleteQueue']).catch(
      (thrown: Error) => thrown.message,
    )
    expect(message).toMatch(naming('ReceiveMessage … DeleteQueue'))
  })

  test.each<[string, EventSelection, object]>([
    ['all events', {}, {}],
    ['all events by name', { events: ['order.placed', '*'] }, {}],
    ['types', { events: ['order.placed', 'order.paid'] }, { 'detail-type': ['order.placed', 'order.paid'] }],
    ['a prefix', { events: ['refund.*'] }, { 'detail-type': [{ prefix: 'refund.' }] }],
    ['a tenant', { tenant: 'acme' }, { detail: { data: { tenant_id: ['acme'] } } }],
  ])('selects %s', async (_, selection, pattern) => {
    const [[, rule] = ['', {}]] = await receiveOne(selection)
    expect(JSON.parse(String(rule.EventPattern))).toEqual({ source: ['commerce-api'], ...pattern })
  })
})
