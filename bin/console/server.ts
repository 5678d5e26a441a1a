import { randomBytes, timingSafeEqual } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import * as v from 'valibot'
import { NothingFoundError } from '../commands/ask/timeline.ts'
import { consolePage, type Responder, type Site } from '../describe/reference/site.ts'
import type { Activity, ConsoleEntry } from './activity.ts'
import type { Question, Reading, Source } from './source.ts'

export interface Console {
  /** The pages of a site with a link to the console, and its own page, which holds the token. */
  pages(site: Site): Promise<Site>
  /** The page of the console alone, without the token: it comes with the link. */
  page(): Promise<Site>
  /** Answers the requests of the page. @returns whether it was one */
  answer: Responder
  /** What requests of the page need, new at each start. */
  token: string
}

type Action = (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => Promise<void>

const folder = join(import.meta.dirname, 'page')
/** The style that the console shares with the other pages. */
const style = join(import.meta.dirname, '../describe/reference/style.css')
const tokenHeader = 'x-console-token'

const shortText = v.pipe(v.string(), v.maxLength(2048))
const optionalText = v.optional(shortText)
const time = v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number)))
const range = { from: time, to: time, tenant: optionalText }
const Search = v.object({ what: v.pipe(shortText, v.trim(), v.minLength(1)), ...range })
const Asked = v.object({
  kind: shortText,
  ...range,
  ...{ status: optionalText, actor: optionalText, action: optionalText, code: optionalText },
  ...{ target: optionalText, correlation: optionalText, cursor: v.optional(v.string()) },
})

/** Serves what a source has to a page. */
export function startConsole(source: Source): Console {
  const token = randomBytes(32).toString('base64url')

  /** Answers only the page, which knows the token. A page of another origin can neither send it nor read it. */
  const withToken =
    (action: Action): Action =>
    async (request, response, query) => {
      if (isEqual(String(request.headers[tokenHeader] ?? ''), token)) await action(request, response, query)
      else response.writeHead(403, plain).end('open the link that the command has printed\n')
    }
  const reading = (work: (query: URLSearchParams, abandoned: AbortSignal) => Promise<Reading>): Action =>
    withToken(async (_, response, query) => {
      const started = performance.now()
      const abandoned = new AbortController()
      response.once('close', () => abandoned.abort())
      const read = await work(query, abandoned.signal)
      sendJson(response, { ...read, milliseconds: Math.round(performance.now() - started) })
    })
  const { stack, readable, live } = source
  const actions = new Map<string, Action>([
    [
      'GET /console/about',
      withToken(async (_, response) =>
        sendJson(response, {
          stack,
          readable,
          live: live !== undefined,
          actions: Object.keys(source.actions),
        }),
      ),
    ],
    ['GET /console/read', reading((query, abandoned) => source.read(questionOf(query, source), abandoned))],
    [
      'GET /console/find',
      reading((query, abandoned) => {
        const { what, ...asked } = v.parse(Search, Object.fromEntries(query))
        return source.find(what, asked, abandoned)
      }),
    ],
    ...Object.entries(source.actions).map(([name, work]): [string, Action] => [
      `POST /console/${name}`,
      withToken(async (request, response) => {
        await work(await text(request))
        response.writeHead(204).end()
      }),
    ]),
  ])
  if (live) actions.set('GET /console/stream', async (request, response) => stream(live, request, response))
  return {
    pages: async (site) => new Map([...linked(site), ...(await ownFiles(token, navigation))]),
    page: async () => new Map([...(await ownFiles('', '')), ['style.css', await readFile(style, 'utf8')]]),
    answer(request, response) {
      const [path, query] = (request.url ?? '').split('?')
      const action = actions.get(`${request.method} ${path}`)
      if (!action) return false
      action(request, response, new URLSearchParams(query)).catch((thrown: Error) => {
        if (response.headersSent) response.destroy()
        else response.writeHead(statusOf(thrown), plain).end(thrown.message)
      })
      return true
    },
    token,
  }
}

function statusOf(thrown: Error): number {
  if (thrown instanceof NothingFoundError) return 404
  return v.isValiError(thrown) ? 400 : 500
}

/** @throws ValiError for a kind that the source cannot read */
function questionOf(query: URLSearchParams, { readable }: Source): Question {
  const question = v.parse(Asked, Object.fromEntries(query))
  const kind = v.parse(
    v.picklist(Object.keys(readable), 'this kind of entries cannot be read'),
    question.kind,
  )
  if (readable[kind] === 'with a tenant') v.parse(v.string('name a tenant'), question.tenant)
  return { ...question, kind }
}

const noSniff = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' }
const plain = { 'Content-Type': 'text/plain; charset=utf-8', ...noSniff }

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json', ...noSniff }).end(JSON.stringify(body))
}

/** Sends the latest entries and then each change, as server-sent events. */
function stream(shown: Activity, request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', ...noSniff })
  const send = (event: string, entries: readonly ConsoleEntry[]) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify(entries)}\n\n`)
  send('all', shown.latest())
  request.once(
    'close',
    shown.watch((changed) => send('changed', changed)),
  )
}

/** The pages that the local run serves besides. */
const navigation = [
  ['index', 'Reference'],
  ['guide', 'Guide'],
  ['errors', 'Errors'],
  ['events', 'Events'],
]
  .map(([file, title]) => `<a href="${file}.html">${title}</a> `)
  .join('')

async function ownFiles(token: string, links: string): Promise<Site> {
  const read = (file: string) => readFile(join(folder, file), 'utf8')
  const files = (await readdir(folder)).filter((file) => /\.(js|css)$/.test(file))
  const page = (await read(consolePage)).replace('{{token}}', token).replace('{{links}}', links)
  return new Map([
    [consolePage, page],
    ...(await Promise.all(files.map(async (file): Promise<[string, string]> => [file, await read(file)]))),
  ])
}

/** Returns the pages of a site with a link to the console. */
function linked(site: Site): Site {
  return new Map(
    [...site].map(([file, content]): [string, string | Uint8Array] => [
      file,
      typeof content === 'string' && file.endsWith('.html')
        ? content.replace('</nav>', ` <a href="${consolePage}">Console</a></nav>`)
        : content,
    ]),
  )
}

function isEqual(sent: string, expected: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
