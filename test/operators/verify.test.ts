import type { IncomingMessage, RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { deleteTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { verifyEdge, verifyExport, verifyMail, verifyProtection } from '#bin/commands/verify/checks-of-aws.ts'
import { checksOf, type VerifyTarget } from '#bin/commands/verify/requests.ts'
import { verify, verifyScopes, verifyStack } from '#bin/commands/verify/verify.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { Settings } from '#shared/settings/register.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { accessOf } from '#test/support/fake-aws.ts'
import { answering, type Operations } from '#test/support/fake-clients.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import { type HttpService, serveHttp } from '#test/support/http-service.ts'
import { naming } from '#test/support/naming.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'

let service: Service
let http: HttpService
beforeAll(async () => {
  // `verifyStack` calls DynamoDB itself.
  service = await startService({ tableName: await createTable() })
  http = await serveHttp(service)
})
afterAll(() => http.stop())

const secret = 'whsec_bm90IHRoZSBrZXkgb2YgdGhlIHNlcnZpY2U='

function targetOf(baseUrl: string): VerifyTarget {
  const operator = { table: service.table, clock: systemClock, name: 'jane' }
  const common = { settings: localSettings, secret, operator, onAws: false, waitSeconds: 0 }
  return { baseUrl, apiKey: '', tenant: 'verify', ...common }
}

async function passedChecks(tenant: string, into: string[]): Promise<void> {
  const scopes = verifyScopes(localSettings)
  const operator = { table: service.table, clock: systemClock, name: 'jane' }
  const { key: apiKey } = await createApiKey(operator, { tenant, name: 'verify', scopes })
  await verify({ ...targetOf(http.base_url), tenant, apiKey }, (check) => into.push(check))
}

// The end-to-end tests run all checks on the deployed stack.
describe('npx commerce verify', () => {
  test('stops at the first failed check: a webhook signed with another secret', async () => {
    const passed: string[] = []
    await expect(passedChecks('verify-well', passed)).rejects.toThrow(
      /^webhook: expected an accepted event, received 401 /,
    )
    expect(passed).toEqual([
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
    ])
  })

  test('names the expected and the received response', async () => {
    const passed: string[] = []
    await placeOrder(service, 'verify-used')
    await expect(passedChecks('verify-used', passed)).rejects.toThrow(
      /^list: expected only the created order, received 200 /,
    )
    expect(passed).toEqual([
      ...['health', 'rejected token', 'unknown route', 'wrong method'],
      ...['create', 'replay', 'mismatch'],
    ])
  })

  test('names an address that cannot be reached', async () => {
    await expect(verify(targetOf('http://127.0.0.1:1'), () => {})).rejects.toThrow(
      'http://127.0.0.1:1/health cannot be reached',
    )
  })

  /** Runs all checks but those that only AWS can pass, on a service with some other settings. */
  async function checksWith(changes: Partial<Settings>) {
    const settings = { ...localSettings, ...changes }
    const other = await startService({ settings })
    const server = await serveHttp(other)
    const operator = { table: other.table, clock: systemClock, name: 'jane' }
    const passed: string[] = []
    const skipped: string[] = []
    const scopes = verifyScopes(settings)
    const { key: apiKey } = await createApiKey(operator, { tenant: 'verify', name: 'verify', scopes })
    const target = { ...targetOf(server.base_url), settings, operator, apiKey }
    const ended = verify(target, (check, reason) => {
      if (reason === undefined) passed.push(check)
      else skipped.push(`${check}: ${reason}`)
    }).then(
      () => '',
      ({ message }: Error) => message,
    )
    const message = await ended
    await server.stop()
    return { passed, skipped, message }
  }
  const scopes = localSettings['auth.operationScopes']

  test('skips the checks of operations that no API key may use, and names them', async () => {
    const closed = { ...scopes, 'orders.create': null, 'imports.create': null, 'codes.export': null }
    const { passed, skipped } = await checksWith({ 'auth.operationScopes': closed })
    expect(passed).toEqual([
      ...['health', 'rejected token', 'unknown route', 'wrong method', 'rejected signature'],
    ])
    expect(skipped.slice(0, 3)).toEqual([
      expect.stringMatching(naming('create … auth.operationScopes … orders.create')),
      expect.stringMatching(naming('webhook … auth.operationScopes … orders.create')),
      expect.stringMatching(naming('import … auth.operationScopes … imports.create')),
    ])
  })

  test('skips the mail of a deployment without a sender', async () => {
    const closed = { ...scopes, 'orders.create': null, 'imports.create': null, 'codes.export': null }
    const { skipped, message } = await checksWith({ 'auth.operationScopes': closed, 'mail.sender': null })
    expect(skipped).toContain('mail: mail.sender names none')
    expect(message).toBe('')
  })

  test('sends an Idempotency-Key with each request that accepts one', async () => {
    const closed = { ...scopes, 'orders.create': null, 'codes.export': null }
    const requiredOn = ['otp.request', 'imports.create']
    const { message } = await checksWith({
      'auth.operationScopes': closed,
      'idempotency.requiredOn': requiredOn,
    })
    // Nothing imports here, so the check gets no further than its accepted request.
    expect(message).toMatch(naming('import … 200'))
    const noImport = { ...closed, 'imports.create': null }
    const mailed = await checksWith({
      'auth.operationScopes': noImport,
      'idempotency.requiredOn': requiredOn,
    })
    expect(mailed.message).toMatch(naming('mail … 202'))
  })

  test('needs no scope beyond those of its requests', () => {
    expect(verifyScopes(localSettings)).toEqual([
      'orders:write',
      'orders:read',
      'imports:write',
      'operations:read',
      'codes:read',
    ])
  })
})

/** Serves responses of a test, until it ends. */
async function serving(listener: RequestListener, use: (baseUrl: string) => Promise<void>): Promise<void> {
  const { url, stop } = await startHttpServer(listener)
  await use(url).finally(stop)
}

describe('a check that only AWS can pass', () => {
  const passed: string[] = []
  const onAws = (baseUrl: string): VerifyTarget => ({ ...targetOf(baseUrl), onAws: true })
  const checksAt = (target: VerifyTarget) => checksOf(target, (check) => passed.push(check))

  test('fails if the gateway takes a bearer token for a signature', async () => {
    const listener: RequestListener = (_, response) => response.writeHead(403).end('{}')
    await serving(listener, async (baseUrl) => {
      const target = onAws(baseUrl)
      await expect(verifyEdge(target, checksAt(target))).rejects.toThrow(
        naming('404 … NOT_FOUND.route … 403'),
      )
    })
  })

  test('passes if an error of the gateway names the only allowed origin', async () => {
    const target = onAws(http.base_url)
    await verifyEdge(target, checksAt(target))
    expect(passed.at(-1)).toBe('error of the gateway')
  })

  test('fails if an error of the gateway names no origin', async () => {
    const settings = { ...localSettings, 'cors.allowedOrigins': ['https://other.example'] }
    const target = { ...onAws(http.base_url), settings }
    await expect(verifyEdge(target, checksAt(target))).rejects.toThrow(
      naming('413 … VALIDATION.body.too_large … https://other.example'),
    )
  })

  test.each([
    ['no origin', []],
    ['two origins', ['https://one.example', 'https://two.example']],
  ])('passes if the profile names %s, and so does an error of the gateway', async (_, origins) => {
    const settings = { ...localSettings, 'cors.allowedOrigins': origins }
    const received: (string | undefined)[] = []
    /** Responds as the gateway, which names no origin. */
    const gateway: RequestListener = (request, response) => {
      received.push(request.headers.origin)
      const code = request.url === '/no/such/route' ? 'NOT_FOUND.route' : 'VALIDATION.method.not_allowed'
      const isOversized = request.method === 'POST'
      const error = { code: isOversized ? settings['limits.tooLarge'] : code }
      const status = isOversized ? 413 : code === 'NOT_FOUND.route' ? 404 : 405
      request.resume().on('end', () => response.writeHead(status).end(JSON.stringify({ error })))
    }
    await serving(gateway, async (baseUrl) => {
      const target = { ...onAws(baseUrl), settings }
      await verifyEdge(target, checksAt(target))
    })
    expect(passed.at(-1)).toBe('error of the gateway')
    expect(received.at(-1)).toBe(origins[0])
  })

  /** Answers each request with a redirect to a file, which names the origins that may read it. */
  const exporting =
    (allowed: string): RequestListener =>
    ({ url, headers }, response) => {
      const file = 'x'.repeat(localSettings['codes.export'].inlineMaxBytes + 1)
      if (url?.startsWith('/codes:export'))
        response.writeHead(303, { Location: `http://${headers.host}/file` }).end()
      else if (headers.origin === 'null')
        response.writeHead(200, { 'Access-Control-Allow-Origin': allowed }).end(file)
      else response.writeHead(403).end()
    }

  test.each([
    ['null', 'passes', undefined],
    ['*', 'passes', undefined],
    ['https://shop.acme.cloud', 'fails', 'that a page can read'],
  ])('with a bucket that allows %s, as browsers call it after a redirect, %s', async (allowed, _, reason) => {
    passed.length = 0
    await serving(exporting(allowed), async (baseUrl) => {
      const target = { ...onAws(baseUrl), tenant: `verify-export-${passed.length}` }
      const checking = verifyExport(target, checksAt(target))
      if (reason === undefined) await checking
      else await expect(checking).rejects.toThrow(reason)
    })
    expect(passed).toEqual(reason === undefined ? ['export'] : [])
  })

  test('leaves codes that are deleted with the tenant', async () => {
    await serving(exporting('null'), async (baseUrl) => {
      const target = { ...onAws(baseUrl), tenant: 'verify-exported' }
      await verifyExport(target, checksAt(target))
      const { code = 0 } = await deleteTenant(target.operator, target.tenant, { withAudit: true })
      expect(code).toBeGreaterThan(10)
    })
    expect(await service.items('verify-exported', 'code')).toEqual([])
  })

  test('fails if the delivery of a mail is not reported', async () => {
    const target = {
      ...onAws(http.base_url),
      settings: { ...localSettings, 'otp.deliveredOn': 'delivery' as const },
    }
    await expect(verifyMail(target, checksAt(target))).rejects.toThrow(naming('mail … delivered'))
  })
})

describe('the protection of a table with data of customers', () => {
  const protectedTable = {
    DescribeTable: () => ({
      Table: { DeletionProtectionEnabled: true, SSEDescription: { Status: 'ENABLED' } },
    }),
    DescribeContinuousBackups: () => recovery('ENABLED'),
  }
  const recovery = (PointInTimeRecoveryStatus: string) => ({
    ContinuousBackupsDescription: { PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus } },
  })
  const check = (changes: Operations) => {
    const aws = answering({ ...protectedTable, ...changes })
    return verifyProtection('orders', aws(new DynamoDBClient({ region: 'eu-west-1' })))
  }

  test('is complete', async () => {
    await expect(check({})).resolves.toBeUndefined()
  })

  test.each<[string, Operations, string]>([
    [
      'deletion protection',
      { DescribeTable: () => ({ Table: {} }) },
      'orders … --deletion-protection-enabled',
    ],
    [
      'recovery to a point in time',
      { DescribeContinuousBackups: () => recovery('DISABLED') },
      'orders … update-continuous-backups',
    ],
    [
      'a key',
      {
        DescribeTable: () => ({
          Table: {
            DeletionProtectionEnabled: true,
            SSEDescription: { InaccessibleEncryptionDateTime: new Date() },
          },
        }),
      },
      'orders … key',
    ],
  ])('fails without %s', async (_, changes, message) => {
    await expect(check(changes)).rejects.toThrow(naming(message))
  })
})

describe('npx commerce verify on a stack', () => {
  const headersOf = ({ headers }: IncomingMessage) =>
    Object.fromEntries(
      ['x-amz-target', 'x-amz-date', 'authorization', 'content-type'].map((name) => [
        name,
        String(headers[name]),
      ]),
    )

  /** Runs it with DynamoDB, which may reject writes after a check, and a secret. */
  async function verifyWith({ stopAfter, rejectAfter }: { stopAfter?: string; rejectAfter?: string }) {
    const passed: string[] = []
    const aws: RequestListener = async (request, response) => {
      const target = String(request.headers['x-amz-target'])
      const body = await text(request)
      const isRejected = passed.includes(String(rejectAfter)) && target.endsWith('TransactWriteItems')
      const answer = target.startsWith('secretsmanager')
        ? Response.json({ SecretString: secret })
        : isRejected
          ? Response.json({ __type: 'AccessDeniedException', message: 'not allowed' }, { status: 400 })
          : await fetch(String(process.env.DYNAMODB_ENDPOINT), {
              method: 'POST',
              headers: headersOf(request),
              body,
            })
      response
        .writeHead(answer.status, { 'Content-Type': 'application/x-amz-json-1.0' })
        .end(await answer.text())
    }
    const stopped = new AbortController()
    let left = ''
    let thrown: Error | undefined
    await serving(aws, async (endpoint) => {
      const access = accessOf(endpoint)
      const outputs = { TableName: service.tableName, BaseUrl: http.base_url, WebhooksSecretArn: 'arn' }
      const onStop = (named: string) => {
        left = named
      }
      const options = { settings: localSettings, signal: stopped.signal, onStop }
      await verifyStack({ access, outputs }, options, (check) => {
        passed.push(check)
        if (check === stopAfter) stopped.abort(new Error('interrupted'))
      }).catch((error: Error) => {
        thrown = error
      })
    })
    return { passed, left, message: thrown?.message }
  }

  test('ends after the current check of a signal, and removes its tenant', async () => {
    const { passed, left, message } = await verifyWith({ stopAfter: 'create' })
    expect(message).toBe('interrupted')
    expect(passed.at(-1)).toBe('create')
    const [, tenant = '?'] = /the tenant (verify-\S+) /.exec(left) ?? []
    const items = await itemsOf(service.tableName)
    const ofTenant = items.filter(({ pk }) => pk.includes(tenant) && !pk.startsWith('idempotency#'))
    expect(ofTenant.map(({ pk }) => pk)).toEqual([])
  })

  test('names the failed check and what it could not remove', async () => {
    const { message } = await verifyWith({ rejectAfter: 'rejected signature' })
    expect(message).toMatch(
      /^webhook: expected an accepted event, received 401 .*\. the tenant verify-\S+ and its API key \S+ could not be removed: /s,
    )
  })
})
