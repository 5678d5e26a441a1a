import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { type Details, fail } from '../base/failure.ts'
import { keyedHash } from '../base/secrets.ts'
import type { Outcome } from '../idempotency/run-once.ts'
import { principalOf } from '../identity/caller.ts'
import type { Item, Key } from '../table/keys.ts'
import type { Condition, Put, Table } from '../table/table.ts'
import type { RequestContext } from './context.ts'
import type { Input } from './endpoint.ts'
import type { RateLimit } from './route.ts'

/** A counted request. */
export interface CountedRequest {
  /**
   * Removes a replay from all counters, and a success from the counters of failures. This is best effort: a counter
   * that stays costs its caller one request of the window.
   */
  settle(outcome: Outcome): Promise<void>
}

/** Returns whether requests of the route are counted. */
export function isThrottled({ endpoint, settings }: RequestContext): boolean {
  const { operation, throttle } = endpoint.route
  return throttle !== undefined || settings['limits.other'][operation] !== undefined
}

/**
 * Counts a request by all limits of its route: those of the route and those of the setting limits.other.
 * @throws RATE_LIMIT.exceeded; the request is then counted nowhere
 */
export async function countRequest(context: RequestContext, input: Input): Promise<CountedRequest> {
  const { table, clock } = context
  const counters = [...limitedByDeployment(context), ...(await limitedByRoute(context, input))]
  const countedAt = await countIn(counters, table, clock)
  return {
    async settle({ status, response }) {
      for (const { subject, failuresOnly } of counters) {
        if (status !== 'replayed' && !(failuresOnly && response.status < 400)) continue
        await uncountRequest(subject, countedAt, table).catch(() => undefined)
      }
    },
  }
}

function limitedByDeployment({ endpoint, caller, scope, settings }: RequestContext): Counter[] {
  const { operation } = endpoint.route
  const limit = settings['limits.other'][operation]
  const subject = [operation, caller?.tenant ?? scope.tenant, principalOf(caller)]
  return limit ? [{ ...limit, subject }] : []
}

/**
 * Hashes addresses and e-mails with a key of the deployment, because a plain hash of them can be reversed by trial.
 */
async function limitedByRoute(
  { endpoint, source, derivedKey, settings }: RequestContext,
  { body }: Input,
): Promise<Counter[]> {
  const { operation, throttle } = endpoint.route
  if (!throttle) return []
  const key = await derivedKey('throttles v1')
  const fields = body as Readonly<Record<string, unknown>>
  return throttle(settings).map(({ by, shared = operation, ...limit }) => {
    const values = by.map((one) => String(one === 'source' ? source : fields[one.slice('body.'.length)]))
    return { ...limit, subject: [shared, keyedHash(key, ...values)] }
  })
}

/** A limit and its subject. */
export interface Counter extends RateLimit {
  /** Only its hash is stored. */
  subject: readonly string[]
  /** Counts failed requests only: a successful request is removed afterwards. */
  failuresOnly?: true
}

/** Each round admits at least one request, so a burst settles after at most as many rounds as its limit. */
const mostRounds = 60

/**
 * Counts a request in all counters, or rejects it. The sliding windows store the times of admitted requests. Each write
 * requires that no other request changed the window, so a burst cannot exceed the limit. One counter costs a read and a
 * write; several cost one batch read and one transaction.
 * @returns the time at which it was counted, in milliseconds since 1970
 * @throws RATE_LIMIT.exceeded with the seconds until a request would be admitted
 */
export async function countIn(counters: readonly Counter[], table: Table, clock: Clock): Promise<number> {
  const windows = await readWindows(counters, table)
  for (let round = 0; round < mostRounds; round += 1) {
    const now = clock.now()
    refuseIfFull(counters, windows, now)
    const puts = counters.map((counter, index) => withRequest(counter, windows[index], now))
    const refusal = await write(puts, table)
    if (!refusal) return now
    windows[refusal.index] = refusal.existing
  }
  throw fail('RATE_LIMIT.exceeded', { retryAfterSeconds: 1, details: detailsOf(counters) })
}

/** Removes a request from a window. @param countedAt the result of `countIn` */
export async function uncountRequest(
  subject: readonly string[],
  countedAt: number,
  table: Table,
): Promise<void> {
  let window = await table.get(keyOf(subject))
  for (let round = 0; round < mostRounds; round += 1) {
    const times = timesOf(window)
    const index = times.indexOf(countedAt)
    if (!window || index < 0) return
    const version = Number(window.version)
    const item = { ...window, times: times.toSpliced(index, 1), version: version + 1 }
    const refusal = await table.put({ item, condition: { matches: { version } } })
    if (!refusal) return
    window = refusal.existing
  }
}

async function readWindows(counters: readonly Counter[], table: Table): Promise<(Item | undefined)[]> {
  const keys = counters.map(({ subject }) => keyOf(subject))
  const [first, ...others] = keys
  if (first && others.length === 0) return [await table.get(first)]
  const found = keys.length > 0 ? await table.getMany(keys) : []
  return keys.map(({ pk }) => found.find((item) => item.pk === pk))
}

async function write(puts: readonly Put[], table: Table) {
  const [first, ...others] = puts
  if (!first) return undefined
  return others.length === 0 ? table.put(first) : table.transact(puts)
}

/** @throws RATE_LIMIT.exceeded, with the longest wait of the full windows */
function refuseIfFull(counters: readonly Counter[], windows: readonly (Item | undefined)[], now: number) {
  const waits = counters.map((counter, index) => {
    const first = recent(counter, windows[index], now).at(-counter.limit)
    return first === undefined ? 0 : first + counter.windowSeconds * 1000 - now
  })
  if (waits.every((wait) => wait === 0)) return
  throw fail('RATE_LIMIT.exceeded', {
    retryAfterSeconds: Math.ceil(Math.max(...waits) / 1000),
    details: detailsOf(counters.filter((_, index) => waits[index])),
  })
}

function detailsOf(counters: readonly Counter[]): Details {
  return Object.assign({}, ...counters.map(({ details }) => details))
}

function withRequest(counter: Counter, window: Item | undefined, now: number): Put {
  const version = Number(window?.version ?? 0)
  const item = {
    ...keyOf(counter.subject),
    times: [...recent(counter, window, now), now],
    version: version + 1,
    expires_at: Math.ceil(now / 1000) + counter.windowSeconds,
  }
  const condition: Condition = window ? { matches: { version } } : { absent: true }
  return { item, condition }
}

function recent({ windowSeconds }: Counter, window: Item | undefined, now: number): number[] {
  return timesOf(window).filter((at) => at > now - windowSeconds * 1000)
}

function timesOf(item: Item | undefined): number[] {
  return (item?.times ?? []) as number[]
}

function keyOf(subject: readonly string[]): Key {
  const hash = createHash('sha256').update(JSON.stringify(subject)).digest('base64url')
  return { pk: `rate#${hash}`, sk: 'window' }
}
