import type { EarlierUse, ProviderOutcome, ProviderRequest } from '#shared/refunds/payment-provider.ts'
import type { ProviderRefund, ProviderRefunds } from '#shared/refunds/provider-refunds.ts'
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
  /** The refund that has it now, by its metadata. */
  refundId: string
  tenant: string
  requestName: string
  /** The refund that requested it. */
  madeFor: string
  providerRefundId: string
  status: PayoutStatus
  /** Milliseconds since 1970, as the next one. */
  createdAt: number
  changedAt: number
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

/** The provider keeps a key for at least 24 hours. After this time, the payout is looked up before a new request. */
const keyLifeMilliseconds = 20 * 3600_000

/** Milliseconds until a pending payout is settled. */
const settleDelays = [0, 400, 5000, 60_000]
/** Milliseconds until an outcome changes again: more than the clocks of the service and the provider differ. */
const changeDelays = [5000, 60_000]
/** Milliseconds between a new status and its event. An event may overtake the answer, or a later event. */
const reportDelays = [0, 0, 500, 10_000, 120_000]

/** The first request with a key, and its answer. */
interface KnownKey {
  parameters: string
  answer: ProviderOutcome
}

/**
 * A payment provider in memory. It carries out a request once for each key of an account and repeats its first answer, whatever
 * became of the payout. It refuses a key with other parameters, and may forget its keys. Charges that start with `pending` are settled later, `declined` ones are not paid at first, and `none`
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
  readonly #keys = new Map<string, KnownKey>()

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler
    this.#random = random
  }

  refund(request: ProviderRequest): ProviderOutcome | EarlierUse {
    if (request.providerRefundId !== undefined) {
      const accepted = this.find(request)
      if (!accepted) throw new Error(`no payout ${request.providerRefundId}`)
      return accepted
    }
    const { account, chargeId, refundId, amount, usesOwnKey, requestedSince, mayBeLost } = request
    const isOld = this.#scheduler.now - requestedSince >= keyLifeMilliseconds
    const paid = isOld || mayBeLost ? this.#search(request, (one) => one.chargeId === chargeId) : undefined
    if (paid) return paid
    const key = `${account} ${usesOwnKey ? refundId : request.requestName}`
    const parameters = JSON.stringify([chargeId, amount, refundId])
    const known = this.#keys.get(key)
    if (known && known.parameters !== parameters) return this.#refuse(request)
    if (known) return known.answer.status === 'rejected' ? known.answer : { ...known.answer, replayed: true }
    const answer = this.#pay(request)
    this.#keys.set(key, { parameters, answer })
    return answer
  }

  /** Expires all keys. */
  forgetKeys(): void {
    this.#keys.clear()
  }

  /** Returns what became of a refund. */
  find({ account, providerRefundId, refundId }: ProviderRequest): ProviderOutcome | undefined {
    const isIt = (one: Payout) =>
      providerRefundId === undefined ? one.refundId === refundId : one.providerRefundId === providerRefundId
    const payout = this.payouts.find((one) => one.account === account && isIt(one))
    return payout && lookUp(payout)
  }

  /** Stores the id of a refund with a payout, and may report this change of it. */
  adopt(id: string, { account, refundId }: ProviderRequest): ProviderOutcome {
    const payout = this.payouts.find((one) => one.account === account && one.providerRefundId === id)
    if (!payout) throw new Error(`no payout ${id} in ${account}`)
    payout.refundId = refundId
    this.#scheduler.note('provider', `${id} is now of ${refundId}`)
    const random = this.#random.fork(`adoption of ${id}`)
    if (payout.status !== 'pending' && random.chance(0.3)) this.#report(payout, random, this.#scheduler.now)
    return lookUp(payout)
  }

  /** Reports the statuses of payouts again, as of the time at which they changed. */
  repeatReports(isTold: (payout: Payout) => boolean): void {
    for (const payout of this.payouts.filter((one) => one.status !== 'pending' && isTold(one)))
      this.#report(payout, this.#random.fork(`repeated ${payout.providerRefundId}`), payout.changedAt)
  }

  /** Refuses a key with other parameters. */
  #refuse(request: ProviderRequest): ProviderOutcome | EarlierUse {
    if (request.usesOwnKey) throw new Error('the key of a refund stands for another one')
    const { chargeId, earliestPayoutAt, mayBeLost } = request
    const isSelected = (one: Payout) =>
      mayBeLost ? one.createdAt >= earliestPayoutAt : one.chargeId === chargeId
    return this.#search(request, isSelected) ?? { status: 'key_used' }
  }

  /** Finds the payout of a refund, or else the latest one of the same request. */
  #search(
    { account, refundId, requestName, usesOwnKey }: ProviderRequest,
    isSelected: (payout: Payout) => boolean,
  ): ProviderOutcome | EarlierUse | undefined {
    const selected = this.payouts.filter((one) => one.account === account && isSelected(one))
    const own = selected.find((one) => one.refundId === refundId)
    if (own) return lookUp(own)
    const earlier = usesOwnKey ? undefined : selected.findLast((one) => one.requestName === requestName)
    return earlier && { status: 'key_used', payout: recordOf(earlier) }
  }

  /** The provider's own refunds. Each account also has a payout that the service did not request. */
  refunds(): ProviderRefunds {
    const { payouts } = this
    return {
      async *list({ account, from, to }) {
        const own = payouts.filter((payout) => payout.account === account).map(recordOf)
        const other = {
          refundId: undefined,
          tenant: undefined,
          requestName: undefined,
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

  #pay({ account, chargeId, amount, refundId, tenant, requestName }: ProviderRequest): ProviderOutcome {
    // The same for the same refund, whatever else happens.
    const random = this.#random.fork(refundId)
    const [word = ''] = chargeId.split('-')
    const [first, ...later] = random.pick(lives[word] ?? [[]])
    if (!first) return { status: 'rejected', reason: word === 'declined' ? 'declined' : 'no_such_charge' }
    if (first !== 'failed' && amount > this.#rest(account, chargeId))
      return { status: 'rejected', reason: 'exceeds_charge' }
    const providerRefundId = `re_${this.payouts.length + 1}`
    const createdAt = this.#scheduler.now
    const of = { account, chargeId, amount, refundId, tenant, requestName, madeFor: refundId }
    const payout = { ...of, providerRefundId, status: first, createdAt, changedAt: createdAt }
    this.payouts.push(payout)
    this.#scheduler.note('provider', `${refundId} is ${first}, then ${later.join(', ') || 'stays'}`)
    if (first !== 'pending' && random.chance(0.3)) this.#report(payout, random, createdAt)
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
      payout.changedAt = this.#scheduler.now
      this.#scheduler.note('provider', `${payout.refundId} is ${next}`)
      // Of a payout that was pending, the event may be lost: the service asks about it.
      if (status !== 'pending' || later.length > 0 || random.chance(0.8))
        this.#report(payout, random, payout.changedAt)
      this.#continue(payout, later, random)
    })
  }

  #report(payout: Payout, random: Random, occurredAt: number): void {
    const type = payout.status === 'succeeded' ? 'refund.succeeded' : 'refund.failed'
    const [delay, times] = [random.pick(reportDelays), random.chance(0.3) ? 2 : 1]
    this.onReport({ type, payout: { ...payout }, occurredAt, delay, times })
  }
}

function lookUp({ status, providerRefundId }: Payout): ProviderOutcome {
  return {
    status: shownAs(status),
    providerRefundId,
    currency: chargeCurrency,
    replayed: true,
    lookedUp: true,
  }
}

function recordOf({ providerRefundId: id, status, createdAt, ...payout }: Payout): ProviderRefund {
  const at = Math.floor(createdAt / 1000) * 1000
  return { ...payout, id, status: shownAs(status), currency: chargeCurrency, createdAt: at }
}

/** A payout that was reversed looks like one that has failed. */
export function shownAs(status: PayoutStatus): AnswerStatus {
  return status === 'reversed' ? 'failed' : status
}
