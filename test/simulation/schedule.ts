import { ownerOf } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'
import { Client, epoch, type History, type Intent, newHistory } from './client.ts'
import { deliverEvents } from './delivery-schedule.ts'
import { raceHolds } from './hold-race.ts'
import { addApiKey, compareWithProvider } from './operator.ts'
import { checkEnd, checkStored } from './oracles.ts'
import { type FaultKind, type Faults, faultKinds } from './process.ts'
import { sendReports } from './provider-events.ts'
import { Random } from './random.ts'
import { goBack, refundsOf, repeatRefunds } from './restore.ts'
import { Scheduler } from './scheduler.ts'
import { Violation } from './violation.ts'
import { type ActName, acts, tenants } from './workload.ts'
import { World } from './world.ts'

/**
 * Codes can be archived, and their archiving can be undone. The provider is asked soon about pending refunds. An import of
 * few rows has several chunks.
 */
const settings: Settings = {
  ...localSettings,
  'refunds.pendingMinutes': 1,
  'imports.maxRows': 3200,
  'codes.transitions': [
    { from: 'active', to: 'archived' },
    { from: 'archived', to: 'active' },
  ],
}

/** Other settings, to which a deployment changes halfway. */
const otherSettings: Settings = {
  ...settings,
  'idempotency.whilePending': { waitSeconds: 0, status: 409 },
  'refunds.account': { prefix: 'other_' },
  'auth.crossTenantStatus': 403,
  'codes.duplicate': { softDeletedKeepsCode: false },
}

/** Releases that raise the shards of every tenant: first those that lists read, then those that store new items. */
const withShards = (of: Settings): Settings[] =>
  [
    { writes: 1, reads: 1 },
    { writes: 1, reads: 4 },
    { writes: 4, reads: 4 },
  ].map((shards) => ({ ...of, 'storage.shards': { default: shards, tenants: {} } }))

/** The settings at the beginning and after the deployment, for each policy, by number of shards. */
const policies = (['within_charge', 'once_per_charge'] as const).map((policy) => ({
  first: withShards({ ...settings, 'refunds.policy': policy }),
  second: withShards({ ...otherSettings, 'refunds.policy': policy }),
}))
type Policy = (typeof policies)[number]

interface Options {
  seed: number
  recorded?: boolean
  /** Clients that do nothing, and faults that do not apply; for shrinking. */
  without?: { clients: ReadonlySet<string>; faults: ReadonlySet<string> }
  /** Collects the calls and changes of the table, by function. */
  accesses?: Map<string, Set<string>>
}

export interface Result {
  seed: number
  /** The broken promise, or another error. */
  failure: Error | undefined
  clients: string[]
  injected: Faults['injected']
  timeline: string[]
}

const maxRounds = 90
const dayMilliseconds = 25 * 3600_000

/** Plays the schedule of a seed: everything in it follows from the seed alone. */
export async function play({ seed, recorded = false, without, accesses }: Options): Promise<Result> {
  const random = new Random(seed)
  const scheduler = new Scheduler(epoch, recorded)
  const spared = without?.faults ?? new Set()
  const faults: Faults = { rates: ratesOf(random), spared, active: true, injected: [] }
  const clients: string[] = []
  const { stackTraceLimit } = Error
  // Collecting stacks takes a tenth of the time.
  if (!recorded) Error.stackTraceLimit = 0
  try {
    const policy = policies[random.fork('policy').chance(0.2) ? 1 : 0] as Policy
    const world = new World({ scheduler, random, faults, settings: policy.first[0] as Settings, accesses })
    await scheduler.runUntil(story(world, clients, { policy, silent: without?.clients ?? new Set() }))
    return {
      seed,
      failure: undefined,
      clients,
      injected: faults.injected,
      timeline: scheduler.timeline ?? [],
    }
  } catch (thrown) {
    const failure = thrown instanceof Error ? thrown : new Error(String(thrown))
    return { seed, failure, clients, injected: faults.injected, timeline: scheduler.timeline ?? [] }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Each schedule has some kinds of faults, and each of them is rare or frequent. */
function ratesOf(random: Random): Faults['rates'] {
  const calm = random.chance(0.1)
  const chosen = faultKinds.filter(() => !calm && random.chance(0.4))
  return Object.fromEntries(
    chosen.map((kind): [FaultKind, number] => [kind, random.pick([0.005, 0.02, 0.06])]),
  )
}

async function story(
  world: World,
  names: string[],
  { policy, silent }: { policy: Policy; silent: ReadonlySet<string> },
): Promise<void> {
  const { random, scheduler, faults } = world
  const history = newHistory()
  for (const tenant of tenants) addApiKey(world, history, tenant)
  sendReports(world, history)
  world.start()
  const kinds = (Object.keys(acts) as ActName[]).filter(() => random.chance(0.4))
  // Later acts need what earlier ones create.
  const useful: ActName[] = [...kinds, 'order', 'createCode', 'updateCart', 'webhook']
  const isRestored = policy === policies[0] && random.fork('restores').chance(0.1)
  if (isRestored) useful.push('refund', 'refund', 'refund', 'refund')
  const window = random.pick([500, 5000, 60_000])
  const count = 5 + random.int(6)
  const crowd = crowdOf(random.fork('crowd'), world)
  const all = Array.from({ length: count }, async (_, at) => {
    const act = crowd?.actOf(at) ?? random.pick(useful)
    const delay = crowd?.delayOf(at) ?? random.next() * window
    const name = `${act}-${at}`
    names.push(name)
    if (silent.has(name)) return
    await scheduler.sleep(delay)
    await acts[act](new Client(name, world, history))
  })
  // A charge is in one account: its refunds are never repeated in another one.
  if (random.chance(0.25) && !isRestored) {
    scheduler.after(window / 2, () => {
      scheduler.note('deployment', 'new settings')
      world.deploy(policy.second[policy.first.indexOf(world.settings)] as Settings)
    })
  }
  raiseShards(world, policy, window)
  if (random.chance(0.3)) {
    scheduler.after(window, () => world.store.deleteExpired(scheduler.now / 1000))
  }
  await Promise.all(all)
  // Sagas and imports may be pending.
  await checkStored(world)
  // Payouts may settle or fail meanwhile.
  if (random.chance(0.2)) await scheduler.sleep(random.pick([60_000, 600_000]))
  faults.active = false
  scheduler.note('network', 'all faults have ended')
  await settle(world)
  world.redrive('webhooks', (id) => !history.misfits.has(id))
  await settle(world)
  if (isRestored && refundsOf(history).length > 0) {
    goBack(world, history)
    faults.active = true
    await repeatRefunds(world, history, 'repeats')
    faults.active = false
    // Once more while the keys are valid: some have not come through.
    await repeatRefunds(world, history, 'repeats-again')
    await settle(world)
    world.redrive('webhooks', (id) => !history.misfits.has(id))
    await settle(world)
  }
  await comeBack(world, history)
  await settle(world)
  // The update repairs lines.
  await checkStored(world)
  await updateCarts(world, history)
  await settle(world)
  await checkStored(world)
  checkEnd(world, history)
  await checkLists(world, history)
  const accounts = tenants.flatMap((tenant) =>
    ['acct_', 'other_'].map((prefix) => ({ tenant, account: `${prefix}${tenant}` })),
  )
  if (world.provider.payouts.length > 0) await compareWithProvider(world, accounts)
  await raceHolds(world, history)
  await checkStored(world)
  await deliverEvents(world)
}

/**
 * In half of the schedules, three deployments raise the shards and take the last step back. During each of them, processes of
 * the old and of the new release start side by side, and each begins after the one before has ended.
 */
function raiseShards(world: World, policy: Policy, window: number): void {
  const random = world.random.fork('shards')
  if (random.chance(0.5)) return
  let at = 0
  for (const stage of [1, 2, 1]) {
    at += (random.next() * window) / 3
    world.scheduler.after(at, () => {
      const releases = policy.first.includes(world.settings) ? policy.first : policy.second
      world.scheduler.note('deployment', `shards: step ${stage}`)
      world.deploy(releases[stage] as Settings, world.settings)
    })
    at += (random.next() * window) / 3
    world.scheduler.after(at, () => world.deploy(world.settings))
  }
}

/** What clients do to one cart while its codes change and end. */
const cartActs: ActName[] = [
  'verifyDiscount',
  'verifyDiscount',
  'updateCart',
  'updateCart',
  'updateCode',
  'deleteCode',
  'restoreCode',
  'webhook',
]

/**
 * In some schedules a few clients prepare. All others then work on the same items: one thing or two at the same time, or
 * one after another everything that changes a cart.
 */
function crowdOf(random: Random, world: World) {
  const isCart = random.chance(0.1)
  world.isCrowded = isCart || random.chance(0.15)
  if (!world.isCrowded) return undefined
  const prepare: ActName[] = ['createCode', 'updateCart', 'createCode', 'updateCart']
  const crowded = isCart ? cartActs : [random.pick(Object.keys(acts) as ActName[])]
  if (!isCart && random.chance(0.5)) crowded.push('updateCart')
  const start = 2000 + random.int(10_000)
  const window = isCart ? 30_000 : random.pick([20, 100, 400])
  return {
    actOf: (at: number) => prepare[at] ?? random.pick(crowded),
    delayOf: (at: number) => (at < prepare.length ? random.next() * 100 : start + random.next() * window),
  }
}

/** Waits until the service has nothing left to do. */
export async function settle(world: World): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    await world.scheduler.sleep(61_000)
    if (world.pending().length === 0) return
  }
  throw new Violation('nothing is pending forever', world.pending().join(', '))
}

/** Every order that a client got is in the list of its tenant, whichever release has stored it. */
async function checkLists(world: World, history: History): Promise<void> {
  const client = new Client('lists', world, history)
  for (const tenant of tenants) {
    const by = { tenant, role: 'Editor', sub: client.name } as const
    const path = '/v1/orders?page_size=100'
    const answer = await client.send({ operation: 'orders.list', by, method: 'GET', path })
    const listed = new Set(answer?.json?.data?.map(({ id }: { id: string }) => id))
    const missing = history.orders.filter((order) => order.tenant === tenant && !listed.has(order.id))
    if (missing.length > 0) throw new Violation('lists', `${missing.map(({ id }) => id)} is not listed`)
  }
}

/** A code that nobody knows is verified for each cart, so that the codes that have ended since leave it. */
async function updateCarts(world: World, history: History): Promise<void> {
  const client = new Client('last', world, history)
  const priced = world.store
    .all()
    .filter(({ pk, amount_minor }) => ownerOf(pk).kind === 'cart' && amount_minor !== undefined)
  for (const { cart_id, tenant_id } of priced) {
    await client.send({
      operation: 'discount.verify',
      by: { tenant: String(tenant_id), role: 'Editor', sub: client.name },
      method: 'POST',
      path: '/discount/verify',
      key: `${cart_id}.${tenant_id}`,
      headers: { 'X-Cart-Id': String(cart_id) },
      body: { code: 'UNKNOWN' },
    })
  }
}

/** Sends a request whose key has expired: it is another refund. */
async function refundAgain(client: Client, { answers, ...request }: Intent): Promise<void> {
  const earlier = answers.find(({ status }) => status === 201)
  const answer = await client.send({ ...request, isAnother: true })
  if (earlier && answer?.status === 201 && answer.json.id === earlier.json.id)
    throw new Violation('a key that has expired is new', `${request.key} is answered ${answer.body}`)
}

/** Every client sends its requests again with their keys; sometimes refunds only, after the keys have expired. */
async function comeBack(world: World, history: History): Promise<void> {
  const { random, scheduler } = world
  const isLate = random.chance(0.15)
  const client = new Client('again', world, history)
  if (isLate) {
    scheduler.now += dayMilliseconds
    if (random.fork('keys').chance(0.5)) world.provider.forgetKeys()
    for (const intent of refundsOf(history)) await refundAgain(client, intent)
    return
  }
  const keyed = history.intents.filter(({ key, answers }) => key !== undefined && answers.length > 0)
  for (const intent of new Set([...keyed, ...refundsOf(history)])) await client.resend(intent)
}
