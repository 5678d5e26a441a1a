import { type ErrorCode, errorCatalog, messageId } from '#shared/error-catalog.ts'
import type { Json } from '../openapi/schemas.ts'
import { adviceOf, adviceOfFamily } from './error-advice.ts'

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
<header><strong>Commerce API</strong><nav>${links.join(' ')}</nav></header>
${content}
</body>
</html>
`
}

/** Returns a page of text. */
export function textPage(title: keyof typeof pages, content: string): string {
  return page(title, `<main class="text">\n${content}\n</main>`)
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

/** Returns the page of error codes with their status, whether the same request may be sent again, and advice. */
export function errorsPage(): string {
  const codes = Object.keys(errorCatalog) as ErrorCode[]
  const sections = [...Map.groupBy(codes, (code) => code.split('.')[0] ?? '')].map(
    ([family, ofFamily]) => `<h2 id="${family}">${family}</h2>
<p>${escaped(adviceOfFamily[family] ?? '')}</p>
<table><thead><tr><th>Code</th><th>Status</th><th>Retryable</th><th>What to do</th></tr></thead>
<tbody>${ofFamily.map(errorRow).join('')}</tbody></table>`,
  )
  return textPage(
    'Errors',
    `<h1>Errors</h1>
<p>All errors share one envelope. <code>message_id</code> is <code>error.</code> and the code in lower case, for example <code>${messageId('CONFLICT.code.exists')}</code>.</p>
${sections.join('\n')}`,
  )
}

function errorRow(code: ErrorCode): string {
  const { http, retryable } = errorCatalog[code]
  return `<tr id="${code}"><td class="code"><code>${code}</code></td><td>${http}</td><td>${retryable ? 'yes' : 'no'}</td><td>${escaped(adviceOf[code])}</td></tr>`
}

interface Message {
  title: string
  summary: string
  payload: Json
}

/** Returns the page of events with the fields of their data, from the AsyncAPI document. */
export function eventsPage(asyncapi: Json): string {
  const { messages } = asyncapi.components as { messages: Record<string, Message> }
  const sections = (prefix: string) =>
    Object.entries(messages).flatMap(([name, message]) => (name.startsWith(prefix) ? [section(message)] : []))
  return textPage(
    'Events',
    `<h1>Events</h1>
<p>As a document for tools: <a href="asyncapi.json">asyncapi.json</a> (AsyncAPI 3.0).</p>
<h2>Published</h2>
<p>On the EventBridge bus of the stack. <code>detail</code> holds <code>event_id</code>, <code>type</code>,
<code>version</code>, <code>occurred_at</code>, <code>source</code>, <code>correlation_id</code> and <code>data</code>. A change that is published in
several versions is one event for each: select by <code>detail.version</code>.</p>
${sections('published.').join('\n')}
<h2>Received</h2>
<p>By <code>POST /v1/webhooks/events</code>, signed. Events of other types are stored and acknowledged, and have no effect.</p>
${sections('received.').join('\n')}`,
  )
}

function section({ title, summary, payload }: Message): string {
  const rows = fieldsOf(dataOf(payload)).map(
    ([name, type, required]) =>
      `<tr><td class="code"><code>data.${escaped(name)}</code></td><td>${escaped(type)}</td><td>${required ? 'always' : 'optional'}</td></tr>`,
  )
  return `<h3>${escaped(title)}</h3><p>${escaped(summary)}</p><table>${rows.join('')}</table>`
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
