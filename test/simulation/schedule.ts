import { timestamp, uuidV7 } from '#shared/platform/base/clock.ts'
import { makeApiKey } from '#shared/platform/identity/api-key.ts'
import { localSettings } from '#test/support/settings.ts'
import { Client, epoch, type History, newHistory, Violation } from './client.ts'
import { checkEnd } from './oracles.ts'
import { type FaultKind, type Faults, faultKinds } from './process.ts'
import { Random } from './random.ts'
import { Scheduler } from './scheduler.ts'
import { type ActName, acts, settlePayouts, tenants } from './workload.ts'
import { World } from './world.ts'

/** Other settings, to which a deployment changes halfway. */
const otherSettings = {
  ...localSettings,
  'idempotency.whilePending': { waitSeconds: 0, status: 409 as const },
  'refunds.account': { accounts: {}, prefix: 'other_' },
  'auth.crossTenantStatus': 403 as const,
  'codes.duplicate': { softDeletedKeepsCode: false },
}

export interface Options {
  seed: number
  recorded?: boolean
  /** Clients that do nothing, and faults that do not strike; for shrinking. */
  without?: { clients: ReadonlySet<string>; faults: ReadonlySet<string> }
  /** Collects the calls and changes of the table, by function. */
  accesses?: Map<string, Set<string>>
}

export interface Result {
  seed: number
  /** The broken promise, or another error. */
  failure: Error | undefined
  clients: string[]
  struck: Faults['struck']
  timeline: string[]
}

const mostRounds = 90
const dayMilliseconds = 25 * 3600_000
const apiKeyScopes = ['orders:write', 'orders:read', 'codes:read', 'refunds:write', 'discounts:verify']

/** Plays the schedule of a seed: everything in it follows from the seed alone. */
export async function play({
  seed,
  recorded = false,
  without,
  accesses = new Map(),
}: Options): Promise<Result> {
  const random = new Random(seed)
  const scheduler = new Scheduler(epoch, recorded)
  const spared = without?.faults ?? new Set()
  const faults: Faults = { rates: ratesOf(random), spared, active: true, struck: [] }
  const clients: string[] = []
  const { timeout } = AbortSignal
  const { stackTraceLimit } = Error
  // The clock of the machine must not end a call. Budgets and their signals follow virtual time.
  AbortSignal.timeout = () => new AbortController().signal
  // Collecting stacks takes a tenth of the time.
  if (!recorded) Error.stackTraceLimit = 0
  try {
    const world = new World({ scheduler, random, faults, settings: localSettings, accesses })
    await scheduler.runUntil(story(world, clients, without?.clients ?? new Set()))
    return { seed, failure: undefined, clients, struck: faults.struck, timeline: scheduler.timeline ?? [] }
  } catch (thrown) {
    const failure = thrown instanceof Error ? thrown : new Error(String(thrown))
    return { seed, failure, clients, struck: faults.struck, timeline: scheduler.timeline ?? [] }
  } finally {
    AbortSignal.timeout = timeout
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

async function story(world: World, names: string[], silent: ReadonlySet<string>): Promise<void> {
  const { random, scheduler, faults } = world
  const history = newHistory()
  for (const tenant of tenants) addApiKey(world, history, tenant)
  world.start()
  const kinds = (Object.keys(acts) as ActName[]).filter(() => random.chance(0.4))
  // Later acts need what earlier ones create.
  const useful: ActName[] = [...kinds, 'order', 'createCode', 'webhook']
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
  if (random.chance(0.25)) {
    scheduler.after(window / 2, () => {
      scheduler.note('deployment', 'new settings')
      world.settings = otherSettings
    })
  }
  if (random.chance(0.3)) {
    scheduler.after(window, () => world.store.deleteExpired(scheduler.now / 1000))
  }
  await Promise.all(all)
  await settlePayouts(world, history)
  faults.active = false
  scheduler.note('network', 'all faults have ended')
  await settle(world, history)
  await comeBack(world, history)
  await settle(world, history)
  checkEnd(world, history)
}

/** In some schedules a few clients prepare, and all others then do one thing, or two, at the same time to the same items. */
function crowdOf(random: Random, world: World) {
  world.isCrowded = random.chance(0.15)
  if (!world.isCrowded) return undefined
  const prepare: ActName[] = ['createCode', 'webhook', 'createCode', 'webhook']
  const crowded = [random.pick(Object.keys(acts) as ActName[])]
  if (random.chance(0.5)) crowded.push('webhook')
  const start = 2000 + random.int(10_000)
  const window = random.pick([20, 100, 400])
  return {
    actOf: (at: number) => prepare[at] ?? random.pick(crowded),
    delayOf: (at: number) => (at < prepare.length ? random.next() * 100 : start + random.next() * window),
  }
}

function addApiKey({ store, random, scheduler }: World, history: History, tenant: string): void {
  const key_id = uuidV7(scheduler.now - 1000, random.bytes(10))
  const created_at = timestamp(scheduler.now)
  const { text, item } = makeApiKey(
    { tenant, key_id, name: 'simulated', scopes: apiKeyScopes, created_at },
    random.bytes(32),
  )
  store.put({ item: { ...item, scopes: new Set(apiKeyScopes) }, condition: 'none' })
  history.apiKeys.set(tenant, text)
  history.secrets.add(text)
}

/** Waits until the service has nothing left to do. */
async function settle(world: World, history: History): Promise<void> {
  for (let round = 0; round < mostRounds; round += 1) {
    await world.scheduler.sleep(61_000)
    await settlePayouts(world, history)
    if (world.pending().length === 0) return
  }
  throw new Violation('nothing is pending for ever', world.pending().join(', '))
}

/** Every client sends its requests again with their keys; sometimes only after the keys have expired. */
async function comeBack(world: World, history: History): Promise<void> {
  const { random, scheduler } = world
  const isLate = random.chance(0.15)
  if (isLate) scheduler.now += dayMilliseconds
  const keyed = history.intents.filter(({ key, answers }) => key !== undefined && answers.length > 0)
  const client = new Client('again', world, history)
  for (const intent of isLate ? [] : keyed) await client.resend(intent)
}
