import type { ProviderOutcome, ProviderRequest } from '#shared/refunds/payment-provider.ts'
import type { ProviderRecords, ProviderRefund } from '#shared/refunds/provider-records.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/** What each charge has captured, in minor units. */
export const captured = 1000
export const chargeCurrency = 'EUR'

type AnswerStatus = 'pending' | 'succeeded' | 'failed'
export type PayoutStatus = AnswerStatus | 'reversed'

/** A payout as the provider knows it. */
export interface Payout {
  account: string
  chargeId: string
  amount: number
  refundId: string
  tenant: string
  providerRefundId: string
  status: PayoutStatus
  /** Milliseconds since 1970. */
  createdAt: number
}

/** An event of the provider about a payout. */
export interface Report {
  type: 'refund.succeeded' | 'refund.failed'
  payout: Payout
  /** Milliseconds since 1970. */
  occurredAt: number
  /** Milliseconds until it is sent. */
  delay: number
  /** How often it is sent. */
  times: number
}

/** The statuses of a payout, beginning with the one of the answer, by the first word of its charge; none is a rejection. */
const lives: Record<string, readonly [AnswerStatus?, ...PayoutStatus[]][]> = {
  charge: [['succeeded'], ['succeeded'], ['succeeded'], ['succeeded', 'reversed']],
  pending: [
    ['pending', 'succeeded'],
    ['pending', 'succeeded'],
    ['pending', 'failed'],
    ['pending', 'failed', 'succeeded'],
    ['pending', 'succeeded', 'reversed'],
  ],
  declined: [[], ['failed'], ['failed', 'succeeded'], ['failed', 'succeeded', 'reversed']],
  none: [[]],
}

/** Milliseconds until a pending payout is settled. */
const settleDelays = [0, 400, 5000, 60_000]
/** Milliseconds until an outcome changes again: more than the clocks of the service and the provider differ. */
const changeDelays = [5000, 60_000]
/** Milliseconds between a new status and its event. An event may overtake the answer, or a later event. */
const reportDelays = [0, 0, 500, 10_000, 120_000]

/**
 * A payment provider in memory. It pays the same refund of an account once and repeats its first answer, whatever became
 * of the payout. Charges that start with `pending` are settled later, `declined` ones are not paid at first, and `none`
 * does not exist.
 */
export class SimulatedProvider {
  readonly payouts: Payout[] = []
  /** Receives the events. */
  onReport: (report: Report) => void = () => {}
  /** The number of statuses that will still follow. */
  upcoming = 0
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #answers = new Map<string, ProviderOutcome>()

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler
    this.#random = random
  }

  refund(request: ProviderRequest): ProviderOutcome {
    const key = `${request.account} ${request.refundId}`
    const known = this.#answers.get(key)
    if (known) return known.status === 'rejected' ? known : { ...known, replayed: true }
    const answer = this.#pay(request)
    this.#answers.set(key, answer)
    return answer
  }

  /** Returns what became of a refund. */
  find({ account, refundId }: ProviderRequest): ProviderOutcome | undefined {
    const payout = this.payouts.find((one) => one.account === account && one.refundId === refundId)
    if (!payout) return undefined
    const { status, providerRefundId } = payout
    return { status: shownAs(status), providerRefundId, currency: chargeCurrency, replayed: false }
  }

  /** The provider's own records. Each account also has a payout that the service did not request. */
  records(): ProviderRecords {
    const recordOf = ({ providerRefundId: id, status, createdAt, ...payout }: Payout): ProviderRefund => ({
      ...payout,
      id,
      status: shownAs(status),
      currency: chargeCurrency,
      createdAt: Math.floor(createdAt / 1000) * 1000,
    })
    const { payouts } = this
    return {
      async *list({ account, from, to }) {
        const own = payouts.filter((payout) => payout.account === account).map(recordOf)
        const other = {
          refundId: undefined,
          tenant: undefined,
          chargeId: 'charge-1',
          amount: 1,
          currency: chargeCurrency,
        }
        const all = [...own, { ...other, id: 're_0', status: 'succeeded' as const, createdAt: from }]
        const listed = all.filter(({ createdAt }) => createdAt >= from && createdAt < to)
        yield* listed.toSorted((a, b) => b.createdAt - a.createdAt)
      },
      async find({ account, refundId }) {
        const payout = payouts.find((one) => one.account === account && one.refundId === refundId)
        return payout && recordOf(payout)
      },
    }
  }

  #pay({ account, chargeId, amount, refundId, tenant }: ProviderRequest): ProviderOutcome {
    // The same for the same refund, whatever else happens.
    const random = this.#random.fork(refundId)
    const [word = ''] = chargeId.split('-')
    const [first, ...later] = random.pick(lives[word] ?? [[]])
    if (!first) return { status: 'rejected', reason: word === 'declined' ? 'declined' : 'no_such_charge' }
    if (first !== 'failed' && amount > this.#rest(account, chargeId))
      return { status: 'rejected', reason: 'exceeds_charge' }
    const providerRefundId = `re_${this.payouts.length + 1}`
    const createdAt = this.#scheduler.now
    const payout = { account, chargeId, amount, refundId, tenant, providerRefundId, status: first, createdAt }
    this.payouts.push(payout)
    this.#scheduler.note('provider', `${refundId} is ${first}, then ${later.join(', ') || 'stays'}`)
    if (first !== 'pending' && random.chance(0.3)) this.#report(payout, random)
    this.#continue(payout, later, random)
    return { status: first, providerRefundId, currency: chargeCurrency, replayed: false }
  }

  /** Returns what of a charge is neither paid out nor about to be. */
  #rest(account: string, chargeId: string): number {
    const paid = this.payouts.filter(({ status, ...one }) => {
      const isPaid = status === 'pending' || status === 'succeeded'
      return isPaid && one.account === account && one.chargeId === chargeId
    })
    return paid.reduce((rest, { amount }) => rest - amount, captured)
  }

  #continue(payout: Payout, [next, ...later]: readonly PayoutStatus[], random: Random): void {
    if (!next) return
    this.upcoming += 1
    const delay = random.pick(payout.status === 'pending' ? settleDelays : changeDelays)
    this.#scheduler.after(delay, () => {
      this.upcoming -= 1
      const { status, account, chargeId, amount } = payout
      // The charge may have been paid out to others meanwhile.
      if (status === 'failed' && amount > this.#rest(account, chargeId)) return
      payout.status = next
      this.#scheduler.note('provider', `${payout.refundId} is ${next}`)
      // Of a payout that was pending, the event may be lost: the service asks about it.
      if (status !== 'pending' || later.length > 0 || random.chance(0.8)) this.#report(payout, random)
      this.#continue(payout, later, random)
    })
  }

  #report(payout: Payout, random: Random): void {
    const type = payout.status === 'succeeded' ? 'refund.succeeded' : 'refund.failed'
    const [delay, times] = [random.pick(reportDelays), random.chance(0.3) ? 2 : 1]
    this.onReport({ type, payout: { ...payout }, occurredAt: this.#scheduler.now, delay, times })
  }
}

/** A payout that was reversed looks like one that has failed. */
export function shownAs(status: PayoutStatus): AnswerStatus {
  return status === 'reversed' ? 'failed' : status
}
