import type { IncomingMessage, ServerResponse } from 'node:http'
import { startHttpServer } from './http-server.ts'
import type { Service } from './service.ts'

export interface HttpService {
  base_url: string
  stop(): Promise<void>
}

/** Serves an in-process service over HTTP on loopback, so a client reaches the real endpoints. */
export async function serveHttp(service: Service): Promise<HttpService> {
  const { url: base_url, stop } = await startHttpServer((request, response) => {
    answer(service, request, response).catch((error) => {
      // The caller only sees that the connection ends.
      console.error(error)
      response.destroy(error)
    })
  })
  return { base_url, stop }
}

async function answer(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { method = 'GET', url: path = '/', headers } = request
  const body = chunks.length > 0 ? new Uint8Array(Buffer.concat(chunks)) : undefined
  const sent = Object.entries(headers).map(([name, value]) => [name, String(value)])
  const {
    status,
    headers: responseHeaders,
    body: text,
  } = await service.call({
    method,
    path,
    headers: Object.fromEntries(sent),
    body,
  })
  response.writeHead(status, responseHeaders).end(text)
}
