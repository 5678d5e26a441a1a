import { type ErrorCode, errorCatalog } from '#shared/error-catalog.ts'
import type { Settings } from '#shared/settings/register.ts'
import { resolved } from '../openapi/components.ts'
import { errorStatus } from '../openapi/errors.ts'
import type { Json } from '../openapi/schemas.ts'
import { anchorOf, escapeHtml, htmlTable } from './markdown.ts'

const pages = { Reference: 'index.html', Guide: 'guide.html', Errors: 'errors.html', Events: 'events.html' }

/** Returns a page with the shared navigation. @param content HTML: text, or an element with its own styles */
export function page(title: keyof typeof pages, content: string): string {
  const links = Object.entries(pages).map(([name, file]) => {
    const current = name === title ? ' aria-current="page"' : ''
    return `<a href="${file}"${current}>${name}</a>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Commerce API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
</head>
<body>
<header><strong>Commerce API</strong><nav aria-label="Pages">${links.join(' ')}</nav></header>
${content}
</body>
</html>
`
}

/** Returns a page of text. */
export function textPage(title: keyof typeof pages, content: string): string {
  return page(title, `<main class="text">\n${content}\n</main>`)
}

/**
 * Returns errors.md with the status of each code in this deployment and whether the same request may be retried.
 * @throws Error unless the text has one row for each code
 */
export function errorsText(markdown: string, settings: Settings): string {
  const missing = new Set(Object.keys(errorCatalog))
  const table = markdown
    .replaceAll(
      '| Code | What to do |\n|---|---|',
      '| Code | Status | Retryable | What to do |\n|---|---|---|---|',
    )
    .replace(/^\| `([\w.]+)` \|/gm, (_, code: ErrorCode) => {
      if (!missing.delete(code)) throw new Error(`errors.md names ${code} twice, or it does not exist`)
      const { retryable } = errorCatalog[code]
      return `| <a id="${code}"></a>\`${code}\` | ${errorStatus(code, settings)} | ${retryable ? 'yes' : 'no'} |`
    })
  if (missing.size > 0) throw new Error(`errors.md lacks ${[...missing].join(', ')}`)
  return table
}

/**
 * Returns the list of the texts for programs that read pages for somebody (llmstxt.org).
 * @param texts the guides, by file name
 */
export function textList(info: Json, texts: readonly [string, string][]): string {
  const links = texts.map(([file, text]) => `- [${/^# (.*)/.exec(text)?.[1]}](${file})`)
  return `# ${info.title}

> ${info.description}

## Guides

${links.join('\n')}

## Descriptions

- [OpenAPI](openapi.json): every operation
- [AsyncAPI](asyncapi.json): every event
`
}

interface Message {
  title: string
  summary: string
  payload: Json
}

/** Returns the page of events with the fields of their data, from the AsyncAPI document. */
export function eventsPage(asyncapi: Json): string {
  const { messages } = resolved(asyncapi.components, asyncapi) as { messages: Record<string, Message> }
  const sections = (kind: 'published' | 'received') =>
    Object.entries(messages)
      .flatMap(([name, message]) => (name.startsWith(`${kind}.`) ? [section(kind, message)] : []))
      .join('\n')
  return textPage(
    'Events',
    `<h1 id="events">Events</h1>
<p>As a document for tools: <a href="asyncapi.json">asyncapi.json</a> (AsyncAPI 3.0).</p>
<h2 id="published">Published</h2>
<p>Posted to subscribers: see <a href="receive.html">Receive events</a>. Also on the EventBridge bus of the stack, where <code>detail</code> holds <code>event_id</code>, <code>type</code>,
<code>version</code>, <code>occurred_at</code>, <code>source</code>, <code>correlation_id</code> and <code>data</code>. A change that is published in
several versions is one event for each: select by <code>detail.version</code>.</p>
${sections('published')}
<h2 id="received">Received</h2>
<p>By <code>POST /v1/webhooks/events</code>, signed. Events of other types are stored and acknowledged, and have no effect.</p>
${sections('received')}`,
  )
}

function section(kind: string, { title, summary, payload }: Message): string {
  const rows = fieldsOf(dataOf(payload)).map(([name, type, required]) => [
    `<code>data.${escapeHtml(name)}</code>`,
    escapeHtml(type),
    required ? 'always' : 'optional',
  ])
  const table = htmlTable(['Field', 'Type', 'Present'], rows, `${title}, ${kind}: fields`)
  return `<h3 id="${kind}-${anchorOf(title)}">${escapeHtml(title)}</h3><p>${escapeHtml(summary)}</p>${table}`
}

/** Returns the schema of a message's data from either form of its payload. */
function dataOf(payload: Json): Json {
  const parts = (payload.allOf as Json[] | undefined) ?? [payload]
  const described = parts.map(({ properties }) => properties as Record<string, Json> | undefined)
  return described.findLast((properties) => properties?.data)?.data ?? {}
}

type Field = [name: string, type: string, required: boolean]

/** Returns the fields of an object and of all its parts. */
function fieldsOf(schema: Json): Field[] {
  const {
    allOf = [],
    required = [],
    properties = {},
  } = schema as {
    allOf?: Json[]
    required?: string[]
    properties?: Record<string, Json>
  }
  const own = Object.entries(properties).flatMap(([name, property]): Field[] => {
    const inner = fieldsOf(property).map(([deeper, ...rest]): Field => [`${name}.${deeper}`, ...rest])
    return inner.length > 0 ? inner : [[name, typeOf(property), required.includes(name)]]
  })
  const all = [...own, ...allOf.flatMap(fieldsOf)]
  return [...new Map(all.map((field) => [field[0], field])).values()]
}

function typeOf({ type, anyOf, format }: Json): string {
  if (Array.isArray(anyOf)) return anyOf.map((one: Json) => typeOf(one)).join(' or ')
  return [type ?? 'any', format].filter(Boolean).join(', ')
}
