import { defineSagaEndpoint } from '#shared/platform/request/endpoint.ts'
import { accountOf, makeRefund } from '#shared/refunds/refund.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import { deployedProvider } from '#shared/refunds/stripe-provider.ts'
import { route } from './route.ts'

export const endpoint = defineSagaEndpoint(route, {
  stateOf({ body }, { settings, newId, scope: { tenant } }) {
    return makeRefund(body, { id: newId(), tenant_id: tenant, account: accountOf(tenant, settings) })
  },
  saga: (context) => refundSaga(context, () => deployedProvider(context)),
})
