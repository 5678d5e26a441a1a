import { restoredKey } from '#shared/platform/table/restored.ts'
import { Client, type History, type Intent } from './client.ts'
import type { World } from './world.ts'

/**
 * The table goes back to an earlier time once all work has ended. The events of the provider about refunds that are left are
 * sent again. Either the table is marked as restored, and the provider may have forgotten its keys; or nobody noticed the loss, and
 * it knows them.
 */
export function goBack(world: World, history: History): void {
  const { scheduler, store, provider } = world
  const random = world.random.fork('restore')
  const to = random.pick(world.records).at - random.int(2)
  scheduler.note('table', `goes back to ${to}`)
  world.goBack(to)
  if (random.chance(0.6)) {
    store.put({ item: { ...restoredKey, at: scheduler.now }, condition: 'none' })
    if (random.chance(0.8)) provider.forgetKeys()
  }
  forget(history, world, to)
  const known = new Set(store.all().map(({ id }) => id))
  provider.repeatReports(({ refundId }) => known.has(refundId))
}

/** Removes from a history what the service has lost since a time. */
function forget(history: History, { store }: World, to: number): void {
  for (const intent of history.intents) intent.answers = intent.answers.filter(({ at }) => at <= to)
  history.orders = history.orders.filter(({ at }) => at <= to)
  for (const id of history.events.keys())
    if (!store.get({ pk: `inbox#${id}`, sk: 'event' })) history.events.delete(id)
  for (const id of history.stripeEvents.keys())
    if (!store.get({ pk: `inbox#${id}`, sk: 'stripe' })) history.stripeEvents.delete(id)
}

/** Returns the requests of refunds. Their callers send them again, whatever they got. */
export function refundsOf({ intents }: History): Intent[] {
  return intents.filter(({ operation }) => operation === 'refunds.create')
}

/** All callers send their refunds again with their keys, some of them twice at the same time. */
export async function repeatRefunds(world: World, history: History, name: string): Promise<void> {
  const random = world.random.fork(name)
  const sending = refundsOf(history).map(async (intent, at) => {
    await world.scheduler.sleep(random.next() * random.pick([100, 5000]))
    await new Client(`${name}-${at}`, world, history).resend(intent)
  })
  await Promise.all(sending)
}
