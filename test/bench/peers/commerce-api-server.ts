/** The service in a process of its own, as a peer is: HTTP on loopback in front of handleRequest, with the log of AWS. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { routes } from '#functions/routes.ts'
import type { Endpoint } from '#shared/platform/http/endpoint.ts'
import { handleRequest } from '#shared/platform/http/handle-request.ts'
import { powertoolsLog } from '#shared/platform/logging/log.ts'
import { endpointOf, startService } from '#test/support/service.ts'
import { tokenFor } from '#test/support/settings.ts'

export interface Ready {
  url: string
  /** Of an Editor of each tenant. */
  tokens: { acme: string; contested: string }
}

const service = await startService()
const runtime = { ...service.runtime, log: powertoolsLog('commerce-api') }
const [create, read, list, update] = await Promise.all(['create', 'read', 'list', 'update'].map(served))
const ofAllCodes: Record<string, Endpoint | undefined> = { POST: create, GET: list }
const ofOneCode: Record<string, Endpoint | undefined> = { GET: read, PATCH: update }

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.destroy(error))
}).listen(0, '127.0.0.1')
await once(server, 'listening')

const token = (tenant: string) =>
  tokenFor({ tenant, role: 'Editor', sub: 'bench', scope: 'codes:read codes:write' })
const ready: Ready = {
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  tokens: { acme: await token('acme'), contested: await token('contested') },
}
process.send?.(ready)

/** Whoever names a tenant is told how many codes the table holds of it. */
process.on('message', async (asked: string) => {
  const codes = await service.items(asked, 'code')
  process.send?.(codes.length)
})

async function served(name: string): Promise<Endpoint> {
  const entry = routes.find(({ route }) => route.operation === `codes.${name}`)
  if (!entry) throw new Error(`there is no route codes.${name}`)
  return endpointOf(entry)
}

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
