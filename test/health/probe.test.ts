import type { RequestListener } from 'node:http'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createApiKey, revokeApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { route as healthRoute } from '#functions/health/read-health/route.ts'
import { route as listRoute } from '#functions/orders/list-orders/route.ts'
import { probe } from '#shared/health/probe.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { describeFault } from '#shared/platform/base/failure.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import { serveHttp } from '#test/support/http-service.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

const key = 'ck_acme.some-key.some-secret'
const healthPath = pathOf(healthRoute, localSettings)
const ordersPath = `${pathOf(listRoute, localSettings)}?page_size=1`
const healthy = JSON.stringify(localSettings['health.body'])

/** Responds to each path of a stage; 404 unless given. */
let responses: Record<string, RequestListener>
let requests: { path: string; headers: NodeJS.Dict<string | string[]> }[]
const { url, stop } = await startHttpServer((request, response) => {
  const path = (request.url ?? '').replace('/prod', '')
  requests.push({ path, headers: request.headers })
  const respond = responses[path]
  if (respond) respond(request, response)
  else response.writeHead(404).end()
})
const address = `${url}/prod/`

const answer =
  (status: number, body: string, headers = {}): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body)

beforeEach(() => {
  requests = []
  responses = { [healthPath]: answer(200, healthy), [ordersPath]: answer(200, '{"data":[]}') }
})
afterAll(stop)

const noLimit = new AbortController().signal

/** Returns `succeeded`, or the logged message of the fault. */
async function probed({ at = address, secret = key, signal = noLimit } = {}): Promise<string> {
  const results: string[] = []
  const log = {
    probed: (fault?: unknown) => {
      results.push(fault === undefined ? 'succeeded' : (describeFault(fault)?.message ?? 'no message'))
    },
  }
  const runtime = { settings: localSettings, secret: async () => secret, log }
  const budget = { remaining: () => 1, check: () => {}, signal }
  await probe(at, runtime as unknown as Parameters<typeof probe>[1], budget)
  return results.join()
}

describe('a probe', () => {
  test('succeeds if health and a read of orders respond as they should', async () => {
    expect(await probed()).toBe('succeeded')
    expect(requests.map(({ path }) => path)).toEqual([healthPath, ordersPath])
  })

  test.each([
    ['sends its API key with the read only', 'x-api-key', [undefined, key]],
    ['opens a connection for each call', 'connection', ['close', 'close']],
    ['names its agent', 'user-agent', ['commerce-probe', 'commerce-probe']],
  ])('%s', async (_, name, values) => {
    await probed()
    expect(requests.map(({ headers }) => headers[name])).toEqual(values)
  })

  test('without an API key calls health only', async () => {
    expect(await probed({ secret: 'none' })).toBe('succeeded')
    expect(requests.map(({ path }) => path)).toEqual([healthPath])
  })

  test.each([
    ['health fails', healthPath, answer(503, healthy), 'health: status 503'],
    ['the read fails', ordersPath, answer(500, '{}'), 'v1/orders: status 500'],
    ['the API key is refused', ordersPath, answer(401, '{}'), 'v1/orders: status 401'],
    ['another service responds', healthPath, answer(200, '{"parked":true}'), 'health: another body'],
    ['a web page responds', healthPath, answer(200, '<html></html>'), 'health: SyntaxError'],
    ['the read is no page', ordersPath, answer(200, '{"data":{}}'), 'v1/orders: another body'],
  ])('fails if %s', async (_, path, respond, reason) => {
    responses[path] = respond
    expect(await probed()).toBe(reason)
  })

  test.each([
    ['follows no redirect', answer(302, '', { Location: `${address}elsewhere` }), 'health: status 302'],
    [
      'sends its API key to no address that fails the check of health',
      answer(200, '{}'),
      'health: another body',
    ],
  ])('%s', async (_, respond, reason) => {
    responses[healthPath] = respond
    responses['/elsewhere'] = answer(200, healthy)
    expect(await probed()).toBe(reason)
    expect(requests.map(({ path }) => path)).toEqual([healthPath])
  })

  test.each<[string, RequestListener]>([
    ['sends nothing', () => {}],
    ['sends half a body', (_, response) => void response.writeHead(200).write('{')],
  ])('ends at an address that %s', async (_, respond) => {
    responses[healthPath] = respond
    expect(await probed({ signal: AbortSignal.timeout(100) })).toBe('health: TimeoutError')
  })

  test('names the reason why a connection fails', async () => {
    responses[healthPath] = (request) => void request.socket.destroy()
    expect(await probed()).toMatch(/^health: (UND_ERR_SOCKET|ECONNRESET)$/)
  })
})

test('the service answers its probe, until the API key is revoked', async () => {
  const service = await startService()
  const http = await serveHttp(service)
  const operator = { table: service.table, clock: systemClock, name: 'jane' }
  const created = await createApiKey(operator, { tenant: 'probed', name: 'probe', scopes: ['orders:read'] })
  const called = { at: `${http.base_url}/`, secret: created.key }
  expect(await probed(called)).toBe('succeeded')
  await revokeApiKey(operator, 'probed', created.key_id)
  expect(await probed(called)).toBe('v1/orders: status 401')
  await http.stop()
})
