import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { reachOf } from '../commands/ask/reach.ts'
import { redrive } from '../commands/dead-letters/redrive.ts'
import type { DeployedStack } from '../commands/stack/deployment.ts'
import { resend } from '../commands/subscribers/deliveries.ts'
import { subscriberOperatorOf } from '../commands/subscribers/subscriber-operator.ts'
import { awsAccessOf, type ServiceFile } from '../local/service-file.ts'
import { type Activity, activity, type ConsoleEntry } from './activity.ts'
import { withCommands } from './commands.ts'
import {
  activityFeed,
  eventFeed,
  type Feed,
  links,
  mailFeed,
  payoutFeed,
  queueFeed,
  tableFeed,
} from './local-feeds.ts'
import { type KindOfTable, readAtOnce, readableOfTable, readTable, readTimeline } from './readings.ts'
import type { Question, Reading, Source } from './source.ts'

const DeliveryRef = v.pipe(v.string(), v.parseJson(), v.object({ tenant: v.string(), id: v.string() }))

export interface LocalSource extends Source {
  live: Activity
  stop(): void
}

/** Follows what the local run does. @param activityFile see `LocalService` */
export function localSource(service: ServiceFile, activityFile: string): LocalSource {
  const { outputs, table, event_bus, provider_url } = service
  const access = awsAccessOf(service)
  const stack: DeployedStack = { outputs, access }
  const reach = reachOf(undefined, stack)
  const live = withCommandsIn(activity())
  const stopped = new AbortController()
  const known = links()
  const polled = [
    activityFeed(activityFile, known),
    mailFeed(access, known),
    queueFeed(service, known),
    tableFeed(access, table, known),
    ...(provider_url === undefined ? [] : [payoutFeed(provider_url)]),
  ]
  for (const feed of polled) void follow(feed, live, { signal: stopped.signal, always: false })
  // A queue that nobody reads would grow.
  void follow(eventFeed(access, event_bus), live, { signal: stopped.signal, always: true })
  const read = async (question: Question): Promise<Reading> => {
    const { kind } = question
    if (kind === 'request') return readRequests(activityFile, question)
    if (kind in readableOfTable) return readTable(reach, { ...question, kind: kind as KindOfTable })
    return pageOf(live.all(kind as ConsoleEntry['kind']), question)
  }
  return {
    live,
    readable: { ...readableOfTable, request: 'always', event: 'always' },
    async read(question) {
      const reading = await read(question)
      return { ...reading, entries: reading.entries.map((entry) => withCommands(entry, undefined)) }
    },
    find: (what, range) => readTimeline(reach, what, range),
    actions: {
      redrive: (queue) => redrive(stack, queue),
      async resend(body) {
        const { tenant, id } = v.parse(DeliveryRef, body)
        await resend(await subscriberOperatorOf(stack), tenant, id)
      },
    },
    stop: () => stopped.abort(),
  }
}

function withCommandsIn(shown: Activity): Activity {
  const add: Activity['add'] = (entries) => shown.add(entries.map((entry) => withCommands(entry, undefined)))
  return {
    ...shown,
    add,
    get viewers() {
      return shown.viewers
    },
  }
}

/** Reads a feed again and again. Without viewers it is read only if it always has to be. */
async function follow(
  { name, milliseconds, read }: Feed,
  shown: Activity,
  { signal, always }: { signal: AbortSignal; always: boolean },
): Promise<void> {
  while (!signal.aborted) {
    let pause = milliseconds
    if (always || shown.viewers > 0) {
      const [entries, problem] = await read().then(
        (found): [ConsoleEntry[], null] => [found, null],
        (thrown: Error): [ConsoleEntry[], string] => [[], thrown.message],
      )
      shown.add([...entries, { kind: 'problem', id: name, text: problem }])
      if (problem !== null) pause = 1000
    }
    // Aborting rejects the pause.
    await sleep(pause, undefined, { signal }).catch(() => {})
  }
}

/** Reads requests of the run from its file, with the tenants that the log lines of their correlation ids name. */
async function readRequests(file: string, question: Question): Promise<Reading> {
  const requests: ConsoleEntry[] = []
  const tenants = new Map<unknown, unknown>()
  const feed = activityFeed(file, links())
  for await (const line of createInterface({ input: createReadStream(file, 'latin1') })) {
    const [entry] = feed.parse(line)
    if (entry?.kind === 'log') {
      const { correlation_id, tenant } = (entry.fields ?? {}) as Record<string, unknown>
      if (tenant !== undefined) tenants.set(correlation_id, tenant)
    } else if (entry?.kind === 'request') requests.push(entry)
  }
  const named = requests.map((one) => ({ ...one, tenant: tenants.get(one.correlation_id) }))
  return pageOf(named, question)
}

/** Returns the newest entries of a range that match. The cursor is the number of those before. @param all oldest first */
function pageOf(all: readonly ConsoleEntry[], question: Question): Reading {
  const { from = 0, to = Number.POSITIVE_INFINITY, tenant, status, code, correlation, cursor } = question
  const matching = all.filter((entry) => {
    const at = Number(entry.at ?? Date.parse(String(entry.occurred_at)))
    const owner = entry.tenant ?? (entry.data as { tenant_id?: unknown } | undefined)?.tenant_id
    return (
      at >= from &&
      at < to &&
      (tenant === undefined || owner === tenant) &&
      (status === undefined || String(entry.status).startsWith(status.replace('xx', ''))) &&
      (code === undefined || entry.error_code === code) &&
      (correlation === undefined || entry.correlation_id === correlation)
    )
  })
  const before = Number(cursor ?? 0)
  const newest = matching.toReversed()
  const entries = newest.slice(before, before + readAtOnce)
  const end = before + entries.length
  const rest = end < newest.length ? { complete: false, cursor: String(end) } : { complete: true }
  return { entries, units: 0, calls: 0, ...rest }
}
