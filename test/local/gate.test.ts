import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Engine, engineHeaders, startEngine } from '#bin/local/engine.ts'
import { installEngine, isEngineInstalled } from '#bin/local/engine-install.ts'
import type { LocalAws } from '#bin/local/environment.ts'
import { directoryOf } from '#bin/local/local-service.ts'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'
import { messageId } from '#shared/error-catalog.ts'
import { freePort } from '#test/support/free-port.ts'
import { type HttpServer, startHttpServer } from '#test/support/http-server.ts'
import { type AwsRequest, signedHeaders } from '#test/support/signed-request.ts'
import { responsesTo, specialTargets } from './request-targets.ts'

const page = 'http://localhost:5173'
const port = await freePort()
const directory = directoryOf(port)
let engine: Engine
let aws: LocalAws
beforeAll(async () => {
  if (!isEngineInstalled())
    await installEngine((await checkPrerequisites()).python, new AbortController().signal)
  engine = await startEngine({ port, directory, origins: [page] })
  aws = engine.aws
})
afterAll(async () => {
  await engine?.stop()
  await rm(directory, { recursive: true, force: true })
})

interface Sent {
  method?: string
  path?: string
  headers?: Record<string, string>
  body?: string
}

/** Sends a request with headers that `fetch` does not allow. */
async function send({ method = 'GET', path = '/', headers = {}, body = '' }: Sent) {
  const sent = request({ port, host: '127.0.0.1', method, path, headers })
  sent.on('error', () => {})
  sent.end(body)
  const [answer] = await once(sent, 'response')
  return { status: Number(answer.statusCode), headers: answer.headers, body: await text(answer) }
}

/** Sends a request that is signed, then changed. */
async function sendSigned(signed: AwsRequest, changed: Sent = {}, as = aws, at = new Date()) {
  const headers = await signedHeaders(as, signed, at)
  return send({ ...signed, ...changed, headers: { ...headers, ...changed.headers } })
}

const api = '/restapis/0a1b2c3d/local/_user_request_/health'
const listLogs: AwsRequest = {
  service: 'logs',
  method: 'POST',
  headers: {
    'X-Amz-Target': 'Logs_20140328.DescribeLogGroups',
    'Content-Type': 'application/x-amz-json-1.1',
  },
  body: '{}',
}
/** The errors of SDKs for credentials that are not accepted. */
const rejection =
  /IncompleteSignature|UnrecognizedClient|InvalidSignature|MissingAuthenticationToken|AccessDenied/
const functions = '/2015-03-31/functions'
const newFunction = JSON.stringify({
  FunctionName: 'theirs',
  Runtime: 'nodejs24.x',
  Role: 'arn:aws:iam::000000000000:role/any',
  Handler: 'index.handler',
  Code: { ZipFile: 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==' },
})
const madeUp = (key: string) =>
  `AWS4-HMAC-SHA256 Credential=${key}/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=${'0'.repeat(64)}`

describe('a stranger creates no function', () => {
  const Origin = 'https://evil.example'
  const create = (headers: Record<string, string>) =>
    send({ method: 'POST', path: functions, headers, body: newFunction })

  test.each(['test', '000000000000', 'LOCAL0123456789ABCDEF'])(
    'from a web page, with a made-up signature of %s',
    async (key) => {
      const { status } = await create({ Origin, Authorization: madeUp(key), 'Content-Type': 'text/plain' })
      expect(status).toBe(403)
    },
  )

  test.each([
    ['without a signature', {}],
    ['with a made-up signature', { Authorization: madeUp('test') }],
    ['with a bearer token', { Authorization: 'Bearer test' }],
    ['with a signature of version 2', { Authorization: 'AWS test:AAAA' }],
  ])('%s', async (_, headers) => {
    expect((await create(headers)).status).toBeGreaterThanOrEqual(400)
  })

  afterAll(async () => {
    const { body } = await sendSigned({ service: 'lambda', method: 'GET', path: functions })
    expect(JSON.parse(body).Functions).toEqual([])
  })
})

describe('a host', () => {
  test.each([`127.0.0.1:${port}`, `localhost:${port}`])('%s is served', async (Host) => {
    expect((await send({ path: api, headers: { Host } })).status).toBe(404)
  })

  test.each([
    `rebound.example:${port}`,
    `localhost.evil.example:${port}`,
    `evil.example@localhost:${port}`,
    `127.0.0.1:${port - 1}`,
    '127.0.0.1',
    'localhost',
    `0a1b2c3d.execute-api.localhost:${port}`,
  ])('%p is refused', async (Host) => {
    expect((await send({ path: api, headers: { Host } })).status).toBe(403)
  })

  test('is refused in the target of the request', async () => {
    expect((await send({ path: `http://localhost:${port}${api}` })).status).toBe(403)
  })

  test('that names a bucket needs a signature like any other', async () => {
    expect((await send({ headers: { Host: `files.localhost:${port}` } })).status).toBe(403)
  })
})

describe('a web page', () => {
  const denied = 'AUTHZ.request.denied'

  test.each([page])('of %s may call the API', async (Origin) => {
    expect((await send({ path: api, headers: { Origin } })).status).toBe(404)
  })

  test.each(['https://evil.example', 'null', `${page}.evil.example`, 'http://127.0.0.1:5173', ''])(
    'of %p may not call the API',
    async (Origin) => {
      const { status, headers, body } = await send({ path: api, headers: { Origin } })
      const { error } = JSON.parse(body)
      expect([status, error.code, error.http, error.retryable]).toEqual([403, denied, 403, false])
      expect([error.message_id, error.correlation_id]).toEqual([
        messageId(denied),
        headers['x-correlation-id'],
      ])
      expect(error.details.message).toContain('cors.allowedOrigins')
    },
  )

  test.each(['/', '/_ministack/health', '/restapis', '/restapis/0a1b2c3d/resources'])(
    'of an allowed origin may not call %s',
    async (path) => {
      const preflight = await send({ method: 'OPTIONS', path, headers: { Origin: page } })
      expect(preflight).toMatchObject({ status: 403, headers: expect.not.objectContaining(anyOrigin) })
    },
  )
  const anyOrigin = { 'access-control-allow-origin': expect.anything() }

  test('may not call even with a valid signature', async () => {
    const { status } = await sendSigned(listLogs, { headers: { Origin: page } })
    expect(status).toBe(403)
  })

  test('is not permitted to read any response', async () => {
    const { status, headers } = await sendSigned(listLogs)
    expect([status, headers['access-control-allow-origin']]).toEqual([200, undefined])
  })
})

describe('a signature', () => {
  test('of the run is accepted', async () => {
    expect(await sendSigned(listLogs)).toMatchObject({ status: 200 })
  })

  const other = (accessKeyId: string, secretAccessKey: string) => () => ({
    ...aws,
    credentials: { accessKeyId, secretAccessKey },
  })
  test.each<[string, () => LocalAws]>([
    ['an unknown key', other('LOCAL', 'secret')],
    ['the default of the engine', other('test', 'test')],
    ['an account', other('000000000000', 'test')],
    ['no key', other('', 'test')],
    ['another secret', () => other(aws.credentials.accessKeyId, 'test')()],
  ])('of %s is refused', async (_, as) => {
    expect((await sendSigned(listLogs, {}, as())).body).toMatch(rejection)
  })

  test.each<[string, Sent]>([
    ['body', { body: '{"limit":1}' }],
    ['path', { path: '/other' }],
    ['query', { path: '/?Action=ListUsers' }],
    ['target', { headers: { 'x-amz-target': 'Logs_20140328.DescribeQueries' } }],
    ['set of x-amz headers', { headers: { 'x-amz-invocation-type': 'Event' } }],
    ['date', { headers: { 'x-amz-date': '20260101T000000Z' } }],
    ['claim about the body', { headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } }],
  ])('is refused with another %s', async (_, changed) => {
    expect((await sendSigned(listLogs, changed)).body).toMatch(rejection)
  })

  test('does not permit to leave the body unsigned, except to S3', async () => {
    const headers = { ...listLogs.headers, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
    expect((await sendSigned({ ...listLogs, headers })).body).toMatch(rejection)
  })

  test('of an hour ago is refused', async () => {
    const earlier = new Date(Date.now() - 3_600_000)
    expect((await sendSigned(listLogs, {}, aws, earlier)).body).toContain('Signature expired')
  })

  test('with two authorizations is refused', async () => {
    const headers = await signedHeaders(aws, listLogs)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const socket = connect(port, '127.0.0.1')
    socket.end(
      ['POST / HTTP/1.1', ...lines, `Authorization: ${madeUp('test')}`, 'Content-Length: 2', '', '{}'].join(
        '\r\n',
      ),
    )
    expect(await text(socket)).toMatch(/^HTTP\/1.1 40[03]/)
  })
})

describe('a link to a file', () => {
  let link: string
  let s3: S3Client
  const get = new GetObjectCommand({ Bucket: 'linked', Key: 'a b.csv' })
  beforeAll(async () => {
    s3 = new S3Client(aws)
    await s3.send(new CreateBucketCommand({ Bucket: 'linked' }))
    await s3.send(new PutObjectCommand({ Bucket: 'linked', Key: 'a b.csv', Body: 'content' }))
    link = await getSignedUrl(s3, get, { expiresIn: 60 })
  })
  afterAll(() => s3.destroy())
  const follow = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
    send({ method, path: url.slice(aws.endpoint.length), headers })

  test('is served to everybody who has it', async () => {
    expect(await follow(link)).toMatchObject({ status: 200, body: 'content' })
  })

  /** Signs like boto3 and the AWS command line. */
  const oldLink = (file: string, seconds: number, secret = aws.credentials.secretAccessKey) => {
    const Expires = String(Math.floor(Date.now() / 1000) + seconds)
    const signed = `GET\n\n\n${Expires}\n/linked/${file}`
    const Signature = createHmac('sha1', secret).update(signed).digest('base64')
    const query = new URLSearchParams({ AWSAccessKeyId: aws.credentials.accessKeyId, Expires, Signature })
    return `${aws.endpoint}/linked/${file}?${query}`
  }

  test('with a signature of version 2 is served', async () => {
    expect(await follow(oldLink('a%20b.csv', 60))).toMatchObject({ status: 200, body: 'content' })
  })

  test('that has ended is refused', async () => {
    const signingDate = new Date(Date.now() - 61_000)
    expect((await follow(await getSignedUrl(s3, get, { expiresIn: 60, signingDate }))).status).toBe(403)
  })

  const target = { 'X-Amz-Target': 'DynamoDB_20120810.ListTables' }
  const old = () => oldLink('a%20b.csv', 60)
  test.each<[string, () => Promise<{ status: number }>]>([
    ['of another file', () => follow(link.replace('.csv', '.csw'))],
    ['of the bucket', () => follow(link.replace('/a%20b.csv', ''))],
    ['with a later end', () => follow(link.replace('X-Amz-Expires=60', 'X-Amz-Expires=600'))],
    ['without an end', () => follow(link.replace('X-Amz-Expires=60&', ''))],
    ['with another parameter', () => follow(`${link}&versions`)],
    [
      'with two credentials',
      () => follow(`${link}&x-amz-credential=test/20260101/us-east-1/s3/aws4_request`),
    ],
    ['without a signature', () => follow(link.replace(/X-Amz-Signature=\w+/, ''))],
    ['with the target of another service', () => follow(link, target)],
    ['with a header that S3 reads', () => follow(link, { 'X-Amz-Request-Payer': 'requester' })],
    ['with another method', () => follow(link, {}, 'DELETE')],
    ['from a web page', () => follow(link, { Origin: page })],
    ['of version 2 that has ended', () => follow(oldLink('a%20b.csv', -60))],
    ['of version 2 and another key', () => follow(oldLink('a%20b.csv', 60, 'test'))],
    ['of version 2 and another file', () => follow(old().replace('.csv', '.csw'))],
    ['of version 2 with another parameter', () => follow(`${old()}&Action=ListUsers`)],
    ['of version 2 with a target', () => follow(old(), target)],
  ])('%s is refused', async (_, followed) => {
    expect((await followed()).status).toBeGreaterThanOrEqual(400)
  })
})

describe('the paths of the engine itself', () => {
  test('are served with the secret of the run', async () => {
    expect((await send({ path: '/_ministack/health', headers: engineHeaders(aws) })).status).toBe(200)
  })

  test.each<[string, Sent]>([
    ['without the secret', {}],
    ['with another secret', { headers: { 'X-Local-Secret': 'test' } }],
    ['with a reset', { method: 'POST', path: '/_ministack/reset' }],
    ['in an encoded path', { path: '/%5Fministack/health' }],
    ['under the name of an API', { headers: { Host: `0a1b2c3d.execute-api.localhost:${port}` } }],
  ])('are refused %s', async (_, sent) => {
    expect((await send({ path: '/_ministack/health', ...sent })).status).toBe(403)
  })
})

test('every request target gets a response', async () => {
  const targets = specialTargets.flatMap((target) => [target, api + target])
  expect(await responsesTo(`127.0.0.1:${port}`, targets)).toBe(targets.length)
  expect((await send({ path: '/_ministack/health', headers: engineHeaders(aws) })).status).toBe(200)
})

describe('the address of a caller', () => {
  let path: string
  let upstream: HttpServer
  afterAll(() => upstream?.stop())
  beforeAll(async () => {
    // The engine takes the address of an event from this header.
    upstream = await startHttpServer(({ headers }, response) => response.end(headers['x-forwarded-for']))
    const call = async (method: string, path: string, input: object = {}) => {
      const headers = { 'Content-Type': 'application/json' }
      const body = method === 'GET' ? '' : JSON.stringify(input)
      const answer = await sendSigned({ service: 'apigateway', method, path, headers, body })
      expect(answer.status).toBeLessThan(300)
      return JSON.parse(answer.body)
    }
    const { id } = await call('POST', '/restapis', { name: 'address' })
    const { item } = await call('GET', `/restapis/${id}/resources`)
    const get = `/restapis/${id}/resources/${item[0].id}/methods/GET`
    await call('PUT', get, { authorizationType: 'NONE' })
    const integration = { type: 'HTTP_PROXY', integrationHttpMethod: 'GET', uri: upstream.url }
    await call('PUT', `${get}/integration`, integration)
    await call('POST', `/restapis/${id}/deployments`, { stageName: 'local' })
    path = `/restapis/${id}/local/_user_request_/`
  })

  test.each<Record<string, string>>([{}, { 'X-Forwarded-For': '198.51.100.1' }, { 'x-forwarded-for': '' }])(
    'is that of the connection with %j',
    async (headers) => {
      expect(await send({ path, headers })).toMatchObject({ status: 200, body: '127.0.0.1' })
    },
  )
})

describe('without credentials, as on AWS,', () => {
  const call = (operation: string, input: object = {}, headers: Record<string, string> = {}) =>
    send({
      method: 'POST',
      headers: { 'X-Amz-Target': `AWSCognitoIdentityProviderService.${operation}`, ...headers },
      body: JSON.stringify({ ClientId: 'none', ...input }),
    })
  const log = (AuthFlow: string) => call('InitiateAuth', { AuthFlow, AuthParameters: {} })

  test.each(['ForgotPassword', 'ConfirmForgotPassword'])('%s is served', async (operation) => {
    const input = { Username: 'a@b.example', ConfirmationCode: '1', Password: 'Correct-horse-12!' }
    expect((await call(operation, input)).body).not.toMatch(rejection)
  })

  test('a web page requests no password reset', async () => {
    expect((await call('ForgotPassword', {}, { Origin: page })).status).toBe(403)
  })

  test('a token can be renewed', async () => {
    expect((await log('REFRESH_TOKEN_AUTH')).body).toContain('ResourceNotFoundException')
  })

  test('nobody logs in at the user pool', async () => {
    expect((await log('USER_PASSWORD_AUTH')).body).toContain('MissingAuthenticationToken')
  })

  test('other calls of the user pool are refused', async () => {
    expect((await call('SignUp')).body).toContain('MissingAuthenticationToken')
  })
})

describe('other protocols are refused:', () => {
  test.each([
    [
      'WebSocket',
      {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      },
    ],
  ])('%s', async (_, headers) => {
    expect((await send({ path: '/_aws/execute-api/0a1b2c3d/local', headers })).status).toBe(403)
  })

  test('HTTP/2 without TLS', async () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    try {
      const sent = session.request({ ':path': api })
      const [headers] = await once(sent, 'response')
      expect(headers[':status']).toBe(403)
      expect(await text(sent)).toContain('HTTP/1.1 only')
    } finally {
      session.destroy()
    }
  })
})
