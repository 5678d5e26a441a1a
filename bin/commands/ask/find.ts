import type { Units } from '#shared/platform/base/units.ts'
import type { Reach } from './reach.ts'

/** What a timeline has an entry for. A `change` is the state of an item after its latest change. */
export const timelineKinds = [
  'request',
  'audit',
  'ledger',
  'change',
  'event',
  'delivery',
  'mail',
  'dead_letter',
] as const
export type TimelineKind = (typeof timelineKinds)[number]

export interface TimelineEntry {
  /** ISO 8601. */
  at: string
  kind: TimelineKind
  id: string
  tenant: string | undefined
  correlation_id: string | undefined
  /** One line without personal data. */
  summary: string
  /** All that is known of it, without personal data and secrets. */
  data: Readonly<Record<string, unknown>>
  /** The command that acts on it, to paste, such as `npx commerce deliveries resend ID --tenant acme --stack NAME`. */
  command?: string
}

/** Everything that is known about one thing, oldest first. */
export interface Timeline {
  /** What the text names, such as `order`, `correlation id` or `code`; several if it may be each of them. */
  found: readonly { kind: string; id: string; tenant: string | undefined }[]
  entries: TimelineEntry[]
  read: {
    /** What the table charged. */
    units: Units
    /** The calls of other services. */
    calls: number
    /** Whether everything of the time was read. If not, this is a sample. */
    complete: boolean
  }
}

export interface FindOptions {
  /** Milliseconds since 1970. By default the time in the id, else a day ago. */
  from?: number | undefined
  /** By default now. */
  to?: number | undefined
  /** What is found by its tenant only: a charge, a provider's refund, the text of a code, a cart, an event, a subscriber. */
  tenant?: string | undefined
}

/**
 * Finds what a text names, and all that happened to it.
 * @throws Error if nothing is found
 */
export async function find(_reach: Reach, _what: string, _options: FindOptions = {}): Promise<Timeline> {
  return { found: [], entries: [], read: { units: { read: 0, write: 0 }, calls: 0, complete: true } }
}
