import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { deployedTable, dynamodbClient } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { type HttpServer, startHttpServer } from '#test/support/http-server.ts'

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Uint8Array, data: string) => createHmac('sha256', key).update(data).digest()

const secret = 'a secret key'

/** Computes the signature of a request as AWS does (Signature Version 4). */
function signatureOf({ method, url, headers }: IncomingMessage, body: Uint8Array): string {
  const [, scope = '', names = ''] =
    /Credential=[^/]+\/(\S+), SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? []
  const signed = names.split(';').map((name) => `${name}:${headers[name]}`)
  const canonical = [method, url, '', ...signed, '', names, sha256(body)].join('\n')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = scope.split('/').reduce<string | Uint8Array>(hmac, `AWS4${secret}`)
  return hmac(key, text).toString('hex')
}

/** Handles the requests of the next test. */
let listener: RequestListener
let server: HttpServer
beforeAll(async () => {
  server = await startHttpServer((request, response) => listener(request, response))
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL_DYNAMODB: server.url,
  })
  dynamodbClient()
})
afterAll(async () => {
  dynamodbClient().destroy()
  await server.stop()
})

test('calls of the table are signed as AWS checks it', async () => {
  const computed: string[] = []
  const sent: string[] = []
  listener = async (request, response) => {
    computed.push(signatureOf(request, await buffer(request)))
    sent.push(/Signature=(\w+)/.exec(request.headers.authorization ?? '')?.[1] ?? '')
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end('{}')
  }
  const table = deployedTable('orders', { clock: systemClock, budget: startBudget(systemClock, 60_000) })
  for (const pk of ['one', 'ä']) await table.put({ item: { pk, sk: '1' }, condition: 'none' })
  expect(sent).toHaveLength(2)
  expect(sent).toEqual(computed)
})

test('a call of the table that gets no response ends with its budget', async () => {
  listener = () => {}
  const table = deployedTable('orders', { clock: systemClock, budget: startBudget(systemClock, 50) })
  await expect(table.get({ pk: 'one', sk: '1' })).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
})

test('a call of the table is limited to the time that is left, and one millisecond', async () => {
  const handle = jest.spyOn(dynamodbClient().config.requestHandler, 'handle')
  handle.mockResolvedValue({ response: { statusCode: 200, headers: {}, body: Buffer.from('{}') } } as never)
  const clock = { ...systemClock, now: () => 0 }
  const table = deployedTable('orders', { clock, budget: startBudget(clock, 1233) })
  await table.get({ pk: 'one', sk: '1' })
  expect(handle.mock.calls).toEqual([
    [expect.objectContaining({ milliseconds: 1233 + 1 }), expect.anything()],
  ])
})
