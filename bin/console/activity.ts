/** The kinds of entries that the console shows, and how many of each the local run keeps for its pages. */
const kept = {
  request: 500,
  log: 500,
  /** Nothing else keeps what the bus has published. */
  event: 10_000,
  delivery: 500,
  subscriber: 500,
  mail: 500,
  refund: 500,
  payout: 500,
  ledger: 500,
  operation: 500,
  queue: 500,
  audit: 500,
  problem: 500,
  /** Everything about one thing, as it was found. */
  found: 0,
} as const

/** The most entries of a kind that a page is sent at first. */
const sentAtFirst = 500

/** One thing that the service did, or the state of one of its parts. A later entry with the same id replaces it. */
export interface ConsoleEntry {
  kind: keyof typeof kept
  id: string
  correlation_id?: string | null | undefined
  [member: string]: unknown
}

/** What the service did so far, and the viewers who are sent each new entry. */
export interface Activity {
  /** Adds or replaces entries. An entry that says nothing new is not sent. */
  add(entries: readonly ConsoleEntry[]): void
  /** Returns the entries of a kind that are kept, oldest first. */
  all(kind: ConsoleEntry['kind']): ConsoleEntry[]
  /** Returns the latest entries of all kinds, each kind oldest first. */
  latest(): ConsoleEntry[]
  /** Calls the viewer with each change. @returns a function that ends the calls */
  watch(viewer: (changed: readonly ConsoleEntry[]) => void): () => void
  readonly viewers: number
}

/** @param limits how many entries of each kind are kept */
export function activity(limits: Partial<Record<ConsoleEntry['kind'], number>> = kept): Activity {
  const stored = new Map<ConsoleEntry['kind'], Map<string, { entry: ConsoleEntry; text: string }>>()
  const viewers = new Set<(changed: readonly ConsoleEntry[]) => void>()
  const all = (kind: ConsoleEntry['kind']) =>
    [...(stored.get(kind)?.values() ?? [])].map(({ entry }) => entry)
  return {
    add(entries) {
      const changed = entries.filter((entry) => {
        const ofKind = stored.get(entry.kind) ?? new Map()
        const text = JSON.stringify(entry)
        if (ofKind.get(entry.id)?.text === text) return false
        stored.set(entry.kind, ofKind.set(entry.id, { entry, text }))
        if (ofKind.size > (limits[entry.kind] ?? 0)) ofKind.delete(ofKind.keys().next().value ?? '')
        return true
      })
      if (changed.length > 0) for (const viewer of viewers) viewer(changed)
    },
    all,
    latest: () => [...stored.keys()].flatMap((kind) => all(kind).slice(-sentAtFirst)),
    watch(viewer) {
      viewers.add(viewer)
      return () => viewers.delete(viewer)
    },
    get viewers() {
      return viewers.size
    },
  }
}
