import { cancelOperation } from '#shared/operations/end-operation.ts'
import { isEnded, type OperationView, operationEtag, viewOf } from '#shared/operations/operation.ts'
import { readOperation } from '#shared/operations/operation-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import type { Decision } from '#shared/platform/idempotency/decision.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { checkPrecondition } from '#shared/platform/request/parse-headers.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params, precondition }, context) {
    const { settings } = context
    return decide()

    async function decide(): Promise<Decision<OperationView>> {
      const read = await readOperation(context, params.operation_id ?? '')
      // A repeated cancellation changes nothing and succeeds, whatever its first attempt has made of the entity tag.
      if (!isEnded(read.state) && read.cancel_requested !== 'yes')
        checkPrecondition(precondition, operationEtag(read, settings, context.now()))
      const { operation, writes, audit } = await cancelOperation(read, context)
      const retryAfter = { 'Retry-After': String(settings['operations.retryAfter']) }
      return {
        status: route.reply.status(settings),
        body: viewOf(operation, context),
        headers: isEnded(operation.state) ? {} : retryAfter,
        writes,
        ...(audit && { audit }),
        onConflict: decide,
      }
    }
  },
})

export const handler = httpFunction(endpoint)
