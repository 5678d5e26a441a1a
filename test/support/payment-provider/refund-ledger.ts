import { type Answer, errorAnswer, newStripeId } from './stripe-wire.ts'

/** A refund that was or will be paid, in Stripe's fields, with its account. */
export interface PaidRefund {
  id: string
  object: 'refund'
  account: string
  /** In minor units. */
  amount: number
  charge: string
  /** In seconds since 1970. */
  created: number
  currency: 'eur'
  metadata: Record<string, string>
  reason: string | null
  /** Tests may change it, as Stripe does later. */
  status: 'succeeded' | 'pending' | 'failed'
}

/** Every requested charge exists in each account, with this amount captured, in minor units. */
const captured = 100_000
const currency = 'eur'
/** The account of a request without Stripe-Account. */
const platformAccount = 'acct_platform'
const parameterName = /^(charge|amount|reason|(metadata|expand)\[.*\])$/

interface RefundLedger {
  refund(account: string | undefined, parameters: Record<string, string>): Answer
  /** Stripe's charge object. */
  charge(account: string | undefined, id: string): Answer
  /** Adds metadata to a refund, which is all of it that Stripe changes. */
  change(account: string | undefined, id: string, parameters: Record<string, string>): Answer
  /** Returns the paid refunds, oldest first; of all accounts if none is named. */
  paid(only?: { account?: string | undefined; charge?: string | undefined }): PaidRefund[]
}

export function refundLedger(): RefundLedger {
  const refunds: PaidRefund[] = []
  const paid: RefundLedger['paid'] = ({ account, charge } = {}) =>
    refunds.filter(
      (refund) => (!account || refund.account === account) && (!charge || refund.charge === charge),
    )
  const leftOf = (account: string, charge: string) =>
    paid({ account, charge })
      .filter(({ status }) => status !== 'failed')
      .reduce((left, { amount }) => left - amount, captured)
  return {
    paid,

    charge(account = platformAccount, id) {
      if (!id.startsWith('ch_')) return missing('charge', id)
      const left = leftOf(account, id)
      const charge = {
        id,
        object: 'charge',
        amount: captured,
        amount_captured: captured,
        amount_refunded: captured - left,
        captured: true,
        currency,
        paid: true,
        refunded: left === 0,
        status: 'succeeded',
      }
      return { status: 200, body: charge }
    },

    refund(account = platformAccount, parameters) {
      const { charge = '', reason = null } = parameters
      const unknown = Object.keys(parameters).find((name) => !parameterName.test(name))
      if (unknown)
        return refusedParameter('parameter_unknown', unknown, `Received unknown parameter: ${unknown}`)
      if (!charge) return refusedParameter('parameter_missing', 'charge', 'Missing required param: charge.')
      if (!charge.startsWith('ch_')) return missing('charge', charge)
      if (charge.startsWith('ch_declined_')) return notRefundable(charge)
      const left = leftOf(account, charge)
      if (left === 0) return alreadyRefunded(charge)
      const amount = Number(parameters.amount ?? left)
      if (!Number.isSafeInteger(amount) || amount < 1) {
        return refusedParameter('parameter_invalid_integer', 'amount', 'Invalid positive integer')
      }
      if (amount > left) return tooLarge(amount, left)
      const refund: PaidRefund = {
        id: newStripeId('re'),
        object: 'refund',
        account,
        amount,
        charge,
        created: Math.floor(Date.now() / 1000),
        currency,
        metadata: metadataOf(parameters),
        reason,
        status: charge.startsWith('ch_pending_') ? 'pending' : 'succeeded',
      }
      refunds.push(refund)
      return { status: 200, body: refund }
    },

    change(account = platformAccount, id, parameters) {
      const refund = paid({ account }).find((one) => one.id === id)
      if (!refund) return missing('refund', id)
      const unknown = Object.keys(parameters).find((name) => !/^(metadata|expand)\[.*\]$/.test(name))
      if (unknown)
        return refusedParameter('parameter_unknown', unknown, `Received unknown parameter: ${unknown}`)
      refund.metadata = { ...refund.metadata, ...metadataOf(parameters) }
      return { status: 200, body: refund }
    },
  }
}

function metadataOf(parameters: Record<string, string>): Record<string, string> {
  const entries = Object.entries(parameters).flatMap(([name, value]) => {
    const key = /^metadata\[(.*)\]$/.exec(name)?.[1]
    return key === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(entries)
}

export function missing(what: string, id: string): Answer {
  return errorAnswer(404, { code: 'resource_missing', param: what, message: `No such ${what}: '${id}'` })
}

function refusedParameter(code: string, param: string, message: string): Answer {
  return errorAnswer(400, { code, param, message })
}

function notRefundable(charge: string): Answer {
  return errorAnswer(402, { code: 'charge_not_refundable', message: `Charge ${charge} cannot be refunded.` })
}

function alreadyRefunded(charge: string): Answer {
  const message = `Charge ${charge} has already been refunded.`
  return errorAnswer(400, { code: 'charge_already_refunded', message })
}

function tooLarge(amount: number, left: number): Answer {
  const message = `Refund amount (${euros(amount)}) is greater than unrefunded amount on charge (${euros(left)})`
  return errorAnswer(400, { code: 'amount_too_large', param: 'amount', message })
}

function euros(minorUnits: number): string {
  return `€${(minorUnits / 100).toFixed(2)}`
}
