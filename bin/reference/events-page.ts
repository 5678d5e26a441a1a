import type { Json } from '../openapi/schemas.ts'
import { escaped } from './page.ts'

interface Message {
  name: string
  title: string
  summary: string
  payload: Json
}

/** Returns the page of events with the fields of their data, from the AsyncAPI document. */
export function eventsPage(asyncapi: Json): string {
  const { messages } = asyncapi.components as { messages: Record<string, Message> }
  const named = (prefix: string) =>
    Object.entries(messages).flatMap(([key, message]) => (key.startsWith(prefix) ? [message] : []))
  return `<h1>Events</h1>
<p>As a document for tools: <a href="asyncapi.json">asyncapi.json</a> (AsyncAPI 3.0).</p>
<h2>Published</h2>
<p>On the EventBridge bus of the stack; the <code>detail</code> holds <code>event_id</code>, <code>type</code>,
<code>version</code>, <code>occurred_at</code>, <code>source</code>, <code>correlation_id</code> and <code>data</code>. A change that is told in
several versions is one event for each: choose by <code>detail.version</code>.</p>
${named('published.').map(section).join('\n')}
<h2>Received</h2>
<p>By <code>POST /v1/webhooks/events</code>, signed. Other types are kept and acknowledged, and change nothing.</p>
${named('received.').map(section).join('\n')}`
}

function section({ title, summary, payload }: Message): string {
  const rows = membersOf(dataOf(payload)).map(
    ([name, type, needed]) =>
      `<tr><td class="code"><code>data.${escaped(name)}</code></td><td>${escaped(type)}</td><td>${needed ? 'always' : 'perhaps'}</td></tr>`,
  )
  return `<h3>${escaped(title)}</h3><p>${escaped(summary)}</p><table>${rows.join('')}</table>`
}

/** Returns the schema of a message's data from either form of its payload. */
function dataOf(payload: Json): Json {
  const parts = (payload.allOf as Json[] | undefined) ?? [payload]
  const described = parts.map(({ properties }) => properties as Record<string, Json> | undefined)
  return described.findLast((properties) => properties?.data)?.data ?? {}
}

/** Returns the fields of an object and of all its parts: name, type and whether they are required. */
function membersOf(schema: Json): [name: string, type: string, needed: boolean][] {
  const parts = (schema.allOf as Json[] | undefined) ?? []
  const required = new Set(schema.required as string[] | undefined)
  const own = Object.entries((schema.properties ?? {}) as Record<string, Json>).flatMap(([name, member]) => {
    const inner = membersOf(member).map(
      ([deeper, ...rest]) => [`${name}.${deeper}`, ...rest] as [string, string, boolean],
    )
    return inner.length > 0
      ? inner
      : [[name, typeOf(member), required.has(name)] as [string, string, boolean]]
  })
  const all = [...own, ...parts.flatMap(membersOf)]
  return [...new Map(all.map((member) => [member[0], member])).values()]
}

function typeOf({ type, anyOf, format }: Json): string {
  if (Array.isArray(anyOf)) return anyOf.map((one: Json) => typeOf(one)).join(' or ')
  return [type ?? 'any', format].filter(Boolean).join(', ')
}
