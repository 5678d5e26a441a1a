import { randomBytes, timingSafeEqual } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import type { DeployedStack } from '../../commands/deployment.ts'
import { redrive } from '../../commands/redrive/redrive.ts'
import { resend } from '../../commands/subscribers/deliveries.ts'
import { subscriberOperatorOf } from '../../commands/subscribers/subscriber-operator.ts'
import type { Answer, Site } from '../../describe/reference/site.ts'
import { accessOf, type ServiceFile } from '../service-file.ts'
import { type Activity, activity, type Entry } from './activity.ts'
import {
  activitySource,
  eventSource,
  type Failures,
  mailSource,
  payoutSource,
  queueSource,
  type Source,
  tableSource,
} from './sources.ts'

export interface Console {
  /** The pages of a site with a link to the console, and its own page. */
  pages(site: Site): Promise<Site>
  /** Answers the requests of the page. @returns whether it was one */
  answer: Answer
  stop(): void
}

type Action = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const DeliveryRef = v.pipe(v.string(), v.parseJson(), v.object({ tenant: v.string(), id: v.string() }))
const folder = import.meta.dirname
const page = 'console.html'
const tokenHeader = 'x-console-token'

/** Starts the page that shows what the local run does. @param activityFile see `LocalService` */
export function startConsole(service: ServiceFile, activityFile: string): Console {
  const { outputs, table, event_bus, provider_url } = service
  const access = accessOf(service)
  const stack: DeployedStack = { outputs, access }
  const shown = activity()
  const stopped = new AbortController()
  const token = randomBytes(32).toString('base64url')
  const failures: Failures = new Map()
  const polled = [
    activitySource(activityFile, failures),
    mailSource(access),
    queueSource(service, failures),
    tableSource(access, table),
    ...(provider_url === undefined ? [] : [payoutSource(provider_url)]),
  ]
  for (const source of polled) void follow(source, shown, { signal: stopped.signal, always: false })
  // A queue that nobody reads would grow.
  void follow(eventSource(access, event_bus), shown, { signal: stopped.signal, always: true })

  /** Does what a button of the page asks for. */
  const acting =
    (work: (body: string) => Promise<unknown>): Action =>
    async (request, response) => {
      // A page of another origin can neither set this header nor read the token.
      if (!isEqual(String(request.headers[tokenHeader] ?? ''), token)) response.writeHead(403).end()
      else {
        await work(await text(request))
        response.writeHead(204).end()
      }
    }
  const actions: Record<string, Action> = {
    'GET /console/stream': async (request, response) => stream(shown, request, response),
    'POST /console/redrive': acting((queue) => redrive(stack, queue)),
    'POST /console/resend': acting(async (body) => {
      const { tenant, id } = v.parse(DeliveryRef, body)
      await resend(await subscriberOperatorOf(stack), tenant, id)
    }),
  }
  return {
    pages: async (site) => withConsole(site, token),
    answer(request, response) {
      const action = actions[`${request.method} ${request.url}`]
      if (!action) return false
      action(request, response).catch((thrown: Error) => {
        response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' }).end(thrown.message)
      })
      return true
    },
    stop: () => stopped.abort(),
  }
}

/** Reads a source again and again. Without viewers it is read only if it always has to be. */
async function follow(
  { name, milliseconds, read }: Source,
  shown: Activity,
  { signal, always }: { signal: AbortSignal; always: boolean },
): Promise<void> {
  while (!signal.aborted) {
    let pause = milliseconds
    if (always || shown.viewers > 0) {
      const [entries, problem] = await read().then(
        (found): [Entry[], null] => [found, null],
        (thrown: Error): [Entry[], string] => [[], thrown.message],
      )
      shown.add([...entries, { kind: 'problem', id: name, text: problem }])
      if (problem !== null) pause = 1000
    }
    // Aborting rejects the pause.
    await sleep(pause, undefined, { signal }).catch(() => {})
  }
}

/** Sends all entries and then each change, as server-sent events. */
function stream(shown: Activity, request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  const send = (event: string, entries: readonly Entry[]) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify(entries)}\n\n`)
  send('all', shown.entries())
  request.once(
    'close',
    shown.watch((changed) => send('changed', changed)),
  )
}

async function withConsole(site: Site, token: string): Promise<Site> {
  const read = (file: string) => readFile(join(folder, file), 'utf8')
  const files = (await readdir(folder)).filter((file) => /\.(js|css)$/.test(file))
  const linked = [...site].map(([file, content]): [string, string | Uint8Array] => [
    file,
    typeof content === 'string' && file.endsWith('.html')
      ? content.replace('</nav>', ` <a href="${page}">Console</a></nav>`)
      : content,
  ])
  return new Map([
    ...linked,
    [page, (await read(page)).replace('{{token}}', token)],
    ...(await Promise.all(files.map(async (file): Promise<[string, string]> => [file, await read(file)]))),
  ])
}

function isEqual(sent: string, expected: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
