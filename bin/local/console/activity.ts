/** The kinds of entries that the console shows. Each page section lists one or two of them. */
const kinds = [
  'request',
  'log',
  'event',
  'delivery',
  'subscriber',
  'mail',
  'payout',
  'ledger',
  'operation',
  'queue',
  'audit',
  'problem',
] as const

/** One thing that the service did, or the state of one of its parts. A later entry with the same id replaces it. */
export interface Entry {
  kind: (typeof kinds)[number]
  id: string
  correlation_id?: string | null
  [member: string]: unknown
}

/** What the service did so far, and the viewers who are sent each new entry. */
export interface Activity {
  /** Adds or replaces entries. An entry that says nothing new is not sent. */
  add(entries: readonly Entry[]): void
  /** Returns all entries, oldest first. */
  entries(): Entry[]
  /** Calls the viewer with each change. @returns a function that ends the calls */
  watch(viewer: (changed: readonly Entry[]) => void): () => void
  readonly viewers: number
}

/** @param limit how many entries of a kind are kept */
export function activity(limit = 500): Activity {
  const stored = new Map(kinds.map((kind) => [kind, new Map<string, { entry: Entry; text: string }>()]))
  const viewers = new Set<(changed: readonly Entry[]) => void>()
  return {
    add(entries) {
      const changed = entries.filter((entry) => {
        const ofKind = stored.get(entry.kind)
        const text = JSON.stringify(entry)
        if (!ofKind || ofKind.get(entry.id)?.text === text) return false
        ofKind.set(entry.id, { entry, text })
        if (ofKind.size > limit) ofKind.delete(ofKind.keys().next().value ?? '')
        return true
      })
      if (changed.length > 0) for (const viewer of viewers) viewer(changed)
    },
    entries: () => [...stored.values()].flatMap((ofKind) => [...ofKind.values()].map(({ entry }) => entry)),
    watch(viewer) {
      viewers.add(viewer)
      return () => viewers.delete(viewer)
    },
    get viewers() {
      return viewers.size
    },
  }
}
