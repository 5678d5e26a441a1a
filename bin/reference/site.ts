import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { marked } from 'marked'
import type { Settings } from '#shared/settings/register.ts'
import { asyncapiDocument } from '../asyncapi.ts'
import { openapiDocument } from '../openapi.ts'
import { errorsPage, eventsPage, page, textPage } from './pages.ts'

/** The service where operations of the reference can be tried, and the token. */
export interface TryAt {
  base_url: string
  token?: string
}

/** The pages for API consumers, by file name. */
export type Site = ReadonlyMap<string, string | Uint8Array>

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** Returns every file of the reference folder, which loads nothing from elsewhere. */
export async function referenceSite(settings: Settings, tryAt?: TryAt): Promise<Site> {
  const openapi = openapiDocument(settings)
  const asyncapi = asyncapiDocument(settings)
  const servers = tryAt ? [{ url: tryAt.base_url }] : openapi.servers
  const read = (file: string) => readFile(join(import.meta.dirname, file), 'utf8')
  const guide = await marked.parse(withSettings(await read('guide.md'), settings))
  return new Map<string, string | Uint8Array>([
    ['index.html', page('Reference', await read('reference.html'))],
    ['guide.html', textPage('Guide', guide)],
    ['errors.html', await errorsPage(await read('errors.md'))],
    ['events.html', eventsPage(asyncapi)],
    ['openapi.json', JSON.stringify({ ...openapi, servers })],
    ['asyncapi.json', JSON.stringify(asyncapi)],
    ['service.json', JSON.stringify(tryAt ?? {})],
    ['reference.js', await read('reference.js')],
    ['style.css', await read('style.css')],
    ['swagger-ui.css', await readFile(join(swaggerUi, 'swagger-ui.css'))],
    ['swagger-ui-bundle.js', await readFile(join(swaggerUi, 'swagger-ui-bundle.js'))],
  ])
}

/**
 * Replaces placeholders with values of settings: `{{webhooks.scheme.prefix}}` is the member prefix of the setting
 * webhooks.scheme.
 */
function withSettings(text: string, settings: Settings): string {
  return text.replace(/\{\{([^}]+)\}\}/g, (_, path: string) => {
    const key = Object.keys(settings).find((one) => path === one || path.startsWith(`${one}.`))
    if (key === undefined) throw new Error(`the guide names the setting ${path}, which does not exist`)
    const value = settings[key as keyof Settings] as unknown
    const member = path.slice(key.length + 1)
    return String(member === '' ? value : (value as Record<string, unknown>)[member])
  })
}

/** Answers requests that are for no file. Returns whether it answers this one. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => boolean

export interface ServedSite {
  url: string
  stop(): Promise<void>
}

const mediaTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/**
 * Serves the pages on this machine only. Other names of this address and requests from other sites are rejected, so that
 * no web page can read the pages or act through them.
 * @param origin the address, such as http://localhost:5173; the service must allow browsers to call from it
 * @param base the address of the service, the only other one that the pages may call
 */
export async function serveSite(
  site: Site,
  origin: string,
  base: string,
  answer: Answer = () => false,
): Promise<ServedSite> {
  const connect = `'self' ${new URL(base).origin}`
  const policy = `default-src 'self'; connect-src ${connect}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'`
  const { host } = new URL(origin)
  const server = createServer((request, response) => {
    const { url = '/', method = '', headers: sent } = request
    const reads = method === 'GET' || method === 'HEAD'
    if (sent.host !== host || (!reads && sent.origin !== origin)) {
      response.writeHead(403).end()
      return
    }
    if (answer(request, response)) return
    const { pathname } = new URL(url, origin)
    const file = pathname === '/' ? 'index.html' : pathname.slice(1)
    const body = site.get(file)
    const headers = { 'Content-Security-Policy': policy, 'X-Content-Type-Options': 'nosniff' }
    const mediaType = mediaTypes[extname(file)] ?? 'application/octet-stream'
    if (body === undefined) response.writeHead(404, headers).end()
    else response.writeHead(200, { ...headers, 'Content-Type': mediaType }).end(body)
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
