import { idempotencyKeys } from './idempotency-keys.ts'
import { pageOf } from './list-page.ts'
import { missing, type PaidRefund, refundLedger } from './refund-ledger.ts'
import { type Answer, type Call, errorAnswer, serverError } from './stripe-wire.ts'
import { webhookEndpoints } from './webhook-endpoints.ts'

interface StripeApi {
  /** @param begun a refund continues once this resolves; until then its key is in use */
  answerTo(call: Call, begun: () => Promise<unknown>): Promise<Answer>
  /** Returns the refunds that were actually paid, oldest first. */
  paid(): PaidRefund[]
  forgetKeys(): void
  /** Ends the sending of events. */
  stop(): void
}

/** The number of failed requests for each key if a charge is ch_down_…. */
const failuresOfDown = 2

/** How long after its payout a bank returns a refund of ch_returned_…, in milliseconds. */
const returnedAfter = 1500

/** Creates refunds, charges and webhook endpoints with Stripe's responses. */
export function stripeApi(): StripeApi {
  const endpoints = webhookEndpoints()
  const ledger = refundLedger()
  const returns: NodeJS.Timeout[] = []
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
      const answer = ledger.refund(account, parameters)
      if (answer.status === 200) report(answer.body as PaidRefund)
      return { ...answer, late: charge.startsWith('ch_slow_') }
    })
  }

  /** Sends the events of a new refund. */
  function report(refund: PaidRefund): void {
    endpoints.send('refund.created', refund)
    if (!refund.charge.startsWith('ch_returned_')) return
    const giveBack = () => {
      refund.status = 'failed'
      for (const type of ['refund.updated', 'refund.failed']) endpoints.send(type, refund)
    }
    returns.push(setTimeout(giveBack, returnedAfter).unref())
  }

  /** Stripe reports a change of metadata, too. */
  function change(call: Call, id: string): Answer {
    const answer = ledger.change(call.account, id, call.parameters)
    if (answer.status === 200) endpoints.send('refund.updated', answer.body as PaidRefund)
    return answer
  }

  /** Pays the pending refunds of a charge. Stripe does it without a call. */
  function pay(charge: string): Answer {
    const pending = ledger.paid({ charge }).filter(({ status }) => status === 'pending')
    for (const refund of pending) {
      refund.status = 'succeeded'
      endpoints.send('refund.updated', refund)
    }
    return { status: 200, body: { paid: pending.length } }
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
    stop() {
      for (const timer of returns) clearTimeout(timer)
      endpoints.stop()
    },

    async answerTo(call, begun) {
      const { method, path, account } = call
      if (account !== undefined && !account.startsWith('acct_')) return noAccess(account)
      const [, collection, id, ...rest] = path.split('/')
      if (method === 'POST' && collection === 'charges' && rest.join() === 'pay') return pay(String(id))
      const route = rest.length === 0 && `${method} /${collection}${id === undefined ? '' : '/:id'}`
      if (route === 'POST /refunds') return create(call, begun)
      if (route === 'GET /refunds') return list(call)
      if (route === 'POST /refunds/:id') return change(call, String(id))
      if (route === 'GET /refunds/:id') return retrieve(call, String(id))
      if (route === 'POST /webhook_endpoints') return endpoints.create(call.parameters)
      if (route === 'GET /charges/:id') return ledger.charge(account, String(id))
      return errorAnswer(404, { message: `Unrecognized request URL (${method}: ${path}).` })
    },
  }
}

function noAccess(account: string): Answer {
  const message = `The provided key does not have access to account '${account}' (or that account does not exist).`
  return errorAnswer(403, { code: 'account_invalid', message })
}
