import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { rollBack } from '#bin/commands/rollback.ts'

/** Functions with the hour of publication of each version, starting with version 1. */
const published: Record<string, number[]> = {}
const live = new Map<string, string>()
const weights = new Map<string, unknown>()
const updatedAt = '2026-01-01T08:00:00.000Z'
const hour = (n: number) => `2026-01-01T${String(n).padStart(2, '0')}:00:00.000+0000`

const summary = (type: string, id: string) =>
  `<member><LogicalResourceId>x</LogicalResourceId><ResourceType>${type}</ResourceType><PhysicalResourceId>${id}</PhysicalResourceId></member>`
const aliasOf = (name: string) =>
  summary('AWS::Lambda::Alias', `arn:aws:lambda:us-east-1:111122223333:function:${name}:live`)
const resources: Record<string, string> = {
  'commerce-prod': aliasOf('orders') + aliasOf('codes') + summary('AWS::CloudFormation::Stack', 'nested'),
  nested: aliasOf('refunds'),
}

/** Fakes CloudFormation and Lambda. */
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const [, name = '', what = ''] = /\/functions\/(\w+)\/(.*)$/.exec(request.url ?? '') ?? []
  if (name === '') {
    const stack = new URLSearchParams(body).get('StackName') ?? ''
    response.setHeader('Content-Type', 'text/xml')
    const answer = body.includes('Action=DescribeStacks')
      ? `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><LastUpdatedTime>${updatedAt}</LastUpdatedTime></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
      : `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>${resources[stack]}</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`
    response.end(answer)
    return
  }
  response.setHeader('Content-Type', 'application/json')
  if (what.startsWith('versions')) {
    const versions = (published[name] ?? []).map((at, index) => ({
      Version: `${index + 1}`,
      LastModified: hour(at),
    }))
    response.end(JSON.stringify({ Versions: [{ Version: '$LATEST', LastModified: hour(9) }, ...versions] }))
    return
  }
  if (request.method === 'PUT') {
    const { FunctionVersion, RoutingConfig } = JSON.parse(body)
    live.set(name, FunctionVersion)
    weights.set(name, RoutingConfig)
  }
  response.end(JSON.stringify({ FunctionVersion: live.get(name) }))
})
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
afterAll(() => {
  server.close()
})

const { port } = server.address() as AddressInfo
const access = {
  endpoint: `http://127.0.0.1:${port}`,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
}
const clients = { cloudFormation: new CloudFormationClient(access), lambda: new LambdaClient(access) }
const run = (options: { dryRun?: boolean; before?: Date } = {}) =>
  rollBack({ stack: 'commerce-prod', dryRun: false, ...options }, clients)

beforeEach(() => {
  weights.clear()
  Object.assign(published, { orders: [1, 5, 9], codes: [1, 5], refunds: [9] })
  for (const [name, versions] of Object.entries(published)) live.set(name, `${versions.length}`)
})

describe('a rollback', () => {
  test('moves the functions of the last update to their previous version, and no others', async () => {
    await run()
    expect(Object.fromEntries(live)).toEqual({ orders: '2', codes: '2', refunds: '1' })
  })

  test('moves functions back to one common time, in nested stacks too', async () => {
    published.refunds = [2, 9]
    live.set('refunds', '2')
    await run({ before: new Date('2026-01-01T03:00:00Z') })
    expect(Object.fromEntries(live)).toEqual({ orders: '1', codes: '1', refunds: '1' })
  })

  test('sends no request to any other version', async () => {
    await run()
    expect(Object.fromEntries(weights)).toEqual({ orders: { AdditionalVersionWeights: {} } })
  })

  test('as a dry run prints its moves and makes none', async () => {
    const moves = await run({ dryRun: true })
    expect(moves).toEqual([{ functionName: 'orders', alias: 'live', from: '3', to: '2' }])
    expect(live.get('orders')).toBe('3')
  })

  test('that is repeated changes nothing more', async () => {
    await run()
    expect(await run()).toEqual([])
  })
})
