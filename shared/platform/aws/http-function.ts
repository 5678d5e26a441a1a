import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import { newId } from '../base/clock.ts'
import { withCorrelation } from '../base/correlation.ts'
import { powertoolsLog } from '../base/log.ts'
import { poolIssuer, tokenVerifier } from '../identity/token.ts'
import type { Runtime } from '../request/context.ts'
import type { Endpoint } from '../request/endpoint.ts'
import { answerCutShort, handleRequest } from '../request/handle-request.ts'
import { deployedTable } from './dynamodb-table.ts'
import { basePathOf, toRequest, toResult } from './gateway-event.ts'
import { type Adapters, deployedRuntime } from './runtime.ts'

/** The margin before Lambda's timeout, so callers get an error envelope instead of the gateway's bare 502. */
const earlyMilliseconds = 300

/** Returns the runtime of an HTTP function. */
export function httpRuntime(adapters: Adapters): Runtime {
  const tokens: Adapters['tokens'] = (settings, environment) =>
    tokenVerifier(settings, poolIssuer(environment))
  return deployedRuntime({ log: powertoolsLog, table: deployedTable, tokens, ...adapters })
}

/**
 * Turns the endpoints of one gateway method into a function on AWS. The only file that uses middy.
 * @param makeRuntime creates the runtime at the first request
 */
export function httpFunction(
  endpoints: Endpoint | readonly Endpoint[],
  adapters: Adapters = {},
  makeRuntime: (adapters: Adapters) => Runtime = httpRuntime,
) {
  const served = (Array.isArray(endpoints) ? endpoints : [endpoints]) as readonly Endpoint[]
  let runtime: Runtime | undefined
  const cutShort = new WeakMap<APIGatewayProxyEvent, () => APIGatewayProxyResult>()
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context>({
    timeoutEarlyInMillis: earlyMilliseconds,
    // Middy does not pass the request here, so the early response is created in `after`.
    timeoutEarlyResponse: () => undefined,
  })
    .handler(async (event, _context, { signal }) => {
      runtime ??= makeRuntime(adapters)
      const shared = runtime
      const startedAt = shared.clock.now()
      const basePath = basePathOf(event, shared.environment('BASE_PATH'))
      // A generated id must be the same in the early response and in the request's writes.
      const request = withCorrelation(toRequest(event), shared.settings, () => newId(shared.clock))
      cutShort.set(event, () => toResult(answerCutShort(served, request, shared, startedAt), basePath))
      return toResult(await handleRequest(served, request, shared, signal), basePath)
    })
    .after((request) => {
      request.response ??= cutShort.get(request.event)?.()
    })
}
