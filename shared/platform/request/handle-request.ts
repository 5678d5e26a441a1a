import { newId } from '../base/clock.ts'
import { correlationOf } from '../base/correlation.ts'
import { fail } from '../base/failure.ts'
import type { HttpRequest, HttpResponse } from '../base/http.ts'
import { type Outcome, replayEarlier, runOnce, runWithoutKey } from '../idempotency/run-once.ts'
import { sourceOf } from '../identity/caller.ts'
import { checkCsrf } from '../identity/session.ts'
import { auditDenial } from './audit-denial.ts'
import { authenticate, checkRequest, parseInput, scopeOf } from './check-request.ts'
import { openWork, type RequestContext, type Runtime } from './context.ts'
import { type Endpoint, pickEndpoint } from './endpoint.ts'
import { executionOf, keyedRequest } from './execution.ts'
import { timeBudget } from './parse-headers.ts'
import { countRequest, isThrottled } from './rate-limit.ts'
import { failureOutcome, respond } from './respond.ts'

/** A healthy service needs less time for nearly every request. */
const hurriedMilliseconds = 1000

/**
 * Responds to one request: its steps, in order. Never throws: every error becomes the error envelope here.
 * @param cutShort aborted once an early response was sent; this call then logs nothing
 */
export async function handleRequest(opened: RequestContext, cutShort?: AbortSignal): Promise<HttpResponse> {
  let context = opened
  let outcome: Outcome
  let cookies: readonly string[] = []
  try {
    checkRequest(context)
    context = { ...context, caller: await authenticate(context) }
    checkCsrf(context.request, context.caller, context.settings)
    context = { ...context, scope: scopeOf(context) }
    const input = parseInput(context)
    const execution = executionOf(context, input)
    const keyed = await keyedRequest(context, input)
    // A replay is neither throttled nor counted. A key with another payload is: its response would confirm a guess.
    const earlier = keyed && isThrottled(context) ? await replayEarlier({ ...execution, keyed }) : undefined
    const counted = earlier ? undefined : await countRequest(context, input)
    outcome = earlier ?? (keyed ? await runOnce({ ...execution, keyed }) : await runWithoutKey(execution))
    await counted?.settle(outcome)
    cookies = await cookiesOf(context, outcome)
  } catch (thrown) {
    outcome = failureOutcome(await auditDenial(thrown, context), context)
  }
  if (!cutShort?.aborted) logOutcome(context, outcome)
  return respond(context, outcome, cookies)
}

/** Responds to and logs a request whose time is up, while its original call is still running. */
export function answerCutShort(context: RequestContext): HttpResponse {
  const outcome = failureOutcome(fail('DEPENDENCY.timeout'), context)
  logOutcome(context, outcome)
  return respond(context, outcome)
}

/**
 * Opens a request at the edge. Never throws: the steps that follow check what it accepts.
 * @param endpoints those that share the gateway's method; a request that matches none of them gets 404
 */
export function openRequest(
  endpoints: readonly Endpoint[],
  received: HttpRequest,
  runtime: Runtime,
): RequestContext {
  const { settings, clock } = runtime
  const { endpoint, request } = pickEndpoint(endpoints, received, settings)
  const correlation = correlationOf(request.headers, settings, () => newId(clock))
  const milliseconds = timeBudget(request.headers, settings)
  return {
    ...openWork(runtime, { operation: endpoint.route.operation, correlation, milliseconds }),
    endpoint,
    request,
    runtime,
    startedAt: clock.now(),
    source: sourceOf(request),
    caller: undefined,
    scope: { tenant: settings['auth.publicTenant'], allTenants: false },
  }
}

/** Creates the cookies for each success, replays included, because no record may store them. */
async function cookiesOf(context: RequestContext, { response }: Outcome): Promise<readonly string[]> {
  const { endpoint } = context
  if (response.status >= 400 || response.body === undefined || endpoint.saga || !endpoint.cookies) return []
  return endpoint.cookies(JSON.parse(response.body), context)
}

function logOutcome(context: RequestContext, { response, failure }: Outcome): void {
  const { endpoint, request, correlation, startedAt, log, now } = context
  const { operation } = endpoint.route
  const { status } = response
  const durationMilliseconds = now() - startedAt
  // Anyone can cause such timeouts, and must not be able to roll back a deployment by them.
  const early = failure?.code === 'DEPENDENCY.timeout' && durationMilliseconds < hurriedMilliseconds
  const hurried = early && request.headers['x-request-timeout'] !== undefined
  log.request({ operation, status, failure, correlation, durationMilliseconds, hurried })
}
