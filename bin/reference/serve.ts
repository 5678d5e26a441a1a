import { once } from 'node:events'
import { createServer } from 'node:http'
import { mediaTypeOf, type Site } from './site.ts'

export interface ServedSite {
  url: string
  stop(): Promise<void>
}

/**
 * Serves the pages on this machine only.
 * @param origin the address, such as http://localhost:5173; the service must allow browsers to call from it
 * @param base the address of the service, the only other one that the pages may call
 */
export async function serveSite(site: Site, origin: string, base: string): Promise<ServedSite> {
  const connect = `'self' ${new URL(base).origin}`
  const policy = `default-src 'self'; connect-src ${connect}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'`
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, origin)
    const file = pathname === '/' ? 'index.html' : pathname.slice(1)
    const body = site.get(file)
    const headers = { 'Content-Security-Policy': policy, 'X-Content-Type-Options': 'nosniff' }
    if (body === undefined) response.writeHead(404, headers).end()
    else response.writeHead(200, { ...headers, 'Content-Type': mediaTypeOf(file) }).end(body)
  })
  server.listen(Number(new URL(origin).port || 80), 'localhost')
  await once(server, 'listening')
  return {
    url: `${origin}/`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
