import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { commandActions } from '#bin/permissions/command-actions.ts'
import { listen } from './bus-listener.ts'
import { clientOverHttp } from './client-over-http.ts'
import { codesOverHttp } from './codes-over-http.ts'
import { consolePage } from './console-page.ts'
import { type Deployment, deploy, type Send } from './deployment.ts'
import { identityOverHttp } from './identity-over-http.ts'
import { importsOverHttp } from './imports-over-http.ts'
import { localAwsOverHttp } from './local-aws-over-http.ts'
import { loginOverHttp } from './login-over-http.ts'
import { moneyOverHttp } from './money-over-http.ts'
import { operatorsOverHttp } from './operators-over-http.ts'
import { permissionsOverHttp } from './permissions-over-http.ts'
import { recordedActions } from './recorded-actions.ts'
import { redriveOverHttp } from './redrive-over-http.ts'
import { routingOverHttp } from './routing-over-http.ts'
import { schemathesis } from './schemathesis.ts'
import { nothingLeaked } from './secrecy.ts'
import { subscribersOverHttp } from './subscribers-over-http.ts'

/** Commands that these tests do not run. Others compare the calls of some of them, or run their code with recorded answers. */
const runElsewhere = [
  'console',
  'env',
  'runbook',
  'events replay',
  'orders erase',
  'webhook secret',
  'sessions list',
  'sessions revoke',
  'api-keys list',
  'api-keys rotate',
  'api-keys revoke',
  'subscribers list',
  'subscribers update',
  'subscribers rotate-secret',
  'subscribers re-encrypt',
  'tenants purge',
  'holds set',
  'holds list',
  'holds lift',
  'tenants block',
  'tenants unblock',
  'tenants connect',
  'tenants disconnect',
  'tenants list',
  'dead-letters list',
  'dead-letters discard',
  'table restore',
  'table carry-over',
  'freeze',
  'unfreeze',
  'addresses list',
  'addresses block',
  'addresses unblock',
  'preflight',
  'rollback',
  'releases',
]

let service: Deployment
let listener: Awaited<ReturnType<typeof listen>>
beforeAll(async () => {
  service = await deploy()
  listener = await listen(service)
}, 1_800_000)
afterAll(async () => {
  await listener?.close()
  await service?.stop()
})

const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' }
const place = (key: string, options: Send = {}) =>
  service.send('/v1/orders', {
    method: 'POST',
    body: order,
    ...options,
    headers: { 'Idempotency-Key': key, ...options.headers },
  })

describe('discount codes over HTTP on the deployed stack', () => codesOverHttp(() => service))
describe('imports over HTTP on the deployed stack', () => importsOverHttp(() => service))

describe('the client on the deployed stack', () => clientOverHttp(() => service))

describe('refunds, webhooks and discounts over HTTP on the deployed stack', () =>
  moneyOverHttp(() => ({ service, listener })))

describe('redrive of failed stream changes on the deployed stack', () =>
  redriveOverHttp(() => ({ service, listener })))

describe('the console in a browser', () => consolePage(() => service))
describe('one-time codes, sessions and API keys over HTTP on the deployed stack', () =>
  identityOverHttp(() => service))
describe('logins over HTTP on the deployed stack', () => loginOverHttp(() => service))
describe('the local AWS below the deployed stack', () => localAwsOverHttp(() => service))

describe('commands of operators on the deployed stack', () => operatorsOverHttp(() => service))
describe('subscribers on the deployed stack', () => subscribersOverHttp(() => service))

describe('permissions of the commands above', () => {
  recordedActions(
    () => service,
    Object.keys(commandActions).filter((name) => !runElsewhere.includes(name)),
  )
})

describe('orders over HTTP on the deployed stack', () => {
  test('an order is created, replayed, read and listed', async () => {
    const first = await place('first')
    expect([first.status, first.headers.get('idempotency-status')]).toEqual([201, 'stored'])
    const { href } = new URL(first.headers.get('location') ?? '', service.base_url)
    expect(href).toBe(`${service.base_url}/v1/orders/${first.json.id}`)
    const byLocation = await service.send(href.slice(service.base_url.length))
    expect(byLocation.json).toEqual(first.json)

    const replay = await place('first')
    expect([replay.text, replay.headers.get('idempotency-status')]).toEqual([first.text, 'replayed'])
    const read = await service.send(`/v1/orders/${first.json.id}`, { as: { role: 'Viewer' } })
    expect([read.status, read.json]).toEqual([200, first.json])
    const headers = { 'If-None-Match': read.headers.get('etag') ?? '' }
    const unchanged = await service.send(`/v1/orders/${first.json.id}`, { headers })
    expect([unchanged.status, unchanged.text]).toEqual([304, ''])
    const list = await service.send('/v1/orders')
    expect(list.json.data).toEqual([first.json])
  })

  test('order.created and order.placed reach a subscriber', async () => {
    const placed = await place('events', {
      as: { tenant: 'listened' },
      headers: { 'X-Correlation-Id': 'corr-1' },
    })
    const ours = () => listener.received.filter(({ data }) => data.tenant_id === 'listened')
    await listener.until(() => ours().length >= 2)
    const data = { id: placed.json.id, tenant_id: 'listened' }
    expect(ours().toSorted((a, b) => (a.type < b.type ? -1 : 1))).toMatchObject([
      { type: 'order.created', version: 1, correlation_id: 'corr-1', data },
      { type: 'order.placed', version: 1, correlation_id: 'corr-1', data },
    ])
    for (const { occurred_at } of ours()) expect(occurred_at).toMatch(/Z$/)
  })
})

routingOverHttp(() => service)

test('Schemathesis finds no server error and no response that openapi.json does not describe', async () => {
  const token = await service.token({ tenant: 'fuzzed', scope: 'codes:read codes:write' })
  const { passed, report, operations } = await schemathesis(service.base_url, token)
  if (!passed) throw new Error(report)
  expect(report).toMatch(new RegExp(`Tested: +${operations}`))
}, 1_800_000)

describe('the logs of the entire run', () => nothingLeaked(() => service))
describe('permissions of the deployed roles', () => permissionsOverHttp(() => service))
