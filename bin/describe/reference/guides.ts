import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { routes } from '#functions/routes.ts'
import { breaker } from '#shared/deliveries/subscriber-health.ts'
import { permissions, tokenScopes } from '#shared/platform/identity/authorize.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { keyScopesOf } from '../openapi/api-keys.ts'
import { htmlOf } from './markdown.ts'
import { textPage } from './pages.ts'

const folder = join(import.meta.dirname, '../../../docs/guides')

/** Returns the files of docs/guides by name: pictures, and texts in Markdown with the values of the settings. */
export async function guideFiles(settings: Settings): Promise<[string, string][]> {
  const files = (await readdir(folder)).toSorted()
  return Promise.all(
    files.map(async (file): Promise<[string, string]> => {
      const text = await readFile(join(folder, file), 'utf8')
      return [file, file.endsWith('.md') ? withSettings(text, settings) : text]
    }),
  )
}

/** Returns the page of a guide. README.md becomes guides.html. */
export async function guidePage([file, markdown]: [string, string]): Promise<[string, string]> {
  return [pageOf(file), textPage('Guide', await htmlOf(withLinks(markdown)))]
}

function pageOf(file: string): string {
  return file === 'README.md' ? 'guides.html' : file.replace(/\.md$/, '.html')
}

function withLinks(markdown: string): string {
  return markdown.replace(/\]\(([\w-]+\.md)\)/g, (_, file: string) => `](${pageOf(file)})`)
}

/** Replaces the tables of roles and of deliveries with those of a deployment. */
export function withSettings(markdown: string, settings: Settings): string {
  const tables = { roles: rolesTable, deliveries: deliveriesTable }
  return Object.entries(tables).reduce((page, [name, table]) => {
    const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
    return page.replace(RegExp(`${start}[\\s\\S]*${end}`), () => `${start}\n${table(settings)}\n${end}`)
  }, markdown)
}

function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Returns the times and numbers of deliveries that a subscriber sees, as a table in Markdown. */
function deliveriesTable(settings: Settings): string {
  const { timeouts, pauseSeconds, maxPauseSeconds } = breaker
  const pauses = settings['deliveries.schedule'].retriesAfterSeconds.map(durationOf).join(', ')
  return markdownTable(
    ['What', 'Here'],
    [
      ['Time for an answer', durationOf(settings['deliveries.timeoutSeconds'])],
      ['Attempts', `at once, then after ${pauses}, each with a random deviation`],
      [
        'Calls in a row without an answer in time, after which all deliveries to the endpoint pause',
        `${timeouts}`,
      ],
      ['Pause', `${durationOf(pauseSeconds)}, up to ${durationOf(maxPauseSeconds)} while it does not answer`],
      [
        'Time of calls that fail, without a success, after which the endpoint is disabled',
        durationOf(settings['deliveries.disableAfterDays'] * 86_400),
      ],
      ['Time for which a delivery is kept', durationOf(settings['deliveries.retentionDays'] * 86_400)],
      [
        'Time after a rotation for which the old secret signs, too',
        durationOf(settings['subscribers.secretOverlapSeconds']),
      ],
    ],
  )
}

/** Returns seconds in the largest unit that counts them whole. */
function durationOf(seconds: number): string {
  const units = { day: 86_400, hour: 3600, minute: 60, second: 1 }
  const [name, unit] = Object.entries(units).find(([, one]) => seconds >= 2 * one && seconds % one === 0) ?? [
    'second',
    1,
  ]
  const count = seconds / unit
  return `${count} ${count === 1 ? name : `${name}s`}`
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
  return markdownTable(heads, rows)
}

function operationOf(route: Route, settings: Settings): string {
  const query = route.when ? `?${route.when}=true` : ''
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
