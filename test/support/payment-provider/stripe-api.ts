import { idempotencyKeys } from './idempotency-keys.ts'
import { pageOf } from './list-page.ts'
import { missing, type PaidRefund, refundLedger } from './refund-ledger.ts'
import { type Answer, type Call, errorAnswer, serverError } from './stripe-wire.ts'

interface StripeApi {
  /** @param begun a refund continues once this resolves; until then its key is in use */
  answerTo(call: Call, begun: () => Promise<unknown>): Promise<Answer>
  /** Returns the refunds that were actually paid, oldest first. */
  paid(): PaidRefund[]
  forgetKeys(): void
}

/** The number of failed requests for each key if a charge is ch_down_…. */
const failuresOfDown = 2

/** Creates refunds and charges with Stripe's responses. */
export function stripeApi(): StripeApi {
  const ledger = refundLedger()
  const keys = idempotencyKeys()
  const failures = new Map<string, number>()

  async function create(call: Call, begun: () => Promise<unknown>): Promise<Answer> {
    const { account, key, parameters } = call
    const { charge = '' } = parameters
    if (!call.authorized) return errorAnswer(401, { message: 'You did not provide an API key.' })
    if (charge.startsWith('ch_down_')) {
      const name = JSON.stringify([account, key ?? charge])
      const before = failures.get(name) ?? 0
      failures.set(name, before + 1)
      if (before < failuresOfDown) return serverError(503)
    }
    return keys.once(call, async () => {
      await begun()
      return { ...ledger.refund(account, parameters), late: charge.startsWith('ch_slow_') }
    })
  }

  function list({ account, parameters }: Call): Answer {
    return pageOf(ledger.paid({ account, charge: parameters.charge }), parameters)
  }

  function retrieve({ account }: Call, id: string): Answer {
    const found = ledger.paid({ account }).find((refund) => refund.id === id)
    return found ? { status: 200, body: found } : missing('refund', id)
  }

  return {
    paid: () => ledger.paid(),
    forgetKeys: () => keys.forget(),

    async answerTo(call, begun) {
      const { method, path, account } = call
      if (account !== undefined && !account.startsWith('acct_')) return noAccess(account)
      const [, collection, id, ...rest] = path.split('/')
      const route = rest.length === 0 && `${method} /${collection}${id === undefined ? '' : '/:id'}`
      if (route === 'POST /refunds') return create(call, begun)
      if (route === 'GET /refunds') return list(call)
      if (route === 'GET /refunds/:id') return retrieve(call, String(id))
      if (route === 'GET /charges/:id') return ledger.charge(account, String(id))
      return errorAnswer(404, { message: `Unrecognized request URL (${method}: ${path}).` })
    },
  }
}

function noAccess(account: string): Answer {
  const message = `The provided key does not have access to account '${account}' (or that account does not exist).`
  return errorAnswer(403, { code: 'account_invalid', message })
}
