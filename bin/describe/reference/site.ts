import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import scalarPlugin from '@scalar/fastify-api-reference'
import type { Settings } from '#shared/settings/register.ts'
import { asyncapiDocument } from '../asyncapi.ts'
import type { Json } from '../openapi/schemas.ts'
import { openapiDocument } from '../openapi.ts'
import { guideFiles, guidePage } from './guides.ts'
import { htmlOf } from './markdown.ts'
import { errorsText, eventsPage, page, textList, textPage } from './pages.ts'

/** The service where operations of the reference can be tried, and the token. */
interface TryAt {
  base_url: string
  token?: string
}

/** The pages for API consumers, by file name. */
export type Site = ReadonlyMap<string, string | Uint8Array>

/** Returns every file of the reference folder, which loads nothing from elsewhere. */
export async function referenceSite(settings: Settings, tryAt?: TryAt): Promise<Site> {
  const openapi = openapiDocument(settings)
  const asyncapi = asyncapiDocument(settings)
  const servers = tryAt ? [{ url: tryAt.base_url }] : openapi.servers
  const read = (file: string) => readFile(join(import.meta.dirname, file), 'utf8')
  const guide = withSettingValues(await read('guide.md'), settings)
  const info = { ...(openapi.info as Json), description: sectionOf(guide, 'A first request') }
  const errors = errorsText(await read('errors.md'), settings)
  const guides = await guideFiles(settings)
  const walkthroughs = guides.filter(([file]) => file.endsWith('.md'))
  const texts: [string, string][] = [['guide.md', guide], ['errors.md', errors], ...walkthroughs]
  return new Map<string, string | Uint8Array>([
    ['index.html', page('Reference', await read('reference.html'))],
    ['guide.html', textPage('Guide', await htmlOf(guide))],
    ['errors.html', textPage('Errors', await htmlOf(errors))],
    ['events.html', eventsPage(asyncapi)],
    ...(await Promise.all(walkthroughs.map(guidePage))),
    ...guides,
    ...texts,
    ['llms.txt', textList(openapi.info as Json, texts)],
    ['openapi.json', JSON.stringify({ ...openapi, info, servers })],
    ['asyncapi.json', JSON.stringify(asyncapi)],
    ['service.json', JSON.stringify(tryAt ?? {})],
    ['reference.js', await read('reference.js')],
    ['style.css', await read('style.css')],
    ['scalar.js', scalarBundle()],
  ])
}

/** Returns a section of a Markdown page, with its heading. */
function sectionOf(markdown: string, heading: string): string {
  const section = markdown.split(/^(?=## )/m).find((text) => text.startsWith(`## ${heading}\n`))
  if (section === undefined) throw new Error(`there is no section ${heading}`)
  return section
}

/**
 * Returns the JavaScript of the reference for browsers. It is read from the plugin for Fastify, which contains it as one
 * file: the package @scalar/api-reference would install 270 others.
 */
function scalarBundle(): string {
  let bundle = ''
  const reply = {
    header: () => reply,
    send: (content: string) => {
      bundle = content
    },
  }
  const route = ({ url, handler }: { url: string; handler: (request: object, to: typeof reply) => void }) => {
    if (url.endsWith('.js')) handler({}, reply)
  }
  const register = scalarPlugin as unknown as (host: object, options: object, done: () => void) => void
  register({ initialConfig: {}, route }, { configuration: { url: 'openapi.json' } }, () => {})
  if (bundle === '') throw new Error('@scalar/fastify-api-reference serves no script')
  return bundle
}

/**
 * Replaces placeholders with values of settings: `{{webhooks.scheme.prefix}}` is the member prefix of the setting
 * webhooks.scheme.
 */
function withSettingValues(text: string, settings: Settings): string {
  return text.replace(/\{\{([^}]+)\}\}/g, (_, path: string) => {
    const key = Object.keys(settings).find((one) => path === one || path.startsWith(`${one}.`))
    if (key === undefined) throw new Error(`the guide names the setting ${path}, which does not exist`)
    const value = settings[key as keyof Settings] as unknown
    const member = path.slice(key.length + 1)
    return String(member === '' ? value : (value as Record<string, unknown>)[member])
  })
}

/** The page that shows what callers have sent. It gets the strictest policy. */
export const consolePage = 'console.html'

/** Answers requests that are for no file. Returns whether it answers this one. */
export type Responder = (request: IncomingMessage, response: ServerResponse) => boolean

export interface ServedSite {
  url: string
  stop(): Promise<void>
}

const mediaTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/**
 * Serves the pages on this machine only. Other names of this address and requests from other sites are rejected, so that
 * no web page can read the pages or act through them.
 * @param origin the address, such as http://localhost:5173; the service must allow browsers to call from it
 * @param base the address of the service, the only other one that the pages may call; undefined if they call none
 */
export async function serveSite(
  site: Site,
  origin: string,
  base: string | undefined,
  answer: Responder = () => false,
): Promise<ServedSite> {
  const connect = base === undefined ? `'self'` : `'self' ${new URL(base).origin}`
  const policy = `default-src 'self'; connect-src ${connect}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'`
  const strict = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  const { host, hostname } = new URL(origin)
  const plain = { 'Content-Type': 'text/plain; charset=utf-8' }
  const server = createServer((request, response) => {
    const { url = '/', method = '', headers: sent } = request
    const reads = method === 'GET' || method === 'HEAD'
    if (sent.host !== host || !(sent.origin === origin || (reads && sent.origin === undefined))) {
      response.writeHead(403, plain).end(`open ${origin}/ (other hosts and origins are rejected)\n`)
      return
    }
    if (answer(request, response)) return
    // A target such as `//` is no URL.
    const [path = ''] = url.split('?', 1)
    const file = path === '/' ? 'index.html' : path.slice(1)
    const body = site.get(file)
    const headers = {
      'Content-Security-Policy': file === consolePage ? strict : policy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Cache-Control': 'no-store',
    }
    const mediaType = mediaTypes[extname(file)] ?? 'application/octet-stream'
    if (body === undefined)
      response.writeHead(404, { ...headers, ...plain }).end(`there is no such page: open ${origin}/\n`)
    else response.writeHead(200, { ...headers, 'Content-Type': mediaType }).end(body)
  })
  server.listen(Number(new URL(origin).port || 80), hostname)
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
