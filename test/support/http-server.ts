import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HttpServer {
  url: string
  port: number
  server: Server
  stop(): Promise<void>
}

/** Starts an HTTP server on loopback. @param port a free one if absent */
export async function startHttpServer(listener: RequestListener, port = 0): Promise<HttpServer> {
  const server = createServer(listener).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${own}`,
    port: own,
    server,
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
