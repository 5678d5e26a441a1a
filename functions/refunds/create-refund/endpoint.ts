import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import { newRefund } from '#shared/refunds/refund-store.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import { stripeProvider } from '#shared/refunds/stripe-provider.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ body, scope }, { settings, newId }) {
    const refund = makeRefund(body, newId(), scope.tenant)
    const { id, tenant_id, charge_id, amount } = refund
    return {
      resume: { refund },
      finished: 'by_itself',
      writes: newRefund(refund, settings),
      audit: { action: 'refund', target: `refund/${id}`, tenant: tenant_id, after: { charge_id, amount } },
    }
  },

  async proceed({ refund }, _, context) {
    const { endpoint: at, attemptMilliseconds } = context.settings['refunds.provider']
    const apiKey = await context.secret('payments')
    const provider = stripeProvider({ apiKey, endpoint: at, attemptMilliseconds, clock: context.clock })
    return settleRefund(refund as Refund, provider, context)
  },
})
