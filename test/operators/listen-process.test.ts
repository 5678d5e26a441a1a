import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { compileCache } from '#test/support/compile-cache.ts'
import { startHttpServer } from '#test/support/http-server.ts'

const outputs = '<member><OutputKey>EventBusName</OutputKey><OutputValue>bus</OutputValue></member>'
const stacks = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><Outputs>${outputs}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

/** Runs `events listen` against an AWS without events, and sends it a signal as soon as it waits for them. */
async function listenUntil(signal: NodeJS.Signals) {
  const left = new Set<string>()
  const created: string[] = []
  let waiting = () => {}
  const waits = new Promise<void>((resolve) => {
    waiting = resolve
  })
  const create = (kind: string, answer: (host: string) => object) => (host: string) => {
    left.add(kind)
    created.push(kind)
    return answer(host)
  }
  const remove = (kind: string) => () => {
    left.delete(kind)
    return {}
  }
  const operations: Record<string, (host: string) => object | undefined> = {
    PutRule: create('rule', () => ({ RuleArn: 'arn:aws:events:eu-west-1:111122223333:rule/rule' })),
    CreateQueue: create('queue', (host) => ({ QueueUrl: `http://${host}/111122223333/queue` })),
    GetQueueAttributes: () => ({ Attributes: { QueueArn: 'arn:aws:sqs:eu-west-1:111122223333:queue' } }),
    PutTargets: create('target', () => ({})),
    // A long poll of an empty queue.
    ReceiveMessage: () => void waiting(),
    RemoveTargets: remove('target'),
    DeleteRule: remove('rule'),
    DeleteQueue: remove('queue'),
  }
  const aws: RequestListener = async (request, response) => {
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.')
    const body = await text(request)
    if (body.includes('Action=DescribeStacks')) response.end(stacks)
    const answer = operations[operation]?.(request.headers.host ?? '')
    if (answer) response.setHeader('Content-Type', 'application/x-amz-json-1.1').end(JSON.stringify(answer))
  }
  const { url, stop } = await startHttpServer(aws)
  const child = spawn(process.execPath, ['bin/commerce.ts', 'events', 'listen', '--stack', 's'], {
    cwd: join(import.meta.dirname, '../..'),
    env: {
      ...process.env,
      ...compileCache,
      ...{ AWS_ENDPOINT_URL: url, AWS_REGION: 'eu-west-1' },
      ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const errors = text(child.stderr)
  const ended = once(child, 'close')
  await Promise.race([waits, ended])
  child.kill(signal)
  const [code] = await ended
  await stop()
  return { code, left: [...left], created, errors: await errors }
}

describe.each(['SIGINT', 'SIGHUP'] as const)('npx commerce events listen, ended by %s', (signal) => {
  let result: Awaited<ReturnType<typeof listenUntil>>
  beforeAll(async () => {
    result = await listenUntil(signal)
  })

  test('had created a rule with a queue', () => {
    expect(result.created).toEqual(['rule', 'queue', 'target'])
  })

  test('leaves none of them behind', () => {
    expect(result.left).toEqual([])
  })

  test('reports no error', () => {
    expect(result.errors).toMatch(/^[^\n]*Ctrl-C[^\n]*\n$/)
  })

  test('has the exit code 0', () => {
    expect(result.code).toBe(0)
  })
})
