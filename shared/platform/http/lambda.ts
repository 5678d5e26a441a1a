import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type * as v from 'valibot'
import { newId, systemClock } from '../clock.ts'
import { fail } from '../errors/failure.ts'
import { errorAnswer } from './answer.ts'
import { correlationHeaders, correlationOf } from './correlation.ts'
import { deployedRuntime, type RuntimeOptions } from './deployed-runtime.ts'
import type { Endpoint } from './endpoint.ts'
import { basePathOf, toRequest, toResult } from './gateway-event.ts'
import { handleRequest } from './handle-request.ts'
import { securityHeaders } from './headers.ts'
import type { Runtime } from './passage.ts'

/** Stops before the function is killed, so that the caller gets an envelope and not a gateway's bare 502. */
const earlyMilliseconds = 300

/** Makes the endpoints of one method of the gateway a function on AWS. The only file that knows middy. */
export function lambda<Body extends v.GenericSchema>(
  endpoints: Endpoint<Body> | readonly Endpoint[],
  options: RuntimeOptions = {},
) {
  const served = (Array.isArray(endpoints) ? endpoints : [endpoints]) as readonly Endpoint[]
  let runtime: Runtime | undefined
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context>({
    timeoutEarlyInMillis: earlyMilliseconds,
    timeoutEarlyResponse: () => {
      const correlation = correlationOf({}, () => newId(systemClock))
      const { status, headers, body } = errorAnswer(fail('DEPENDENCY.timeout'), correlation)
      const every = { ...securityHeaders, ...correlationHeaders(correlation), 'Cache-Control': 'no-store' }
      return toResult({ status, headers: { ...headers, ...every }, body })
    },
  }).handler(async (event) => {
    runtime ??= deployedRuntime(options)
    const response = await handleRequest(served, toRequest(event), runtime)
    return toResult(response, basePathOf(event))
  })
}
