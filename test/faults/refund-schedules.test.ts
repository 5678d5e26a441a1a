import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { finishSagas } from '#shared/platform/request/finish-sagas.ts'
import {
  type FakePaymentProvider,
  type Fault,
  startPaymentProvider,
} from '#test/support/payment-provider/payment-provider.ts'
import { serverError } from '#test/support/payment-provider/stripe-wire.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { tokenFor } from '#test/support/settings.ts'
import { booksOf, expectBalanced, unfinished } from '../refunds/refund-ledger-check.ts'
import { type Blow, type MortalProcesses, mortalProcesses, someBlows } from './killable-processes.ts'
import { type MovableClock, movableClock } from './payment-saga.ts'
import { leaseMilliseconds, restMilliseconds, settingsAt, swept } from './refund-service.ts'

/** So many schedules run beside one another, each on a table and by a clock of its own. */
const lanes = 8
const rounds = 125

/** What a key stands for: the same payload each time. */
interface Payment {
  tenant: 0 | 1
  charge: 'ok' | 'other' | 'slow' | 'down' | 'declined' | 'absent'
  amount: number
}

/** One moment: processes at once, what strikes each of them and the provider, and how much time passes after it. */
interface Step {
  requests: { payment: number; blows: (Blow | null)[] }[]
  sweeps: (Blow | null)[][]
  provider: (Fault | null)[]
  landing: boolean
  passes: number
}

interface Schedule {
  payments: Payment[]
  steps: Step[]
  /** Who ends what is pending: the callers first, or the service. */
  swept: boolean
}

const payment: fc.Arbitrary<Payment> = fc.record({
  tenant: fc.constantFrom(0 as const, 1 as const),
  charge: fc.constantFrom<Payment['charge']>('ok', 'ok', 'other', 'slow', 'down', 'declined', 'absent'),
  amount: fc.constantFrom(1, 700, 40_000, 60_000, 100_000, 100_001),
})
const wrong: Fault[] = [
  { when: 'before', how: 'reset' },
  { when: 'after', how: 'reset' },
  { when: 'before', how: serverError(503) },
  { when: 'after', how: serverError() },
]
const step: fc.Arbitrary<Step> = fc.record({
  requests: fc.array(fc.record({ payment: fc.nat(2), blows: someBlows }), { minLength: 1, maxLength: 3 }),
  sweeps: fc.array(someBlows, { maxLength: 1 }),
  provider: fc.array(fc.option(fc.constantFrom(...wrong)), { maxLength: 6 }),
  landing: fc.boolean(),
  passes: fc.constantFrom(0, 1000, leaseMilliseconds, restMilliseconds),
})
const schedule: fc.Arbitrary<Schedule> = fc.record({
  payments: fc.array(payment, { minLength: 1, maxLength: 3 }),
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  swept: fc.boolean(),
})

interface Lane {
  /** What gives the provider little time to answer, and what comes afterwards and is patient. */
  hasty: Service
  patient: Service
  clock: MovableClock
  processes: MortalProcesses
}

let provider: FakePaymentProvider
let world = 0
/** What the provider’s next calls meet, by the account that they are for. */
const faultsOf = new Map<string | undefined, (Fault | null)[]>()
beforeAll(async () => {
  provider = await startPaymentProvider()
  provider.faults = ({ account }) => faultsOf.get(account)?.shift() ?? undefined
})
afterAll(() => provider.stop())

async function openLane(): Promise<Lane> {
  const clock = movableClock()
  const processes = mortalProcesses()
  const open = (attemptMilliseconds: number, table: { tableName?: string } = {}) => {
    const settings = settingsAt(provider.endpoint, attemptMilliseconds)
    return startService({ ...table, clock, client: processes.client, settings })
  }
  const hasty = await open(80)
  return { clock, processes, hasty, patient: await open(600, hasty) }
}

const isFinal = ({ status, json }: Answer) => status === 201 || json.error.retryable === false

async function play({ payments, steps, swept: sweptFirst }: Schedule, lane: Lane): Promise<void> {
  const { clock, processes } = lane
  let service = lane.hasty
  const number = world++
  const tenants = [`world-${number}-a`, `world-${number}-b`]
  const tokens = await Promise.all(
    tenants.map((tenant) => tokenFor({ tenant, expiresInSeconds: 1e6 }, service.settings, clock.now())),
  )
  const answers = payments.map((): Answer[] => [])
  const refund = async (index: number, blows: (Blow | null)[] = []) => {
    const { tenant, charge, amount } = payments[index] as Payment
    const call = {
      method: 'POST',
      path: '/v1/refunds',
      headers: { Authorization: `Bearer ${tokens[tenant]}`, 'Idempotency-Key': `key-${index}` },
      body: { charge_id: charge === 'absent' ? 'py_1' : `ch_${charge}_1`, amount },
    }
    const answer = await processes.run(blows, () => service.call(call))
    if (answer) answers[index]?.push(answer)
  }
  const sweep = (blows: (Blow | null)[] = []) =>
    processes.run(blows, () => finishSagas(swept, service.runtime)).catch(() => undefined)

  for (const { requests, sweeps, provider: faults, landing, passes } of steps) {
    for (const tenant of tenants) faultsOf.set(`acct_${tenant}`, [...faults])
    await Promise.all([
      landing && processes.land(),
      ...requests.map(({ payment: at, blows }) => refund(at % payments.length, blows)),
      ...sweeps.map(sweep),
    ])
    clock.advance(passes)
  }
  for (const tenant of tenants) faultsOf.delete(`acct_${tenant}`)

  service = lane.patient
  clock.advance(leaseMilliseconds)
  if (sweptFirst) await sweepAll()
  for (const at of payments.keys()) await refund(at)
  await sweepAll()
  await processes.land()
  for (const at of payments.keys()) await refund(at)
  await sweepAll()

  for (const given of answers) {
    const last = given.at(-1)
    expect(last && isFinal(last)).toBe(true)
    expect(last?.headers['Idempotency-Status']).toBe('replayed')
    for (const one of given.filter(isFinal))
      expect([one.status, one.body]).toEqual([last?.status, last?.body])
  }
  const used = new Set(payments.map(({ tenant }) => tenants[tenant] as string))
  for (const tenant of used) expectBalanced(await booksOf(service, provider, tenant))

  async function sweepAll() {
    for (let looks = 0; looks < 5 && (await unfinished(service)) > 0; looks += 1) {
      clock.advance(restMilliseconds)
      await sweep()
    }
    expect(await unfinished(service)).toBe(0)
  }
}

test('whatever fails, dies, comes late or again: each refund is one payout, one ledger entry and one answer', async () => {
  let open = await Promise.all(Array.from({ length: lanes }, openLane))
  const all = fc.array(schedule, { minLength: lanes, maxLength: lanes })
  const check = async (schedules: Schedule[]) => {
    try {
      await Promise.all(schedules.map((one, at) => play(one, open[at] as Lane)))
    } catch (thrown) {
      // What a schedule that failed has left is not to disturb the smaller ones that are tried next.
      open = await Promise.all(Array.from({ length: lanes }, openLane))
      throw thrown
    }
  }
  await fc.assert(fc.asyncProperty(all, check), { numRuns: rounds, seed: 20_260_401, endOnFailure: true })
  expect(world).toBeGreaterThanOrEqual(1000)
}, 900_000)
