import { refuseBacklogged } from '#shared/platform/idempotency/backlog.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { maxShards } from '#shared/platform/table/keys.ts'
import { accountOf } from '#shared/refunds/accounts.ts'
import { providerKey } from '#shared/refunds/provider-key.ts'
import { deploymentVariable, makeRefund, requestName } from '#shared/refunds/refund.ts'
import { findBookedByOperator, refundSaga } from '#shared/refunds/refund-saga.ts'
import { deployedPaymentProvider } from '#shared/refunds/stripe-provider.ts'
import { route } from './route.ts'

/** Apart from its function, because `sagas.finish` finishes its sagas, too. */
export const endpoint = defineEndpoint(route, {
  async decide({ body }, context) {
    // Throws if the deployment has no provider: a refund would stay pending.
    await providerKey(context)
    const { newId, recordKey, environment, scope } = context
    const deployment = environment(deploymentVariable)
    if (!recordKey || !deployment) throw new Error('a refund needs a key and the name of the deployment')
    await refuseBacklogged(scope.tenant, context)
    // All of its shards: no list reads refunds (`spread` in keys.ts).
    const of = {
      id: newId(maxShards),
      tenant_id: scope.tenant,
      account: await accountOf(scope.tenant, context),
    }
    const refund = makeRefund(body, { ...of, request_name: requestName(deployment, recordKey) })
    return (await findBookedByOperator(refund, context)) ?? { state: refund }
  },
  saga: (context) => refundSaga(context, () => deployedPaymentProvider(context)),
})
