import type { Settings } from '../../settings/register.ts'
import { type DeniedAction, writeDenial } from '../audit/denials.ts'
import { newId } from '../base/clock.ts'
import { correlationOf } from '../base/correlation.ts'
import { fail } from '../base/failure.ts'
import type { HttpRequest, HttpResponse } from '../base/http.ts'
import { keyedHash } from '../base/secrets.ts'
import type { Decision, SagaStart } from '../idempotency/decision.ts'
import { type Outcome, replayEarlier, runOnce, runWithoutKey } from '../idempotency/run-once.ts'
import { areaOf, type TenantScope } from '../identity/authorize.ts'
import { type Caller, principalOf, sourceOf } from '../identity/caller.ts'
import { checkCsrf } from '../identity/session.ts'
import { shardsOf } from '../table/keys.ts'
import {
  authenticate,
  checkNotBlocked,
  checkRequest,
  parseBody,
  parseInput,
  scopeOf,
} from './check-request.ts'
import { openWork, type RequestContext, type Runtime } from './context.ts'
import { type Endpoint, type Input, pickEndpoint } from './endpoint.ts'
import { keyedRequest, orPayloadMismatch, runOf } from './execution.ts'
import { timeBudget } from './parse-headers.ts'
import { type CountedRequest, countRequest, hasRateLimits } from './rate-limit.ts'
import { checkIfMatchOfRead, failureOutcome, respond } from './respond.ts'
import { alarmGroupOf, type Route, sumsDenials } from './route.ts'

/**
 * Responds to one request: its steps, in order. Never throws: every error becomes the error envelope here.
 * @param isAnswered aborted once an early response was sent; this call then logs nothing
 */
export async function handleRequest(
  { endpoint, context: opened }: { endpoint: Endpoint; context: RequestContext },
  isAnswered?: AbortSignal,
): Promise<HttpResponse> {
  let context = opened
  let outcome: Outcome
  let cookies: readonly string[] = []
  let counted: CountedRequest | undefined
  let caller: Caller | undefined
  try {
    checkRequest(context)
    caller = await authenticate(context, endpoint)
    // The denial of a blocked tenant is logged, but not audited: its audit may be about to be purged.
    await checkNotBlocked(context, caller?.tenant ?? context.scope.tenant)
    context = { ...context, caller }
    checkCsrf(context.request, context.caller, context.settings)
    const authenticated = context
    // With a used key, an invalid payload is another payload.
    const { scope, input } = await orPayloadMismatch(authenticated, () => ({
      scope: scopeOf(authenticated),
      input: parseInput(authenticated),
    }))
    if (scope.tenant !== caller?.tenant) await checkNotBlocked(context, scope.tenant)
    context = { ...authenticated, ...inScope(scope, authenticated) }
    const keyed = await keyedRequest(context, input)
    const known = { ...context, recordKey: keyed?.key }
    const run = runOf(endpoint, known, () => decide(endpoint, input, known))
    // A replay is neither throttled nor counted. A key with another payload is: its response would confirm a guess. An
    // attempt while the first one is in progress is counted, too: it works or waits like the first.
    const earlier = keyed && hasRateLimits(context) ? await replayEarlier({ ...run, keyed }) : undefined
    counted = earlier ? undefined : await countRequest(context, input)
    outcome = earlier ?? (keyed ? await runOnce({ ...run, keyed }) : await runWithoutKey(run))
    cookies = await cookiesOf(endpoint, { context, input, outcome })
    checkIfMatchOfRead(context.request, outcome)
  } catch (thrown) {
    outcome = failureOutcome(await auditDenial(thrown, context), context)
  }
  await counted?.countOutcome(outcome)
  const source = await hashedSource(context)
  if (!isAnswered?.aborted) logOutcome({ ...context, caller }, outcome, source)
  return respond(context, outcome, cookies)
}

/** Responds to and logs a request whose time is up, while its original call is still running. */
export function respondTimeout(context: RequestContext): HttpResponse {
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
): { endpoint: Endpoint; context: RequestContext } {
  const { settings, clock } = runtime
  const { endpoint, request } = pickEndpoint(endpoints, received, settings)
  const correlation = correlationOf(request.headers, settings, () => newId(clock))
  const { route } = endpoint
  // X-Request-Timeout is an option of the caller.
  const milliseconds = timeBudget(route.ignoresCallerOptions ? {} : request.headers, settings)
  const work = openWork(runtime, {
    operation: route.operation,
    correlation,
    milliseconds,
    // While a partition throttles, requests give way to work whose caller cannot retry.
    criticality: 'sheddable',
  })
  const context: RequestContext = {
    ...work,
    route,
    request,
    startedAt: clock.now(),
    source: sourceOf(request),
    recordKey: undefined,
    verifyToken: (token, nonce) => runtime.tokens.verify(token, nonce, clock.now(), work.budget),
    ...inScope({ tenant: settings['auth.publicTenant'], allTenants: false }, runtime),
  }
  return { endpoint, context }
}

/** Returns the scope of a request, and its source of ids: new items are in the shards of that tenant. */
function inScope(
  scope: TenantScope,
  { settings, clock }: Pick<Runtime, 'settings' | 'clock'>,
): Pick<RequestContext, 'scope' | 'newId'> {
  const { writes } = shardsOf(settings, scope.tenant)
  return { scope, newId: (shards = writes) => newId(clock, shards) }
}

/** Decides. HEAD returns what GET would return, and has no effect unless it is denied. */
async function decide(
  endpoint: Endpoint,
  input: Input,
  context: RequestContext,
): Promise<Decision | SagaStart> {
  const decision = await endpoint.decide(input, context)
  if (context.request.method !== 'HEAD' || 'state' in decision) return decision
  const { writes: _, events: _events, audit: _audit, onConflict: _onConflict, ...response } = decision
  return response
}

/**
 * Writes the audit record of a denied request before the response, also of HEAD: no probe goes without a trace.
 * @returns the error for the response: that of the table (DEPENDENCY.*) if the audit record cannot be written
 */
async function auditDenial(
  thrown: unknown,
  context: Pick<
    RequestContext,
    'route' | 'request' | 'settings' | 'caller' | 'correlation' | 'table' | 'clock'
  >,
): Promise<unknown> {
  return writeDenial(thrown, () => deniedAction(context), context).catch((fault: unknown) => fault)
}

/** Describes a denied request for the audit from the request itself. */
function deniedAction(
  context: Pick<RequestContext, 'route' | 'request' | 'settings' | 'caller'>,
): DeniedAction {
  const { route, request, settings, caller } = context
  const { operation, action = operation } = route
  return {
    action,
    area: areaOf(route),
    id: Object.values(request.params)[0],
    ...(sumsDenials(route) && { summedBy: principalOf(caller) }),
    ...auditedFields(route, request, settings),
  }
}

/** Stores nothing of an invalid body, because it may hold anything. */
function auditedFields(route: Route, request: HttpRequest, settings: Settings): Pick<DeniedAction, 'after'> {
  const { body, auditedFields: names } = route
  if (!body || !names) return {}
  try {
    const fields = parseBody(request, { ...route, body }, settings) as Record<string, unknown>
    return { after: Object.fromEntries(names.map((name) => [name, fields[name]])) }
  } catch {
    return {}
  }
}

/** Creates the cookies for each success, replays included, because no idempotency record may store them. */
async function cookiesOf(
  { cookies }: Endpoint,
  { context, input, outcome: { response } }: { context: RequestContext; input: Input; outcome: Outcome },
): Promise<readonly string[]> {
  if (response.status >= 400 || response.body === undefined || !cookies) return []
  return cookies({ reply: JSON.parse(response.body), input }, context)
}

/**
 * Returns a pseudonym of the source of an anonymous request, so that a flood can be traced to few sources. It is known
 * where sources are counted: only those functions have the key.
 */
async function hashedSource(
  context: Pick<RequestContext, 'route' | 'source' | 'derivedKey'>,
): Promise<string | undefined> {
  const { route, source, derivedKey } = context
  const { auth, throttle } = route
  if (auth !== 'none' || !throttle) return undefined
  const key = await derivedKey('hashes').catch(() => undefined)
  return key && keyedHash(key, 'source in logs', source)
}

function logOutcome(
  context: Pick<
    RequestContext,
    'route' | 'request' | 'settings' | 'caller' | 'correlation' | 'startedAt' | 'log' | 'now' | 'units'
  >,
  outcome: Outcome,
  source?: string,
): void {
  const { route, caller, correlation, startedAt, log, now, units } = context
  const { response, failure } = outcome
  const { operation } = route
  const { status } = response
  const durationMilliseconds = now() - startedAt
  const causedByCaller = status >= 500 && isCausedByCaller(outcome, context, durationMilliseconds)
  const { tenant, apiKey } = caller ?? {}
  const mail = mailOf(route, response)
  const line = { operation, tenant, apiKey, mail, source, status, failure, correlation }
  log.request({ ...line, watched: alarmGroupOf(route), durationMilliseconds, causedByCaller, units })
}

/** Returns the id of the message that a success mails; undefined if there is none. */
function mailOf({ mails }: Route, { status, body }: HttpResponse): string | undefined {
  return mails && status < 300 && body !== undefined ? JSON.parse(body).message_id : undefined
}

/** The time of a request from which on its end is a failure of the service, even if the caller chose the end: no request should need longer. */
const enoughMilliseconds = 5000

/**
 * Returns whether a caller could cause this 5xx at will: by a replay of a stored failure, by a time limit too short to
 * meet, or as its failure says. Such responses must not wake anybody, hide other alarms or roll back a deployment.
 */
function isCausedByCaller(
  { status, failure }: Outcome,
  { route, request, settings }: Pick<RequestContext, 'route' | 'request' | 'settings'>,
  milliseconds: number,
): boolean {
  if (status === 'replayed' || failure?.causedByCaller) return true
  const { maxMilliseconds } = settings['requests.timeoutHeader']
  const limit = route.ignoresCallerOptions ? maxMilliseconds : timeBudget(request.headers, settings)
  return (
    failure?.code === 'DEPENDENCY.timeout' && limit < maxMilliseconds && milliseconds < enoughMilliseconds
  )
}
