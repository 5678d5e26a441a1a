import { firstIdAt } from '#shared/platform/base/clock.ts'
import {
  type Entity,
  type Key,
  keyOf,
  partitionsOf,
  pendingPartitionsOf,
} from '#shared/platform/table/keys.ts'
import { inParallel } from '#shared/platform/table/table.ts'
import { type Copying, copyPartition, itemsAt, pagesOf, putOf, removalOf, writeAll } from './copying.ts'

/** The numbers of subscribers, and of deliveries that are recorded since the time or had not ended at it. */
export interface CarriedSubscribers {
  subscribers: number
  deliveries: number
}

/** An event may be delivered later than it occurred. */
const marginMilliseconds = 24 * 3600 * 1000
const perTenant = ['subscriber', 'subscriber_health', 'waiting_delivery'] as const satisfies Entity[]

/**
 * Carries over the subscribers of all tenants and their deliveries, as they stand now. What was delivered since the time of
 * the restore is not sent again, and what waits is sent. It can be repeated.
 * @param from the time of the restore
 */
export async function carryOverSubscribers(copying: Copying, from: Date): Promise<CarriedSubscribers> {
  const { client, source, target } = copying
  const done: CarriedSubscribers = { subscribers: 0, deliveries: 0 }
  const tenants = new Set<string>()
  for (const table of [source, target])
    await inParallel(pendingPartitionsOf('registered-subscriber'), async (partition) => {
      for await (const page of pagesOf(client, table, partition))
        for (const { tenant } of page) tenants.add(String(tenant))
    })
  await inParallel([...tenants], async (tenant) => {
    const first = firstIdAt(from.getTime() - marginMilliseconds)
    for (const partition of partitionsOf(tenant, 'delivery'))
      for await (const page of pagesOf(client, source, partition, first)) {
        await writeAll(copying, page.map(putOf))
        done.deliveries += page.length
      }
    const older = await copyWaiting(copying, tenant, first)
    done.deliveries += older
    for (const entity of perTenant)
      for (const partition of partitionsOf(tenant, entity)) {
        const copied = await copyPartition(copying, partition)
        if (entity === 'subscriber') done.subscribers += copied
      }
  })
  // The entries come last: a repeated run finds the same tenants.
  await inParallel(pendingPartitionsOf('registered-subscriber'), async (partition) => {
    await copyPartition(copying, partition)
  })
  return done
}

/** Carries over older deliveries that wait now, or waited at the time of the restore. @returns how many */
async function copyWaiting(copying: Copying, tenant: string, before: string): Promise<number> {
  const { client, source, target } = copying
  const keys = new Map<string, Key>()
  for (const table of [source, target])
    for (const partition of partitionsOf(tenant, 'waiting_delivery'))
      for await (const page of pagesOf(client, table, partition))
        for (const id of page.map(({ delivery }) => String(delivery)))
          if (id < before) keys.set(id, keyOf(tenant, 'delivery', id))
  const items = await itemsAt(client, source, [...keys.values()])
  await writeAll(copying, items.map(putOf))
  for (const { sk } of items) keys.delete(sk)
  // These have expired since the time of the restore.
  await writeAll(copying, [...keys.values()].map(removalOf))
  return items.length
}
