import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { maxShards } from '#shared/platform/table/keys.ts'
import { accountOf } from '#shared/refunds/accounts.ts'
import { providerKey } from '#shared/refunds/provider-key.ts'
import { makeRefund } from '#shared/refunds/refund.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import { deployedProvider } from '#shared/refunds/stripe-provider.ts'
import { route } from './route.ts'

/** Apart from its function, because `sagas.finish` finishes its sagas, too. */
export const endpoint = defineEndpoint(route, {
  async decide({ body }, context) {
    // A refund without a provider would stay pending.
    await providerKey(context)
    const { tenant } = context.scope
    // All of its shards: no list reads refunds (`spread` in keys.ts).
    const id = context.newId(maxShards)
    return { state: makeRefund(body, { id, tenant_id: tenant, account: await accountOf(tenant, context) }) }
  },
  saga: (context) => refundSaga(context, () => deployedProvider(context)),
})
