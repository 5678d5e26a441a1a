import { defineSagaEndpoint } from '#shared/platform/request/endpoint.ts'
import { accountOf, makeRefund } from '#shared/refunds/refund.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import { deployedProvider } from '#shared/refunds/stripe-provider.ts'
import { route } from './route.ts'

export const endpoint = defineSagaEndpoint(route, {
  stateOf({ body }, { settings, newId, scope, caller }) {
    const account = accountOf(scope.tenant, settings)
    const refund = makeRefund(body, newId(), scope.tenant)
    const actor = caller && { sub: caller.sub, tenant: caller.tenant, role: caller.role }
    return { refund, account, actor }
  },
  saga: (context) => refundSaga(context, () => deployedProvider(context)),
})
