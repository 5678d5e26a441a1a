import type { Concurrency } from '#lib/stage.ts'
import type { Settings } from '#shared/settings/register.ts'
import { partitionUnits } from '#test/simulation/partition-capacity.ts'
import { Random } from '#test/simulation/random.ts'
import { Scheduler } from '#test/simulation/scheduler.ts'
import { localSettings } from '#test/support/settings.ts'
import { type Call, Clients } from './clients.ts'
import { Functions } from './functions.ts'
import { type Operation, OverloadedService } from './service.ts'

/** An order takes two units of its tenant's partition, as it is written in a transaction. */
const ordersASecond = partitionUnits.write / 2
/** Tenants besides the greedy one, and the share of each, as a part of what one partition takes. */
const otherTenants = 19
export const share = 0.04
const greedy = 'greedy'
const warmUpSeconds = 10
const epoch = Date.UTC(2026, 2, 1)

export interface Scenario {
  seed: number
  /** All capacities and rates as a part of the real ones. */
  scale: number
  /** The slots of the account and those that functions reserve, before they are scaled. */
  slots: number
  reserved: Concurrency
  /** Retries a throttle twelve times at most, sheds no call and answers `Retry-After: 1`. */
  unlimited?: boolean
  /** Seconds of unused units that each partition has at the start. */
  credit?: number
  /** The load of the greedy tenant, as a part of what its partition takes: usually, and at the peak. */
  usual: number
  peak: number
  peakSeconds: number
  afterSeconds: number
  /** Refunds a second during the peak, before they are scaled; the provider hangs then. */
  hangingRefunds?: number
}

export interface Outcome {
  /** Successful orders of the greedy tenant a second at the end of the peak, as a part of what its partition takes. */
  goodput: number
  slots: number
  /** Calls of DynamoDB for each success of the greedy tenant at the end of the peak. */
  callsPerSuccess: number
  /** Milliseconds of a call of another tenant that began during the peak. */
  othersP95: number
  /** The part of the other tenants' calls that began during the peak and succeeded. */
  othersSucceeded: number
  /** Seconds from the end of the peak until calls succeed at once again. */
  recoverySeconds: number
}

/** Plays a scenario: usual load, a peak, usual load. Everything in it follows from the seed. */
export async function play(scenario: Scenario): Promise<Outcome> {
  const { seed, scale, slots, reserved, unlimited = false, credit = 0 } = scenario
  const settings: Settings = {
    ...localSettings,
    ...(unlimited && { 'errors.retryAfterSeconds': { min: 1, max: 1 } }),
  }
  const { usual, peak, peakSeconds, afterSeconds, hangingRefunds = 0 } = scenario
  const random = new Random(seed)
  const scheduler = new Scheduler(epoch, false)
  const peakEnds = warmUpSeconds + peakSeconds
  const ends = peakEnds + afterSeconds
  const seconds = () => (scheduler.now - epoch) / 1000
  const isPeak = (at: number) => at >= warmUpSeconds && at < peakEnds
  const functions = new Functions({
    scheduler,
    random: random.fork('functions'),
    slots,
    reserved,
    scale,
  })
  const providerHangs = () => hangingRefunds > 0 && isPeak(seconds())
  const limits = { scale, credit, unlimited }
  const options = { scheduler, random: random.fork('service'), functions, settings, ...limits }
  const service = new OverloadedService({ ...options, providerHangs })
  const clients = new Clients({ scheduler, random: random.fork('clients'), service, settings })
  const capacity = ordersASecond * scale

  const mixed = (one: Random): Operation =>
    one.weighted({ 'orders.create': 0.4, 'orders.read': 0.4, 'orders.list': 0.2 })
  const untilEnd = (rateOf: (at: number) => number) => (at: number) => (at < ends ? rateOf(at) : undefined)
  for (let tenant = 1; tenant <= otherTenants; tenant += 1) {
    void clients.arrive(
      `tenant-${tenant}`,
      mixed,
      untilEnd(() => share * capacity),
    )
  }
  void clients.arrive(
    greedy,
    () => 'orders.create',
    untilEnd((at) => (isPeak(at) ? peak : usual) * capacity),
  )
  if (hangingRefunds > 0) {
    const rateAt = (at: number) => (isPeak(at) ? hangingRefunds * scale : 0.001)
    void clients.arrive('refunding', () => 'refunds.create', untilEnd(rateAt))
  }

  // A call ends within 10 s, so the last third of a long peak is steady.
  const steadySeconds = peakSeconds / 3
  const callsAt: number[] = []
  let most = 0
  scheduler.after((peakEnds - steadySeconds) * 1000, () => callsAt.push(service.calls.get(greedy) ?? 0), true)
  scheduler.after(warmUpSeconds * 1000, () => functions.resetMost(), true)
  scheduler.after(
    peakEnds * 1000,
    () => {
      callsAt.push(service.calls.get(greedy) ?? 0)
      most = functions.maxInUse
    },
    true,
  )
  await scheduler.runUntil(scheduler.sleep((ends + 11) * 1000))

  const within = (at: number, from: number, to: number) => at >= from * 1000 && at < to * 1000
  const own = clients.calls.filter(({ tenant }) => tenant === greedy)
  const steady = own.filter(
    ({ succeeded, endedAt }) => succeeded && within(endedAt, peakEnds - steadySeconds, peakEnds),
  )
  const others = clients.calls.filter(
    ({ tenant, startedAt }) => /^tenant-/.test(tenant) && within(startedAt, warmUpSeconds, peakEnds),
  )
  const [before = 0, after = 0] = callsAt
  return {
    goodput: steady.length / steadySeconds / capacity,
    slots: most / scale,
    callsPerSuccess: (after - before) / steady.length,
    othersP95: percentile(
      others.map(({ startedAt, endedAt }) => endedAt - startedAt),
      0.95,
    ),
    othersSucceeded: others.filter(({ succeeded }) => succeeded).length / others.length,
    recoverySeconds: recovery(clients.calls, peakEnds, afterSeconds),
  }
}

/** Returns the seconds until at least 95 % of the calls that begin in each later second succeed at their first attempt. */
function recovery(calls: readonly Call[], peakEnds: number, afterSeconds: number): number {
  for (let second = afterSeconds; second > 0; second -= 1) {
    const from = (peakEnds + second - 1) * 1000
    const begun = calls.filter(({ startedAt }) => startedAt >= from && startedAt < from + 1000)
    const good = begun.filter(({ succeeded, attempts }) => succeeded && attempts === 1)
    if (good.length < 0.95 * begun.length) return second
  }
  return 0
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
}
