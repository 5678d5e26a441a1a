import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { routes } from '#functions/routes.ts'
import { permissions, tokenScopes } from '#shared/platform/identity/authorize.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { keyScopesOf } from '../openapi/api-keys.ts'
import { htmlOf } from './markdown.ts'
import { textPage } from './pages.ts'

const folder = join(import.meta.dirname, '../../../docs/guides')

/** Returns the pages and pictures of docs/guides, by file name. README.md becomes guides.html. */
export async function guidePages(settings: Settings): Promise<[string, string][]> {
  const files = (await readdir(folder)).toSorted()
  return Promise.all(
    files.map(async (file): Promise<[string, string]> => {
      const text = await readFile(join(folder, file), 'utf8')
      if (!file.endsWith('.md')) return [file, text]
      const page = textPage('Guide', await htmlOf(withLinks(withRoles(text, settings))))
      return [pageOf(file), page]
    }),
  )
}

function pageOf(file: string): string {
  return file === 'README.md' ? 'guides.html' : file.replace(/\.md$/, '.html')
}

function withLinks(markdown: string): string {
  return markdown.replace(/\]\(([\w-]+\.md)\)/g, (_, file: string) => `](${pageOf(file)})`)
}

/** Replaces the table of roles with that of a deployment. */
export function withRoles(markdown: string, settings: Settings): string {
  const table = () => `<!-- roles -->\n${rolesTable(settings)}\n<!-- /roles -->`
  return markdown.replace(/<!-- roles -->[\s\S]*<!-- \/roles -->/, table)
}

/** Returns the operations with their roles and scopes, as a table in Markdown. */
function rolesTable(settings: Settings): string {
  const heads = [
    'Operation',
    'Viewer',
    'Editor',
    'Admin',
    'Session',
    'Scope of a token',
    'Scope of an API key',
  ]
  const rows = routes.map(({ route }) => [operationOf(route, settings), ...accessOf(route, settings)])
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function operationOf(route: Route, settings: Settings): string {
  const query = route.when ? `?${route.when.parameter}=${route.when.value}` : ''
  return `${route.summary}<br>\`${route.method} ${pathOf(route, settings)}${query}\``
}

function accessOf(route: Route, settings: Settings): string[] {
  const { access, operation } = route
  if (!access) return [route.auth === 'signature' ? 'signed' : 'open', '', '', '', '', '']
  const { Viewer, Editor, Admin } = permissions[access]
  const reach = [Viewer, Editor, Admin].map((one) => (one === 'deny' ? '–' : one))
  const session = settings['auth.sessionOperations'].includes(operation) ? 'yes' : '–'
  const scopes = [tokenScopes(route, settings), keyScopesOf(route, settings) ?? []]
  return [...reach, session, ...scopes.map((list) => list.map((scope) => `\`${scope}\``).join(' ') || '–')]
}
