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

/** The margin before Lambda's timeout, so callers get an error envelope instead of the gateway's bare 502. */
const earlyMilliseconds = 300

/**
 * Turns the endpoints of one gateway method into a function on AWS. The only file that uses middy.
 * @param makeRuntime creates the runtime at the first request
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
    // Middy does not pass the request here, so the early response is created in `after`.
    timeoutEarlyResponse: () => undefined,
  })
    .handler(async (event, _context, { signal }) => {
      made ??= makeRuntime(options)
      const runtime = made
      const startedAt = runtime.clock.now()
      // A generated id must be the same in the early response and in the request's writes.
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
