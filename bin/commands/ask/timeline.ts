import { asOperation } from '#shared/operations/operation-store.ts'
import { timeOf, timestamp } from '#shared/platform/base/clock.ts'
import { type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { inUnits } from '../../console/page/amounts.js'
import type { AuditLine, DeadLetterLine, DeliveryLine, LedgerLine } from './lists.ts'
import type { FoundItem } from './locate.ts'
import type { LogLine } from './search-logs.ts'

/** What a timeline has an entry for. A `request` is a log line, and a `change` an item after its latest change. */
const timelineKinds = [
  'request',
  'audit',
  'ledger',
  'change',
  'event',
  'delivery',
  'mail',
  'dead_letter',
] as const
type TimelineKind = (typeof timelineKinds)[number]

export interface TimelineEntry {
  /** ISO 8601. */
  at: string
  kind: TimelineKind
  id: string
  tenant: string | undefined
  correlation_id: string | undefined
  /** One line without personal data. */
  summary: string
  /** All that is known of it, without the data of events and without secrets. */
  data: Readonly<Record<string, unknown>>
  /** The command that acts on it, to paste, such as `npx commerce deliveries resend ID --tenant acme --stack NAME`. */
  command?: string
}

/** Returns the entry of a line of a log. */
export function entryOfLine({ at, fields }: LogLine): TimelineEntry {
  const { message, operation, status, duration_milliseconds, code, error_code, event_type } = fields
  const what = {
    request: `${operation} ${status} in ${duration_milliseconds} ms`,
    event: `${code} ${event_type}`,
  }[String(message)]
  return {
    at: timestamp(at),
    kind: 'request',
    id: String(fields.correlation_id ?? fields.event_id ?? ''),
    tenant: textOf(fields.tenant),
    correlation_id: textOf(fields.correlation_id),
    summary: [what ?? `${message} ${code}`, error_code].filter(Boolean).join(': '),
    data: fields,
  }
}

export function entryOfAudit(line: AuditLine): TimelineEntry {
  const { at, id, tenant_id: tenant, correlation_id, result, action, target, actor_id, reason, count } = line
  const why = reason === 'allowed' ? '' : `: ${reason}`
  const times = count === undefined ? '' : ` (${count} times)`
  return {
    ...{ at, kind: 'audit', id, tenant, correlation_id },
    summary: `${result} ${action} ${target} by ${actor_id}${why}${times}`,
    data: { ...line },
  }
}

export function entryOfLedger(line: LedgerLine): TimelineEntry {
  const { at, id, tenant_id: tenant, kind, amount, currency, charge_id } = line
  const summary = `${kind} of ${inUnits(amount, currency)} of ${charge_id}`
  return { ...{ at, kind: 'ledger', id, tenant, correlation_id: undefined, summary }, data: { ...line } }
}

/** Returns the entry of a delivery at its latest attempt, or at its event before one. */
export function entryOfDelivery(line: DeliveryLine, command: CommandOf): TimelineEntry {
  const { answer: _, ...rest } = line
  const { id, tenant_id: tenant, correlation_id, type, state, attempts, subscriber_id, latest } = line
  return {
    at: attempts.at(-1)?.at ?? line.occurred_at,
    ...{ kind: 'delivery', id, tenant, correlation_id },
    summary: `${type} to ${subscriber_id} ${state}${latest === '' ? '' : ` after ${latest}`}`,
    // The answers of subscribers are any text.
    data: { ...rest, attempts: attempts.map(({ answer: _, ...attempt }) => attempt) },
    ...(state !== 'succeeded' && { command: command(`deliveries resend ${id} --tenant ${tenant}`) }),
  }
}

export function entryOfLetter(line: DeadLetterLine, command: CommandOf): TimelineEntry {
  const { at, message_id: id, tenant_id: tenant, queue, reason } = line
  return {
    ...{ at, kind: 'dead_letter', id, tenant, correlation_id: undefined },
    summary: `in ${queue}${reason === undefined ? '' : `: ${reason}`}`,
    data: { ...line },
    command: command(`dead-letters redrive ${queue} ${id}`),
  }
}

/** Nothing is known of what somebody looks for. */
export class NothingFoundError extends Error {}

/** Returns the entry of an event, without its data. */
export function entryOfEvent(
  event: Pick<PublishedEvent, 'type' | 'event_id' | 'occurred_at' | 'correlation_id'>,
  tenant: string,
): TimelineEntry {
  const { type, event_id: id, occurred_at: at, correlation_id } = event
  const data = { type, event_id: id, occurred_at: at }
  return { at, kind: 'event', id, tenant, correlation_id, summary: type, data }
}

/** The members that a timeline shows of an item, by its kind. The others are free text, worth money, or secret. */
const shown: Readonly<Record<string, readonly string[]>> = {
  order: ['status', 'cart_id', 'amount_minor', 'currency', 'created_at', 'updated_at', 'erased_at'],
  refund: [
    'status',
    'charge_id',
    'amount',
    'currency',
    'account',
    'provider_refund_id',
    'created_at',
    'updated_at',
  ],
  code: ['state', 'type', 'expiry_at', 'soft_deleted', 'created_at', 'updated_at'],
  cart: ['cart_id', 'amount_minor', 'currency', 'stated'],
  subscriber: ['url', 'events', 'state', 'reason', 'created_at', 'updated_at'],
  'api key': ['scopes', 'state', 'last4', 'principal_id', 'created_at', 'valid_until'],
  mail: ['state', 'code_id'],
  'received event': ['state', 'failed_attempts', 'failure', 'handled_at'],
}

/** Returns the entries of an item: its state now, and the events that it carries. */
export function entriesOfItem(found: FoundItem, command: CommandOf): TimelineEntry[] {
  const { kind, id, tenant, item } = found
  if (kind === 'delivery') return []
  const data = kind === 'operation' ? dataOfOperation(item) : dataOf(item, shown[kind] ?? [])
  const state = textOf(item.status ?? item.state)
  const entry: TimelineEntry = {
    at: timeOfItem(id, item),
    kind: kind === 'mail' ? 'mail' : 'change',
    ...{ id, tenant, correlation_id: correlationsOf(item)[0] },
    summary: [kind, id, state].filter(Boolean).join(' '),
    data,
    ...commandOf(found, command),
  }
  const events = item.outbox === undefined ? [] : publishedEvents(item)
  return [entry, ...events.map((event) => entryOfEvent(event, tenant))]
}

/** Returns the correlation ids of the requests that made and changed an item, as far as it keeps them. */
export function correlationsOf(item: Item): string[] {
  const outbox = (item.outbox ?? {}) as { correlation_id?: string; first?: { correlation_id?: string } }
  const all = [item.correlation_id, outbox.correlation_id, outbox.first?.correlation_id]
  return [...new Set(all.flatMap((one) => (typeof one === 'string' ? [one] : [])))]
}

/** Adds the program and the stack to a command. */
type CommandOf = (command: string) => string

export function commandsFor(stack: string | undefined): CommandOf {
  return (command) => `npx commerce ${command}${stack === undefined ? '' : ` --stack ${stack}`}`
}

function commandOf({ kind, id, tenant, item }: FoundItem, command: CommandOf): { command?: string } {
  if (kind === 'subscriber') {
    const verb = item.state === 'active' ? 'pause' : 'resume'
    return { command: command(`subscribers ${verb} ${id} --tenant ${tenant}`) }
  }
  if (kind === 'api key' && item.state === 'active')
    return { command: command(`api-keys revoke ${id} --tenant ${tenant}`) }
  return {}
}

function dataOfOperation(item: Item): Record<string, unknown> {
  const { state, created_at, updated_at, result, error, chunks_total, chunks_done } = asOperation(item)
  return { state, created_at, updated_at, result, error, chunks_total, chunks_done }
}

function dataOf(item: Item, members: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    members.filter((name) => item[name] !== undefined).map((name) => [name, item[name]]),
  )
}

function timeOfItem(id: string, { updated_at, handled_at, created_at, outbox, event }: Item): string {
  const known = textOf(updated_at ?? handled_at ?? created_at)
  if (known !== undefined) return known
  const at = (outbox as { at?: number } | undefined)?.at
  if (at !== undefined) return timestamp(at)
  return typeof event === 'string' ? JSON.parse(event).occurred_at : timestamp(timeOf(id))
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
