import { shardsVariable } from '#lib/functions/function-names.ts'
import { type ShardSettings, shardsOf } from '#shared/platform/table/keys.ts'

/** The shards of a release that recorded none: one. */
const unrecorded = JSON.stringify({ default: { writes: 1, reads: 1 }, tenants: {} })

/** Returns the shards of a release from the environment of one of its functions. */
export function recordedShards(environment: Readonly<Record<string, string>>): ShardSettings {
  return { 'storage.shards': JSON.parse(environment[shardsVariable] ?? unrecorded) }
}

/** Stands for every tenant that no release names. No tenant has this name. */
const others = '*'

/**
 * Returns what the lists of a release would miss of the items that others store, as the end of a sentence; nothing if they
 * read everything.
 */
export function missedBy(reader: ShardSettings, writers: readonly ShardSettings[]): string | undefined {
  const missed = tenantsOf([reader, ...writers]).flatMap((tenant) => {
    const { reads } = shardsOf(reader, tenant)
    const writes = Math.max(0, ...writers.map((one) => shardsOf(one, tenant).writes))
    if (reads >= writes) return []
    return `${reads} of the ${writes} shards of ${tenant === others ? 'all other tenants' : tenant}`
  })
  return missed.length > 0 ? `reads ${missed.join(', ')}` : undefined
}

function tenantsOf(releases: readonly ShardSettings[]): string[] {
  const named = releases.flatMap((one) => Object.keys(one['storage.shards'].tenants))
  return [...new Set([...named, others])]
}

/** Returns whether a release stores the items of a tenant in more shards than any of the others. */
export function writesMore(one: ShardSettings, than: readonly ShardSettings[]): boolean {
  return tenantsOf([one, ...than]).some((tenant) =>
    than.every((other) => shardsOf(other, tenant).writes < shardsOf(one, tenant).writes),
  )
}
