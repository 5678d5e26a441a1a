import type { HttpRequest } from '#shared/platform/base/http.ts'
import { Random } from '#test/simulation/random.ts'
import { Scheduler } from '#test/simulation/scheduler.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { Functions } from './functions.ts'
import { type Operation, OverloadedService } from './service.ts'

/** One caller of a tenant lists with a filter that nothing matches, beside others who read and list. */
interface SearchScenario {
  seed: number
  /** A second. */
  searches: number
  seconds: number
}

/** The parts of the requests that succeeded at their first attempt. */
interface SearchOutcome {
  reads: number
  lists: number
  searches: number
}

const epoch = Date.UTC(2026, 2, 1)
const tenant = 'acme'
/** More than one page may read. */
const orders = 1100
const readsASecond = 50
const listsASecond = 20

/** Plays searches in virtual time, on a whole partition: the limit of searches is a number of its units. */
export async function playSearches({ seed, searches, seconds }: SearchScenario): Promise<SearchOutcome> {
  const random = new Random(seed)
  const scheduler = new Scheduler(epoch, false)
  const slots = Number.POSITIVE_INFINITY
  const functions = new Functions({
    scheduler,
    random: random.fork('functions'),
    slots,
    reserved: {},
    scale: 1,
  })
  const service = new OverloadedService({
    ...{ scheduler, random: random.fork('service'), functions, settings: localSettings },
    ...{ scale: 1, credit: 0, unlimited: false, providerHangs: () => false },
  })
  const as = { tenant, role: 'Editor', expiresInSeconds: 86_400 } as const
  const tokenOf = (sub: string) => tokenFor({ ...as, sub }, localSettings, epoch)
  const [searcher, other] = [await tokenOf('searcher'), await tokenOf('other')]
  const requestOf = (token: string, changes: Partial<HttpRequest>): HttpRequest => ({
    ...{
      method: 'GET',
      path: '/v1/orders',
      params: {},
      query: [],
      sourceAddress: '192.0.2.1',
      body: undefined,
    },
    ...changes,
    headers: { authorization: `Bearer ${token}`, ...changes.headers },
  })

  const ids: string[] = []
  for (let n = 0; n < orders; n += 1) {
    const body = Buffer.from(JSON.stringify({ cart_id: `cart-${n}`, amount_minor: 1, currency: 'EUR' }))
    const headers = { 'content-type': 'application/json', 'idempotency-key': `key-${n}` }
    const placing = service.request(
      'orders.create',
      tenant,
      requestOf(other, { method: 'POST', headers, body }),
    )
    await scheduler.runUntil(placing)
    ids.push(JSON.parse((await placing).body ?? '{}').id)
  }

  const until = scheduler.now + seconds * 1000
  async function arrive(name: string, rate: number, next: (one: Random) => [Operation, HttpRequest]) {
    const own = random.fork(name)
    const sent: Promise<boolean>[] = []
    for (;;) {
      await scheduler.sleep((-Math.log(1 - own.next()) / rate) * 1000)
      if (scheduler.now >= until) break
      const [operation, request] = next(own)
      sent.push(service.request(operation, tenant, request).then(({ status }) => status === 200))
    }
    const succeeded = await Promise.all(sent)
    return succeeded.filter(Boolean).length / succeeded.length
  }
  const all = Promise.all([
    arrive('reads', readsASecond, (one) => [
      'orders.read',
      requestOf(other, { params: { id: one.pick(ids) } }),
    ]),
    arrive('lists', listsASecond, () => ['orders.list', requestOf(other, {})]),
    arrive('searches', searches, () => ['orders.list', requestOf(searcher, { query: [['status', 'paid']] })]),
  ])
  await scheduler.runUntil(all)
  const [reads = 0, lists = 0, found = 0] = await all
  return { reads, lists, searches: found }
}
