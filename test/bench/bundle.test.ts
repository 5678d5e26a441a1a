import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { CreateTableCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type Bundle, bundle } from '#bin/build/bundle.ts'
import { testClient } from '#test/support/dynamodb-client.ts'

const settings = { 'sample.limit': 7, text: 'a "quoted" ß' }
const entries = {
  sample: join(import.meta.dirname, 'sample-function.ts'),
  publisher: join(import.meta.dirname, 'sample-publisher.ts'),
}
let scratch: string
let bundles: Record<string, Bundle>

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'bundle-'))
  bundles = await bundle({ entries, outdir: join(scratch, 'first'), settings: JSON.stringify(settings) })
})

afterAll(() => rm(scratch, { recursive: true, force: true }))

describe('a bundled function', () => {
  test('has the same code in every build of the same sources and settings', async () => {
    const again = await bundle({
      entries,
      outdir: join(scratch, 'again'),
      settings: JSON.stringify(settings),
    })
    const other = await bundle({ entries, outdir: join(scratch, 'other'), settings: '{}' })
    expect(again.sample?.codeSha).toBe(bundles.sample?.codeSha)
    expect(other.sample?.codeSha).not.toBe(bundles.sample?.codeSha)
    expect(other.publisher?.codeSha).toBe(bundles.publisher?.codeSha)
  })

  test('writes, reads and gets errors from DynamoDB like with the complete SDK', async () => {
    const table = await createTable()
    const { token, keys } = await signedToken()
    const first = await call('sample', { table, ids: ['b', 'a'], token, keys })
    expect(first).toMatchObject({
      settings,
      transaction: { status: 200 },
      range: ['b', 'a'],
      subject: 'someone',
    })
    expect(first.item).toMatchObject({ sk: 'b', list: [1, 'ä', null, { deep: true }] })
    expect(first.alone).toMatchObject({
      name: 'ConditionalCheckFailedException',
      isError: true,
      item: { sk: 'b' },
    })
    expect(first.missing).toMatchObject({
      name: 'ResourceNotFoundException',
      message: expect.stringContaining('non-existent table'),
      isError: true,
    })

    const second = await call('sample', { table, ids: ['c', 'a'] })
    expect(second.transaction).toMatchObject({
      name: 'TransactionCanceledException',
      fault: 'client',
      status: 400,
      reasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed', item: { pk: 'sample', sk: 'a' } }],
    })
    // The rejected transaction did not write c, so the single put of c succeeds.
    expect(second.alone).toBeUndefined()
    expect(second.range).toEqual(['c', 'b', 'a'])
  })

  test('never loads undici or HTTP/2 for a DynamoDB call', async () => {
    const { loaded } = await call('sample', { table: await createTable(), ids: ['a'] })
    expect(loaded).toEqual([])
  })

  test('signs its calls of EventBridge and Secrets Manager', async () => {
    const requests: { target: unknown; authorization: unknown; body: unknown }[] = []
    const endpoint = await stub(async (request) => {
      const { 'x-amz-target': target, authorization } = request.headers
      const body = JSON.parse(await text(request))
      requests.push({ target, authorization, body })
      if (target === 'AWSEvents.PutEvents')
        return [200, { FailedEntryCount: 0, Entries: [{ EventId: 'e1' }] }]
      if (body.SecretId === 'pepper') return [200, { SecretString: 'hot', CreatedDate: 86_400 }]
      return [400, { __type: 'ResourceNotFoundException', Message: 'none' }]
    })
    const reply = await call('publisher', {}, { AWS_ENDPOINT_URL: endpoint, AWS_SESSION_TOKEN: 'session' })
    expect(reply).toEqual({
      failed: 0,
      ids: ['e1'],
      secret: 'hot',
      created: '1970-01-02T00:00:00.000Z',
      missing: { name: 'ResourceNotFoundException', message: 'none' },
    })
    expect(requests.map(({ target, body }) => [target, body])).toEqual([
      [
        'AWSEvents.PutEvents',
        {
          Entries: [
            {
              EventBusName: 'bus',
              Source: 'sample',
              DetailType: 'order.created',
              Detail: '{"id":"ä"}',
              Time: 0,
            },
          ],
        },
      ],
      ['secretsmanager.GetSecretValue', { SecretId: 'pepper' }],
      ['secretsmanager.GetSecretValue', { SecretId: 'none' }],
    ])
    const signature = (service: string) =>
      new RegExp(
        `^AWS4-HMAC-SHA256 Credential=local/\\d{8}/eu-west-1/${service}/aws4_request, SignedHeaders=.*x-amz-security-token.*, Signature=[0-9a-f]{64}$`,
      )
    expect(requests[0]?.authorization).toMatch(signature('events'))
    expect(requests[1]?.authorization).toMatch(signature('secretsmanager'))
  })

  test.each(['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT'])(
    'rejects %s instead of ignoring it',
    async (name) => {
      await expect(call('publisher', {}, { [name]: 'true' })).rejects.toThrow('regional endpoints only')
    },
  )
})

/** Calls the bundle in a separate process, like a Lambda function. */
async function call(name: string, event: unknown, environment: Record<string, string> = {}) {
  const file = pathToFileURL(join(bundles[name]?.directory ?? '', 'index.mjs')).href
  const script = `const { handler } = await import(${JSON.stringify(file)})
    const reply = await handler(${JSON.stringify(event)}, {})
    process.stdout.write('\\n' + JSON.stringify(reply))`
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: process.env.DYNAMODB_ENDPOINT,
    ...environment,
  }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env,
  })
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n')))
}

async function createTable(): Promise<string> {
  const name = `sample-${crypto.randomUUID()}`
  const attributes = [
    { AttributeName: 'pk', AttributeType: 'S' as const },
    { AttributeName: 'sk', AttributeType: 'S' as const },
  ]
  const keys = [
    { AttributeName: 'pk', KeyType: 'HASH' as const },
    { AttributeName: 'sk', KeyType: 'RANGE' as const },
  ]
  await testClient().send(
    new CreateTableCommand({
      TableName: name,
      AttributeDefinitions: attributes,
      KeySchema: keys,
      BillingMode: 'PAY_PER_REQUEST',
    }),
  )
  return name
}

async function signedToken() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const token = await new SignJWT({ sub: 'someone' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
  return { token, keys: { keys: [await exportJWK(publicKey)] } }
}

async function stub(answer: (request: IncomingMessage) => Promise<[number, unknown]>): Promise<string> {
  const server = createServer(async (request, response) => {
    const [status, body] = await answer(request)
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
