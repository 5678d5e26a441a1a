import { startBudget } from '../base/budget.ts'
import { newId } from '../base/clock.ts'
import { type Correlation, correlationHeaders, correlationOf } from '../base/correlation.ts'
import { type Failure, fail } from '../base/failure.ts'
import type { HttpRequest, HttpResponse } from '../base/http.ts'
import { commit } from '../idempotency/commit.ts'
import type { Answer } from '../idempotency/record.ts'
import { checkCsrf } from '../identity/session.ts'
import { answerOnce, proceed, renderReply } from './answer-once.ts'
import { auditDenial, deniedAttempt } from './audit-denial.ts'
import type { Checked, Endpoint } from './endpoint.ts'
import { type Picked, pickEndpoint } from './endpoint.ts'
import { checkAccept, idempotencyKey, matchesEtag, timeBudget } from './parse-headers.ts'
import { authenticate, checkBodySize, parseRequest, scopeOf } from './parse-request.ts'
import { contextOf, type Passage, type Runtime } from './passage.ts'
import { checkRate } from './rate-limit.ts'
import {
  checkSunset,
  corsHeaders,
  deprecationHeaders,
  errorAnswer,
  securityHeaders,
  toFailure,
} from './respond.ts'
import { usesCookies } from './route.ts'

/**
 * Responds to one request. Never throws: every error becomes the error envelope here.
 * @param endpoints those that share the gateway's method; a request that matches none of them gets 404
 * @param cutShort aborted once an early response was sent; this call then logs nothing
 */
export async function handleRequest(
  endpoints: readonly Endpoint[],
  gatewayRequest: HttpRequest,
  runtime: Runtime,
  cutShort?: AbortSignal,
): Promise<HttpResponse> {
  const { clock, settings } = runtime
  const arrival = arrivalOf(endpoints, gatewayRequest, runtime)
  const { startedAt, picked, request, correlation, operation } = arrival
  let answer: Answer
  let failure: Failure | undefined
  let cookies: readonly string[] = []
  try {
    if (!picked) throw fail('NOT_FOUND.route')
    checkSunset(operation, settings, startedAt)
    const budget = startBudget(clock, timeBudget(request.headers, settings))
    const table = runtime.openTable(budget)
    const known = { ...picked, runtime, clock, settings, correlation, budget, table }
    const passage: Passage = { ...known, caller: undefined }
    answer = await pass(passage)
    if (answer.status >= 400) failure = passage.fault
    else cookies = await cookiesOf(passage, answer)
  } catch (thrown) {
    failure = toFailure(thrown)
    answer = errorAnswer(failure, correlation, settings)
  }
  if (!cutShort?.aborted) logAnswer(arrival, answer, failure, runtime)
  return responseOf(arrival, answer, runtime, cookies)
}

/** Responds to and logs a request whose time is up, while its original call is still running. */
export function answerCutShort(
  endpoints: readonly Endpoint[],
  request: HttpRequest,
  runtime: Runtime,
  startedAt: number,
): HttpResponse {
  const arrival = { ...arrivalOf(endpoints, request, runtime), startedAt }
  const failure = fail('DEPENDENCY.timeout')
  const answer = errorAnswer(failure, arrival.correlation, runtime.settings)
  logAnswer(arrival, answer, failure, runtime)
  return responseOf(arrival, answer, runtime)
}

/** The attributes of a request that are known before it is processed. */
interface Arrival {
  startedAt: number
  picked: Picked | undefined
  request: HttpRequest
  correlation: Correlation
  operation: string
}

function arrivalOf(endpoints: readonly Endpoint[], given: HttpRequest, runtime: Runtime): Arrival {
  const { clock, settings } = runtime
  const picked = pickEndpoint(endpoints, given, settings)
  const request = picked?.request ?? given
  return {
    startedAt: clock.now(),
    picked,
    request,
    correlation: correlationOf(request.headers, settings, () => newId(clock)),
    operation: picked?.endpoint.route.operation ?? 'platform.unknown-route',
  }
}

function logAnswer(
  { operation, correlation, startedAt }: Arrival,
  { status }: Answer,
  failure: Failure | undefined,
  { log, clock }: Runtime,
): void {
  const durationMilliseconds = clock.now() - startedAt
  log.request({ operation, status, failure, correlation, durationMilliseconds })
}

function responseOf(
  { picked, request, correlation, operation }: Arrival,
  answer: Answer,
  { settings }: Runtime,
  cookies: readonly string[] = [],
): HttpResponse {
  const cookiesMatter = picked !== undefined && usesCookies(picked.endpoint.route, settings)
  return {
    status: answer.status,
    headers: {
      'Cache-Control': 'no-store',
      ...answer.headers,
      ...securityHeaders,
      ...correlationHeaders(correlation),
      ...deprecationHeaders(operation, settings),
      ...corsHeaders(request.headers.origin, settings, cookiesMatter),
    },
    cookies,
    body: request.method === 'HEAD' ? undefined : answer.body,
  }
}

/** Creates the cookies for each response, replays included, because no record may store them. */
async function cookiesOf(passage: Passage, { body }: Answer): Promise<readonly string[]> {
  const { endpoint } = passage
  return endpoint.cookies && body !== undefined ? endpoint.cookies(JSON.parse(body), contextOf(passage)) : []
}

/** Processes a request. Every denial is audited before the response is sent. */
async function pass(passage: Passage): Promise<Answer> {
  try {
    return await decide(passage)
  } catch (thrown) {
    throw await auditDenial(thrown, () => deniedAttempt(passage), passage)
  }
}

/** Runs all steps of a request, in order. */
async function decide(passage: Passage): Promise<Answer> {
  const { endpoint, request, runtime, settings } = passage
  const { route } = endpoint
  checkBodySize(request, route, settings)
  passage.caller = await authenticate(request, route, runtime, passage.table, passage.budget)
  checkCsrf(request, passage.caller, settings)
  const scope = scopeOf(request, route, passage.caller, settings)
  checkAccept(request.headers, route.reply.mediaType?.(settings) ?? 'application/json', settings)
  const checked = parseRequest(request, route, passage.caller, scope, settings)
  const key = idempotencyKey(request, route, settings)
  if (key !== undefined) return answerOnce(passage, checked, key)
  const counted = await checkRate(passage, checked)
  const answer = await answerDirectly(passage, checked)
  if (answer.status < 400) await counted.succeed()
  return answer
}

/** Responds to a request without a key. Its writes are still one transaction. */
async function answerDirectly(passage: Passage, checked: Checked<unknown>): Promise<Answer> {
  const { endpoint, request } = passage
  const context = contextOf(passage)
  let decision = await endpoint.perform(checked as Checked<never>, context)
  if ('resume' in decision) {
    // Without a key, nothing can be resumed: the intent is committed and carried out at once.
    await commit(passage, decision, () => ({}))
    decision = await proceed(endpoint, decision.resume, checked, context)
  }
  const committed = await commit(passage, decision, (taken) => ({ answer: renderReply(passage, taken) }))
  if ('existing' in committed) throw new Error('nothing stands in the way of a request without a key')
  const { answer } = committed.prepared
  const etag = answer.headers.ETag
  const conditional = request.method === 'GET' || request.method === 'HEAD'
  if (!conditional || etag === undefined || !matchesEtag(request.headers['if-none-match'], etag))
    return answer
  const { 'Content-Type': _, ...headers } = answer.headers
  return { status: 304, headers, body: undefined }
}
