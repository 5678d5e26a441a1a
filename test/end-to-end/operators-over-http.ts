import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { EventBridgeClient, ListRulesCommand } from '@aws-sdk/client-eventbridge'
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import type { Deployment } from './deployment.ts'

/** Runs `commerce verify`. */
export function verificationOverHttp(deployment: () => Deployment): void {
  test('verify passes all checks', async () => {
    const { base_url, settings } = deployment()
    const checks = await deployment().run('verify', '--url', base_url, '--settings', settings)
    expect(checks.map(({ check }) => check)).toEqual([
      'health',
      'rejected token',
      'unknown route',
      'wrong method',
      'create',
      'replay',
      'mismatch',
      'list',
      'rejected signature',
      'webhook',
      'import',
      'mail',
      'export',
      'removal',
    ])
  })
}

/** Runs the commands of operators that no other test of the deployed stack runs. */
export function operatorsOverHttp(deployment: () => Deployment): void {
  verificationOverHttp(deployment)
  const order = (tenant: string) =>
    deployment().send('/v1/orders', {
      method: 'POST',
      as: { tenant },
      headers: { 'Idempotency-Key': crypto.randomUUID() },
      body: { cart_id: 'c', amount_minor: 5, currency: 'EUR' },
    })

  /** Starts to listen to the orders of a tenant. @returns its messages, once it has subscribed */
  async function listenTo(tenant: string, ...options: string[]) {
    const selected = ['--events', 'order.placed,refund.*', '--tenant', tenant, '--limit', '1']
    const listening = deployment().start('events', ...selected, ...options)
    const ended = once(listening, 'exit')
    const line = once(createInterface({ input: listening.stdout }), 'line')
    // The subscription exists when its command says so. Warnings of the AWS SDK may precede that line.
    const messages: string[] = []
    for await (const message of createInterface({ input: listening.stderr })) {
      messages.push(message)
      if (message.startsWith('Waiting for events')) break
    }
    expect(messages.at(-1)).toBe('Waiting for events. Ctrl-C stops.')
    return { messages, ended, line: line.then(([text]) => JSON.parse(String(text))) }
  }

  test('events prints the selected events as JSON lines, then removes its queue and its rule', async () => {
    const { line, ended } = await listenTo('watched')
    await order('other')
    const { json } = await order('watched')
    expect(await line).toMatchObject({
      type: 'order.placed',
      data: { id: json.id, tenant_id: 'watched' },
    })
    expect(await ended).toEqual([0, null])

    const queues = await new SQSClient(deployment().aws).send(
      new ListQueuesCommand({ QueueNamePrefix: 'commerce-events-' }),
    )
    expect(queues.QueueUrls ?? []).toEqual([])
    const rules = { EventBusName: deployment().event_bus, NamePrefix: 'commerce-events-' }
    const { Rules } = await new EventBridgeClient(deployment().aws).send(new ListRulesCommand(rules))
    expect(Rules).toEqual([])
  })

  test('events forwards an event to an endpoint, signed with the secret that it prints', async () => {
    const received: { headers: IncomingHttpHeaders; body: string }[] = []
    const server = createServer(async (request, response) => {
      received.push({ headers: request.headers, body: await text(request) })
      response.writeHead(204).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const { port } = server.address() as AddressInfo
      const { messages, line, ended } = await listenTo(
        'forwarded',
        '--forward-to',
        `http://127.0.0.1:${port}/`,
        '--settings',
        'shared/settings/profiles/local.json',
      )
      const { json } = await order('forwarded')
      const { event_id, status } = await line
      expect(status).toBe(204)
      expect(await ended).toEqual([0, null])
      expect(received).toHaveLength(1)
      const { headers, body } = received[0] ?? { headers: {}, body: '' }
      const [secret = ''] = /whsec_\S+/.exec(messages.join('\n')) ?? []
      const verified = new Webhook(secret).verify(body, headers as Record<string, string>)
      expect(verified).toMatchObject({ event_id, data: { id: json.id } })
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })

  test('webhook secret stores a new key before the present ones, prints it alone, and drops the old ones', async () => {
    const { text } = deployment()
    const old = await text('webhook', 'secret')
    const key = await text('webhook', 'secret', '--generate', '--keep', '--yes')
    expect(await text('webhook', 'secret')).toBe(`${key} ${old}`)
    await text('webhook', 'secret', '--drop-old', '--yes')
    expect(await text('webhook', 'secret')).toBe(key)
  })
}
