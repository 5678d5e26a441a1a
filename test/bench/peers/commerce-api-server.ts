/**
 * The service in a process of its own, as a peer is: HTTP on loopback in front of handleRequest. It is bundled as the
 * functions of AWS are, with their runtime and their log.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { endpoint as create } from '#functions/codes/create-code/handler.ts'
import { endpoint as list } from '#functions/codes/list-codes/handler.ts'
import { endpoint as read } from '#functions/codes/read-code/handler.ts'
import { endpoint as update } from '#functions/codes/update-code/handler.ts'
import { deployedRuntime } from '#shared/platform/http/deployed-runtime.ts'
import type { Endpoint } from '#shared/platform/http/endpoint.ts'
import { handleRequest } from '#shared/platform/http/handle-request.ts'

const secret = new TextEncoder().encode('a secret of this benchmark, long enough')
const runtime = deployedRuntime({ deploymentSecret: async () => secret })
const ofAllCodes: Record<string, Endpoint | undefined> = { POST: create, GET: list }
const ofOneCode: Record<string, Endpoint | undefined> = { GET: read, PATCH: update }

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.destroy(error))
}).listen(0, '127.0.0.1')
await once(server, 'listening')

process.send?.((server.address() as AddressInfo).port)

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url: target = '/' } = request
  const url = new URL(target, 'http://service')
  const [, , id] = url.pathname.split('/')
  const endpoint = (id ? ofOneCode : ofAllCodes)[method]
  if (!endpoint) throw new Error(`no route for ${method} ${target}`)
  const body = await buffer(request)
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
  const told = await handleRequest(
    [endpoint],
    {
      method,
      path: url.pathname,
      params: id ? { id } : {},
      query: [...url.searchParams],
      headers: Object.fromEntries(headers),
      body: body.length > 0 ? body : undefined,
      sourceAddress: '127.0.0.1',
    },
    runtime,
  )
  response.writeHead(told.status, told.headers).end(told.body)
}
