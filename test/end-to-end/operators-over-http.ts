import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { EventBridgeClient, ListRulesCommand } from '@aws-sdk/client-eventbridge'
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { expect, test } from '@jest/globals'
import type { Deployment } from './deployment.ts'
import { until } from './until.ts'

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
      'repeated header',
      'head',
      'not modified',
      'rejected signature',
      'webhook',
      'import',
      'mail',
      'export',
      'removal',
    ])
  })
}

/** Returns no lines if the command ended because it found nothing. */
function noneYet(thrown: Error): [] {
  if (!thrown.message.includes('nothing is known')) throw thrown
  return []
}

/** Asks what happened. */
function findOverHttp(deployment: () => Deployment): void {
  const tenant = 'asked'

  test('find shows everything under a correlation id, by the logs of the stack', async () => {
    const place = (correlation: string) =>
      deployment().send('/v1/orders', {
        method: 'POST',
        as: { tenant },
        headers: { 'Idempotency-Key': correlation, 'X-Correlation-Id': correlation },
        body: { cart_id: 'c', amount_minor: 5, currency: 'EUR' },
      })
    const { json } = await place('asked-1')
    // The logs are written after the response, and some with those of the next request.
    const find = async () => {
      await place('asked-2')
      const lines = await deployment().run('find', 'asked-1', '--from', '1h').catch(noneYet)
      return lines.slice(1)
    }
    const entries = await until(find, (found) => found.some(({ kind }) => kind === 'change'))
    expect(entries.filter(({ kind }) => kind === 'request')).toMatchObject([
      { tenant, correlation_id: 'asked-1', summary: expect.stringMatching(/^orders\.create 201/) },
    ])
    expect(entries.filter(({ kind }) => kind === 'change')).toMatchObject([{ id: json.id }])
    expect(new Set(entries.map(({ correlation_id }) => correlation_id))).toEqual(new Set(['asked-1']))
  })

  test('find says who deleted a code for good, and why', async () => {
    const as = { tenant, role: 'Admin', scope: 'codes:write' }
    const body = { code: 'GONE-10', type: 'percent-10', name: 'Ten', expiry_at: '2099-01-01T00:00:00Z' }
    const made = await deployment().send('/codes', {
      method: 'POST',
      as,
      body,
      headers: { 'Idempotency-Key': crypto.randomUUID() },
    })
    const headers = { 'X-Audit-Log-Reason': 'sent to the wrong list' }
    await deployment().send(`/codes/${made.json.id}?force=true`, { method: 'DELETE', as, headers })
    const entries = await deployment().run('find', 'GONE-10', '--tenant', tenant)
    expect(entries).toContainEqual(
      expect.objectContaining({
        kind: 'audit',
        summary: expect.stringMatching(
          new RegExp(`^allow hard_delete code/${made.json.id} by .+: sent to the wrong list$`),
        ),
      }),
    )
  })

  test('lists without a tenant show what failed or waits anywhere', async () => {
    expect(await deployment().run('operations', 'list')).toEqual(expect.any(Array))
  })
}

/** Runs the commands of operators that no other test of the deployed stack runs. */
export function operatorsOverHttp(deployment: () => Deployment): void {
  verificationOverHttp(deployment)
  findOverHttp(deployment)
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
