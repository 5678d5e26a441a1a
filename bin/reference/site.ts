import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { marked } from 'marked'
import type { Settings } from '#shared/settings/register.ts'
import { asyncapiDocument } from '../asyncapi.ts'
import { openapiDocument } from '../openapi.ts'
import { errorsPage } from './errors-page.ts'
import { eventsPage } from './events-page.ts'
import { asText, page } from './page.ts'

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
  const own = async (file: string) => readFile(join(import.meta.dirname, file), 'utf8')
  return new Map<string, string | Uint8Array>([
    ['index.html', page('Reference', await own('reference.html'))],
    ['guide.html', page('Guide', asText(await marked.parse(filledIn(await own('guide.md'), settings))))],
    ['errors.html', page('Errors', asText(errorsPage()))],
    ['events.html', page('Events', asText(eventsPage(asyncapi)))],
    ['openapi.json', JSON.stringify({ ...openapi, servers })],
    ['asyncapi.json', JSON.stringify(asyncapi)],
    ['service.json', JSON.stringify(tryAt ?? {})],
    ['reference.js', await own('reference.js')],
    ['style.css', await own('style.css')],
    ['swagger-ui.css', await readFile(join(swaggerUi, 'swagger-ui.css'))],
    ['swagger-ui-bundle.js', await readFile(join(swaggerUi, 'swagger-ui-bundle.js'))],
  ])
}

const mediaTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

export function mediaTypeOf(file: string): string {
  return mediaTypes[extname(file)] ?? 'application/octet-stream'
}

/**
 * Replaces placeholders with values of settings: `{{webhooks.scheme.prefix}}` is the member prefix of the setting
 * webhooks.scheme.
 */
function filledIn(text: string, settings: Settings): string {
  return text.replace(/\{\{([^}]+)\}\}/g, (_, path: string) => {
    const key = Object.keys(settings).find((one) => path === one || path.startsWith(`${one}.`))
    if (key === undefined) throw new Error(`the guide names ${path}, which is no setting`)
    const value = settings[key as keyof Settings] as unknown
    const member = path.slice(key.length + 1)
    return String(member === '' ? value : (value as Record<string, unknown>)[member])
  })
}
