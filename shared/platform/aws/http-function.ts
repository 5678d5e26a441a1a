import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import { lazy } from '../base/cached-load.ts'
import { jsonLog } from '../base/log.ts'
import { blockCheck } from '../identity/blocked-tenants.ts'
import { poolIssuer } from '../identity/issuer.ts'
import { tokenVerifier } from '../identity/token.ts'
import type { Runtime } from '../request/context.ts'
import type { Endpoint } from '../request/endpoint.ts'
import { handleRequest, openRequest, respondTimeout } from '../request/handle-request.ts'
import { deployedTable, prepareTable } from './dynamodb-table.ts'
import { basePathOf, toRequest, toResult } from './gateway-event.ts'
import { type Adapters, deployedRuntime } from './runtime.ts'

/** The margin before Lambda's timeout, so callers get an error envelope instead of the gateway's bare 502. */
const earlyMilliseconds = 300

/** Returns the runtime of an HTTP function. */
export function httpRuntime(adapters: Adapters): Runtime {
  const tokens: Adapters['tokens'] = (settings, environment) =>
    tokenVerifier(settings, poolIssuer(environment))
  return deployedRuntime({ log: jsonLog, table: deployedTable, tokens, blockCheck, ...adapters })
}

/**
 * Turns the endpoints of one gateway method into a function on AWS. The only file that uses middy.
 * @param makeRuntime creates the runtime, on Lambda when the module is loaded, else at the first request
 */
export function httpFunction(
  endpoints: Endpoint | readonly Endpoint[],
  adapters: Adapters = {},
  makeRuntime: (adapters: Adapters) => Runtime = httpRuntime,
) {
  const served = (Array.isArray(endpoints) ? endpoints : [endpoints]) as readonly Endpoint[]
  const runtime = lazy(() => makeRuntime(adapters))
  // Lambda may start a function before its first request, which then finds everything created.
  if (process.env.AWS_LAMBDA_INITIALIZATION_TYPE) prepare(served, runtime())
  const timeoutResponses = new WeakMap<APIGatewayProxyEvent, () => APIGatewayProxyResult>()
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context>({
    timeoutEarlyInMillis: earlyMilliseconds,
    // Middy does not pass the request here, so the early response is created in `after`.
    timeoutEarlyResponse: () => undefined,
  })
    .handler(async (event, _context, { signal }) => {
      const opened = openRequest(served, toRequest(event), runtime())
      const { context } = opened
      const basePath = basePathOf(event, context.environment('BASE_PATH'))
      timeoutResponses.set(event, () => toResult(respondTimeout(context), basePath))
      return toResult(await handleRequest(opened, signal), basePath)
    })
    .after((request) => {
      request.response ??= timeoutResponses.get(request.event)?.()
    })
}

/** Creates what the first request would create, without any call. */
function prepare(endpoints: readonly Endpoint[], { settings }: Runtime): void {
  prepareTable()
  for (const { route } of endpoints) {
    route.body?.(settings, 'application/json')
    route.reply.schema(settings)
  }
}
