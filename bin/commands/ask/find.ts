import { codeTextOf } from '#shared/codes/code-text.ts'
import { dayMilliseconds, isId, minuteMilliseconds, timeOf } from '#shared/platform/base/clock.ts'
import { noUnits, type Units } from '#shared/platform/base/units.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { UsageError } from '../../cli/options.ts'
import {
  type AuditLine,
  type DeliveryLine,
  deliveryLine,
  readAudit,
  readDeadLetters,
  readDeliveries,
  readItems,
  readLedger,
  readRefunds,
} from './lists.ts'
import {
  type Found,
  type FoundItem,
  findable,
  foundItem,
  itemsById,
  itemsByName,
  mailsById,
} from './locate.ts'
import type { LineAnswer, LineQuery, ReadLines } from './query.ts'
import type { Reach } from './reach.ts'
import type { LogLine } from './search-logs.ts'
import {
  commandsFor,
  correlationsOf,
  entriesOfItem,
  entryOfAudit,
  entryOfDelivery,
  entryOfEvent,
  entryOfLedger,
  entryOfLetter,
  entryOfLine,
  NothingFoundError,
  type TimelineEntry,
} from './timeline.ts'

/** Everything that is known about one thing, oldest first. */
export interface Timeline {
  /** What the text names; several if it may be each of them, or if several tenants have it and none was named. */
  found: readonly Found[]
  entries: TimelineEntry[]
  read: {
    /** What the table charged. */
    units: Units
    /** The searches of logs. */
    calls: number
    /** Whether everything of the time was read. If not, this is a sample. */
    complete: boolean
    /** Why the logs were not searched. Then only the table and the dead letters were read. */
    logs_failed?: string
  }
}

export interface FindOptions {
  /** Milliseconds since 1970. By default the time in the id, else a day ago. */
  from?: number | undefined
  /** By default now. */
  to?: number | undefined
  /**
   * What is found by its tenant only: a charge, a refund of the provider, the text of a code, a cart, an event, a delivery,
   * or an API key without requests in the time.
   */
  tenant?: string | undefined
}

/** What one answer of a list looks at, and how many answers a search reads: 100,000 items of an audit. */
const linesAtOnce = 10_000
const mostAnswers = 10
const mostLogLines = 1000
/** The most correlation ids that are looked for in logs, the latest first. */
const mostCorrelations = 200
/** The most moments around which deliveries and new items are looked for. */
const mostMoments = 20
/** The most mails that are read, those of the latest requests. */
const mostMails = 50

/** The entities that requests create, by their operation. */
const createdEntities: Readonly<Record<string, 'order' | 'code' | 'refund' | 'operation'>> = {
  'orders.create': 'order',
  'codes.create': 'code',
  'codes.import': 'code',
  'refunds.create': 'refund',
  'imports.create': 'operation',
}

/**
 * Finds what a text names, and all that happened to it.
 * @throws NothingFoundError
 */
export async function find(reach: Reach, what: string, options: FindOptions = {}): Promise<Timeline> {
  const search = new Search(reach, what, options)
  await search.locate()
  await search.readAudit()
  await search.readLogs()
  await search.readAround()
  await search.readLetters()
  return search.timeline()
}

/** The state of one search. Each step adds to what the next ones look for. */
class Search {
  readonly #reach: Reach
  readonly #what: string
  readonly #table: Table
  readonly #units = noUnits()
  readonly #time: { from: number; to: number }
  readonly #correlations = new Set<string>()
  readonly #items = new Map<string, FoundItem>()
  readonly #lines = new Map<string, LogLine>()
  readonly #audit = new Map<string, AuditLine>()
  readonly #deliveries = new Map<string, DeliveryLine>()
  readonly #others: TimelineEntry[] = []
  readonly #deletedCodes = new Set<string>()
  #tenant: string | undefined
  #isKey = false
  #calls = 0
  #complete = true
  #logsFailure: Error | undefined

  constructor(reach: Reach, what: string, { from, to = Date.now(), tenant }: FindOptions) {
    this.#reach = reach
    this.#what = what
    this.#tenant = tenant
    this.#table = reach.openTable(this.#units)
    this.#time = { from: from ?? startOf(what, to), to }
    if (this.#time.from >= to) throw new UsageError('--from must be before --to')
  }

  /** Finds the items that the text names, or its tenant by the lines of logs that hold it. */
  async locate(): Promise<void> {
    this.#add(await itemsById(this.#table, this.#what, this.#tenant))
    if (this.#items.size === 0) await this.#searchLogs([this.#what])
    if (this.#tenant === undefined) return
    this.#add(await itemsById(this.#table, this.#what, this.#tenant))
    if (this.#items.size === 0) this.#add(await itemsByName(this.#table, this.#what, this.#tenant))
    if (this.#items.size === 0 && this.#lines.size === 0) await this.#readMoney()
  }

  /** Reads the audit for what names the items, the code that was deleted, the API key or the correlation ids. */
  async readAudit(): Promise<void> {
    if (this.#tenant === undefined) return
    const tenant = this.#tenant
    const text = codeTextOf(this.#what)
    const hash =
      text === undefined || isId(this.#what) ? undefined : await this.#reach.hashOfCode(tenant, text)
    const lines = await this.#all(readAudit, { tenant })
    const targets = new Set(
      [...this.#items.values()].map(({ kind, id }) => `${kind.replace(' ', '_')}/${id}`),
    )
    for (const { target, before } of lines)
      if (hash !== undefined && before?.code_hash === hash) {
        targets.add(target)
        this.#deletedCodes.add(target.replace('code/', ''))
      }
    const actor = `api-key:${this.#what}`
    const isOf = (line: AuditLine) =>
      targets.has(line.target) ||
      line.target.endsWith(`/${this.#what}`) ||
      line.token_sub === actor ||
      line.correlation_id === this.#what
    for (const line of lines.filter(isOf)) this.#correlations.add(line.correlation_id)
    for (const line of lines)
      if (isOf(line) || this.#correlations.has(line.correlation_id)) this.#audit.set(line.id, line)
  }

  async readLogs(): Promise<void> {
    const correlations = [...this.#correlations]
    if (correlations.length > mostCorrelations) this.#complete = false
    await this.#searchLogs([...correlations.slice(0, mostCorrelations), ...(this.#isKey ? [this.#what] : [])])
  }

  /** Reads what was written in the minutes around each known moment: new items, and deliveries. */
  async readAround(): Promise<void> {
    if (this.#tenant === undefined) return
    const tenant = this.#tenant
    await this.#readTargets(tenant)
    const creations = [...this.#lines.values()].flatMap(({ at, fields }) => {
      const entity = createdEntities[String(fields.operation)]
      return entity && this.#correlations.has(String(fields.correlation_id)) ? [{ at, entity }] : []
    })
    for (const [entity, moments] of Map.groupBy(creations, ({ entity }) => entity))
      for (const time of this.#windows(moments.map(({ at }) => at))) {
        const items = await this.#all(readItems(entity), { tenant, ...time })
        this.#add(items.map(foundItem).filter(({ item }) => this.#isCorrelated(correlationsOf(item))))
      }
    const moments = [...this.#entries()].map(({ at }) => Date.parse(at))
    const ids = new Set([this.#what, ...[...this.#items.values()].map(({ id }) => id)])
    for (const time of this.#windows(moments))
      for (const line of await this.#all(readDeliveries, { tenant, ...time })) {
        const known = [line.id, line.event_id, line.subscriber_id].some((id) => ids.has(id))
        if (known || this.#isCorrelated([line.correlation_id])) this.#deliveries.set(line.id, line)
      }
    await this.#readLedger(tenant)
  }

  /** Looks at the dead letters that name something of the timeline. */
  async readLetters(): Promise<void> {
    const names = [this.#what, ...this.#correlations, ...[...this.#items.values()].map(({ id }) => id)]
    const command = commandsFor(this.#reach.stack)
    const { lines, units } = await readDeadLetters(this.#reach, { limit: linesAtOnce, anyOf: names })
    this.#charge(units)
    const own = lines.filter(({ tenant_id }) => this.#isOwn(tenant_id))
    this.#others.push(...own.map((line) => entryOfLetter(line, command)))
  }

  /** @throws NothingFoundError, or why the logs were not searched if nothing else is known */
  timeline(): Timeline {
    const entries = [...this.#entries()].toSorted((one, other) => (one.at < other.at ? -1 : 1))
    if (entries.length === 0) {
      if (this.#logsFailure) throw this.#logsFailure
      const { from, to } = this.#time
      const time = `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`
      const advice =
        this.#tenant === undefined
          ? '. The text of a code, a charge or a cart is found only with its tenant: name it with --tenant, or fill in Tenant in the browser'
          : ''
      throw new NothingFoundError(
        `nothing is known of ${this.#what} from ${time}: look at another time${advice}`,
      )
    }
    const found: Found[] = [...this.#items.values()].map(({ kind, id, tenant }) => ({ kind, id, tenant }))
    const known = new Set(found.map(({ id }) => id))
    for (const id of this.#deletedCodes)
      if (!known.has(id)) found.push({ kind: 'deleted code', id, tenant: this.#tenant })
    const tenants = this.#tenant === undefined ? this.#tenantsOfLines() : [this.#tenant]
    if (found.length === 0)
      for (const tenant of tenants.length > 0 ? tenants : [undefined])
        found.push({ kind: this.#kind(), id: this.#what, tenant })
    // What is found by its tenant only was not read.
    const complete = this.#complete && tenants.length < 2
    const read = { units: this.#units, calls: this.#calls, complete }
    const failure = this.#logsFailure && { logs_failed: this.#logsFailure.message }
    return { found, entries, read: { ...read, ...failure } }
  }

  /** Says what a text without an item is. */
  #kind(): string {
    if (this.#isKey) return 'api key'
    return this.#correlations.has(this.#what) ? 'correlation id' : 'name'
  }

  *#entries(): Generator<TimelineEntry> {
    const command = commandsFor(this.#reach.stack)
    const events = new Map<string, TimelineEntry>()
    for (const item of this.#items.values())
      for (const entry of entriesOfItem(item, command)) {
        if (entry.kind === 'event') events.set(entry.id, entry)
        else yield entry
      }
    for (const line of this.#deliveries.values()) {
      events.set(line.event_id, entryOfEvent(line, line.tenant_id))
      yield entryOfDelivery(line, command)
    }
    yield* events.values()
    for (const line of this.#audit.values()) yield entryOfAudit(line)
    for (const line of this.#lines.values()) yield entryOfLine(line)
    yield* this.#others
  }

  #add(found: readonly FoundItem[]): void {
    for (const one of found) {
      this.#items.set(`${one.item.pk}|${one.item.sk}`, one)
      if (this.#tenantsOfLines().length < 2) this.#tenant ??= one.tenant
      if (one.kind === 'api key') this.#isKey = true
      if (one.kind === 'delivery') this.#deliveries.set(one.id, deliveryLine(one.item))
      for (const id of correlationsOf(one.item)) this.#correlations.add(id)
    }
  }

  async #searchLogs(anyOf: readonly string[]): Promise<void> {
    if (anyOf.length === 0) return
    const search = { ...this.#time, anyOf, limit: mostLogLines }
    const { lines, calls, complete } = await this.#reach.searchLogs(search).catch((thrown: Error) => {
      this.#logsFailure = thrown
      return { lines: [], calls: 0, complete: false }
    })
    this.#calls += calls
    this.#complete &&= complete
    for (const line of lines) {
      const { tenant, correlation_id, api_key } = line.fields
      if (!this.#isOwn(tenant)) continue
      this.#lines.set(JSON.stringify(line), line)
      if (typeof correlation_id === 'string') this.#correlations.add(correlation_id)
      if (api_key === this.#what) this.#isKey = true
    }
    const [tenant, ...others] = this.#tenantsOfLines()
    if (others.length === 0) this.#tenant ??= tenant
    await this.#readMails(lines.filter(({ fields }) => this.#isOwn(fields.tenant)))
  }

  /** Callers choose correlation ids, so several tenants may have the same one. */
  #tenantsOfLines(): string[] {
    const tenants = [...this.#lines.values()].map(({ fields }) => fields.tenant)
    return [...new Set(tenants.filter((tenant) => typeof tenant === 'string'))].toSorted()
  }

  /** Returns whether something is of the tenant, as far as both are known. */
  #isOwn(tenant: unknown): boolean {
    return this.#tenant === undefined || typeof tenant !== 'string' || tenant === this.#tenant
  }

  /** Reads the mails of the latest requests. Their requests have no tenant. */
  async #readMails(lines: readonly LogLine[]): Promise<void> {
    const ids = new Set(lines.flatMap(({ fields: { mail } }) => (typeof mail === 'string' ? [mail] : [])))
    if (ids.size > mostMails) this.#complete = false
    const mails = await mailsById(this.#table, [...ids].slice(0, mostMails))
    this.#add(mails.filter(({ tenant }) => this.#isOwn(tenant)))
  }

  /** Finds refunds by their charge or their id at the provider. */
  async #readMoney(): Promise<void> {
    const tenant = this.#tenant
    for (const { id, charge_id, provider_refund_id, tenant_id } of await this.#all(readRefunds, { tenant }))
      if ([charge_id, provider_refund_id].includes(this.#what))
        this.#add(await itemsById(this.#table, id, tenant_id))
  }

  async #readLedger(tenant: string): Promise<void> {
    const refunds = [...this.#items.values()].filter(({ kind }) => kind === 'refund')
    for (const { id } of refunds) {
      const at = timeOf(id)
      const lines = await this.#all(readLedger, { tenant, from: at, to: at + 1 })
      this.#others.push(...lines.filter(({ refund_id }) => refund_id === id).map(entryOfLedger))
    }
  }

  /** Reads the items that audit records name. */
  async #readTargets(tenant: string): Promise<void> {
    const keys = [...this.#audit.values()].flatMap(({ target }) => {
      const [entity = '', id] = target.split('/')
      const known = findable.find((one) => one === entity)
      return known && id !== undefined ? [keyOf(tenant, known, id)] : []
    })
    const unique = [...new Map(keys.map((key) => [`${key.pk}|${key.sk}`, key])).values()]
    const items = unique.length > 0 ? await this.#table.getMany(unique.slice(0, 100)) : []
    if (unique.length > 100) this.#complete = false
    for (const item of items) {
      const { kind, id, tenant, item: read } = foundItem(item)
      this.#items.set(`${read.pk}|${read.sk}`, { kind, id, tenant, item: read })
    }
  }

  #isCorrelated(ids: readonly string[]): boolean {
    return ids.some((id) => this.#correlations.has(id))
  }

  /** Returns the minutes around moments, each once. */
  #windows(moments: readonly number[]): { from: number; to: number }[] {
    const windows: { from: number; to: number }[] = []
    for (const at of moments.toSorted((one, other) => one - other)) {
      const last = windows.at(-1)
      if (last && at - minuteMilliseconds <= last.to) last.to = at + minuteMilliseconds
      else windows.push({ from: at - minuteMilliseconds, to: at + minuteMilliseconds })
    }
    if (windows.length > mostMoments) this.#complete = false
    return windows.slice(-mostMoments)
  }

  /** Reads a list to its end, or as much as a search reads. */
  async #all<Entry>(read: ReadLines<Entry>, query: Omit<LineQuery, 'limit'>): Promise<Entry[]> {
    const entries: Entry[] = []
    let answer: LineAnswer<Entry> | undefined
    for (let count = 0; count < mostAnswers && !answer?.complete; count += 1) {
      const { cursor } = answer ?? {}
      answer = await read(this.#reach, { ...this.#time, ...query, limit: linesAtOnce, cursor })
      this.#charge(answer.units)
      entries.push(...answer.lines)
    }
    if (!answer?.complete) this.#complete = false
    return entries
  }

  #charge({ read, write }: Units): void {
    this.#units.read += read
    this.#units.write += write
  }
}

/** Returns the time in an id, if it is one of the present, or a day before the end. */
function startOf(what: string, to: number): number {
  const at = isId(what) ? timeOf(what) - minuteMilliseconds : 0
  const isPresent = at > Date.UTC(2020, 0) && at < to
  return isPresent ? at : to - dayMilliseconds
}
