import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { makeRefund } from '#shared/refunds/refund.ts'
import { accountOf } from '#shared/refunds/refund-account.ts'
import { newRefund } from '#shared/refunds/refund-store.ts'
import { type PendingRefund, settleRefund } from '#shared/refunds/settle-refund.ts'
import { stripeProvider } from '#shared/refunds/stripe-provider.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ body, scope, caller }, { settings, newId }) {
    const account = accountOf(scope.tenant, settings)
    const refund = makeRefund(body, newId(), scope.tenant)
    const { id, tenant_id, charge_id, amount } = refund
    const actor = caller && { sub: caller.sub, tenant: caller.tenant, role: caller.role }
    return {
      resume: { refund, account, actor },
      finished: 'by_itself',
      writes: newRefund(refund, settings),
      audit: { action: 'refund', target: `refund/${id}`, tenant: tenant_id, after: { charge_id, amount } },
    }
  },

  async proceed(resume, _, context) {
    const { endpoint: at, attemptMilliseconds } = context.settings['refunds.provider']
    const apiKey = await context.secret('payments')
    const { clock, committer } = context
    const { trace } = committer.correlation
    const provider = stripeProvider({ apiKey, endpoint: at, attemptMilliseconds, trace, clock })
    return settleRefund(resume as unknown as PendingRefund, provider, context)
  },
})
