import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { EventBridgeClient, ListRulesCommand } from '@aws-sdk/client-eventbridge'
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { expect, test } from '@jest/globals'
import type { Deployment } from './deployment.ts'

/** Runs `commerce verify`. */
function verificationOverHttp(deployment: () => Deployment): void {
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
    expect(messages.at(-1)).toContain('Ctrl-C')
    return { messages, ended, line: line.then(([text]) => JSON.parse(String(text))) }
  }

  test('events prints the selected events as JSON lines, then removes its queue and its rule', async () => {
    const { line, ended } = await listenTo('watched')
    await deployment().placeOrder('other')
    const { json } = await deployment().placeOrder('watched')
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
}
