import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { EventBridgeClient, ListRulesCommand } from '@aws-sdk/client-eventbridge'
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { expect, test } from '@jest/globals'
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

  test('events prints the selected events as JSON lines, then removes its queue and its rule', async () => {
    const watching = deployment().start(
      'events',
      '--type',
      'order.placed',
      '--tenant',
      'watched',
      '--limit',
      '1',
    )
    const lines = createInterface({ input: watching.stdout })
    const ended = once(watching, 'exit')
    const line = once(lines, 'line')
    // The subscription exists when its command says so. Warnings of the AWS SDK may precede that line.
    const messages: string[] = []
    for await (const message of createInterface({ input: watching.stderr })) {
      messages.push(message)
      if (message.startsWith('Waiting for events')) break
    }
    expect(messages.at(-1)).toBe('Waiting for events. Ctrl-C stops.')
    await order('other')
    const { json } = await order('watched')
    expect(JSON.parse(String(await line))).toMatchObject({
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

  test('webhook secret stores a new key before the present ones, prints it alone, and drops the old ones', async () => {
    const { text } = deployment()
    const old = await text('webhook', 'secret')
    const key = await text('webhook', 'secret', '--generate', '--keep', '--yes')
    expect(await text('webhook', 'secret')).toBe(`${key} ${old}`)
    await text('webhook', 'secret', '--drop-old', '--yes')
    expect(await text('webhook', 'secret')).toBe(key)
  })
}
