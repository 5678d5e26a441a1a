/**
 * The service in a process of its own, as a peer is: HTTP on loopback in front of handleRequest, or asked by a message to
 * call that itself. It is bundled as the functions of AWS are, with their runtime and their log.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { endpoint as create } from '#functions/codes/create-code/handler.ts'
import { endpoint as list } from '#functions/codes/list-codes/handler.ts'
import { endpoint as read } from '#functions/codes/read-code/handler.ts'
import { endpoint as update } from '#functions/codes/update-code/handler.ts'
import { httpRuntime } from '#shared/platform/aws/http-function.ts'
import type { HttpResponse } from '#shared/platform/base/http.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import { handleRequest, openRequest } from '#shared/platform/request/handle-request.ts'
import type { LoadAsked } from './commerce-api.ts'
import { callsBy, oneOf } from './commerce-api-calls.ts'
import { loadOf } from './load.ts'

const secret = 'a secret of this benchmark, long enough'
const runtime = httpRuntime({ secret: async () => ({ text: secret, version: 'v1' }) })
const ofAllCodes: Record<string, Endpoint | undefined> = { POST: create, GET: list }
const ofOneCode: Record<string, Endpoint | undefined> = { GET: read, PATCH: update }

const server = createServer((request, response) => {
  overHttp(request, response).catch((error) => response.destroy(error))
}).listen(0, '127.0.0.1')
await once(server, 'listening')

process.send?.((server.address() as AddressInfo).port)

let load: ReturnType<typeof loadOf> | undefined
process.on('message', async ({ operation, requests, clients, database, tokens }: LoadAsked) => {
  load ??= loadOf({
    name: 'this service, in-process',
    pids: { server: [process.pid], database },
    ...callsBy(async (_, path, { method = 'GET', headers = {}, body } = {}) => {
      const sent = {
        ...headers,
        Authorization: `Bearer ${oneOf(tokens)}`,
        'Content-Type': 'application/json',
      }
      const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const response = await answer(method, path, lowerCase(sent), payload)
      const given = lowerCase(response.headers)
      return {
        status: response.status,
        header: (name) => given[name],
        json: response.body === undefined ? undefined : JSON.parse(response.body),
      }
    }),
  })
  process.send?.(await load(operation, requests, clients))
})

async function overHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/' } = request
  const body = await buffer(request)
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
  const answered = await answer(method, url, Object.fromEntries(headers), body.length > 0 ? body : undefined)
  response.writeHead(answered.status, answered.headers).end(answered.body)
}

async function answer(
  method: string,
  target: string,
  headers: Record<string, string>,
  body: Uint8Array | undefined,
): Promise<HttpResponse> {
  const url = new URL(target, 'http://service')
  const [, , id] = url.pathname.split('/')
  const endpoint = (id ? ofOneCode : ofAllCodes)[method]
  if (!endpoint) throw new Error(`no route for ${method} ${target}`)
  const query = [...url.searchParams]
  const params: Record<string, string> = id ? { id } : {}
  const request = { method, path: url.pathname, params, query, headers, body, sourceAddress: '127.0.0.1' }
  return handleRequest(openRequest([endpoint], request, runtime))
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
