import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type * as v from 'valibot'
import { newId } from '../clock.ts'
import { withCorrelation } from './correlation.ts'
import { deployedRuntime, type RuntimeOptions } from './deployed-runtime.ts'
import type { Endpoint } from './endpoint.ts'
import { basePathOf, toRequest, toResult } from './gateway-event.ts'
import { answerCutShort, handleRequest } from './handle-request.ts'
import type { Runtime } from './passage.ts'

/** Stops before the function is killed, so that the caller gets an envelope and not a gateway's bare 502. */
const earlyMilliseconds = 300

/**
 * Makes the endpoints of one method of the gateway a function on AWS. The only file that knows middy.
 * @param makeRuntime what makes the runtime at the first request
 */
export function lambda<Body extends v.GenericSchema>(
  endpoints: Endpoint<Body> | readonly Endpoint[],
  options: RuntimeOptions = {},
  makeRuntime: (options: RuntimeOptions) => Runtime = deployedRuntime,
) {
  const served = (Array.isArray(endpoints) ? endpoints : [endpoints]) as readonly Endpoint[]
  let made: Runtime | undefined
  const cutShort = new WeakMap<APIGatewayProxyEvent, () => APIGatewayProxyResult>()
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context>({
    timeoutEarlyInMillis: earlyMilliseconds,
    // Middy does not say here which request it is: nothing is answered until it does.
    timeoutEarlyResponse: () => undefined,
  })
    .handler(async (event, _context, { signal }) => {
      made ??= makeRuntime(options)
      const runtime = made
      const startedAt = runtime.clock.now()
      // An id that is made here is the same in the early answer and in what the request has written by then.
      const request = withCorrelation(toRequest(event), runtime.settings, () => newId(runtime.clock))
      cutShort.set(event, () =>
        toResult(answerCutShort(served, request, runtime, startedAt), basePathOf(event)),
      )
      return toResult(await handleRequest(served, request, runtime, signal), basePathOf(event))
    })
    .after((request) => {
      request.response ??= cutShort.get(request.event)?.()
    })
}
