import type { Settings } from '../../settings/register.ts'
import { auditDenial } from '../audit/audit-denial.ts'
import type { Caller } from '../auth/caller.ts'
import type { TokenVerifier } from '../auth/verify-token.ts'
import { type Clock, newId } from '../clock.ts'
import type { Failure } from '../errors/failure.ts'
import { commit } from '../idempotency/commit.ts'
import { fingerprint } from '../idempotency/fingerprint.ts'
import { type Answer, recordKey } from '../idempotency/record.ts'
import { runOnce } from '../idempotency/run-once.ts'
import { type Budget, startBudget } from '../limits/budget.ts'
import type { CursorSeal } from '../listing/cursor.ts'
import type { Log } from '../logging/log.ts'
import type { Table } from '../table/table.ts'
import { errorAnswer, render, toFailure } from './answer.ts'
import { authenticate, checkBodySize, parseRequest, scopeOf } from './check-request.ts'
import { type Correlation, correlationHeaders, correlationOf } from './correlation.ts'
import type { Checked, Context, Endpoint } from './endpoint.ts'
import { corsHeaders, securityHeaders } from './headers.ts'
import { checkAccept, idempotencyKey, matchesEtag, timeBudget } from './parse-headers.ts'
import type { Reply } from './reply.ts'
import type { HttpRequest, HttpResponse } from './request.ts'

/** What a running service gives to every request. */
export interface Runtime {
  settings: Settings
  clock: Clock
  log: Log
  tokens: TokenVerifier
  openTable(budget: Budget): Table
  /** Made at its first use, as it needs the deployment's secret. */
  cursorSeal(): Promise<CursorSeal>
}

/** What writing down an effect may take after the request's own time; below what the function has left then. */
const graceMilliseconds = 700

/** One request on its way: what is known so far, for whoever answers it. */
interface Passage {
  endpoint: Endpoint
  request: HttpRequest
  runtime: Runtime
  clock: Clock
  settings: Settings
  correlation: Correlation
  budget: Budget
  table: Table
  caller: Caller | undefined
  /** What was stored as failed, for the log. */
  fault?: Failure
}

/** Answers one request of one endpoint. It never throws: whatever goes wrong becomes the envelope here. */
export async function handleRequest(
  endpoint: Endpoint,
  request: HttpRequest,
  runtime: Runtime,
): Promise<HttpResponse> {
  const { clock, settings, log } = runtime
  const startedAt = clock.now()
  const correlation = correlationOf(request.headers, () => newId(clock))
  let answer: Answer
  let failure: Failure | undefined
  try {
    const budget = startBudget(clock, timeBudget(request.headers, settings))
    const table = runtime.openTable(budget)
    const known = { endpoint, request, runtime, clock, settings, correlation, budget, table }
    const passage: Passage = { ...known, caller: undefined }
    answer = await pass(passage)
    if (answer.status >= 400) failure = passage.fault
  } catch (thrown) {
    failure = toFailure(thrown)
    answer = errorAnswer(failure, correlation)
  }
  const { operation } = endpoint.route
  const durationMilliseconds = clock.now() - startedAt
  log.request({ operation, status: answer.status, failure, correlation, durationMilliseconds })
  return {
    status: answer.status,
    headers: {
      'Cache-Control': 'no-store',
      ...answer.headers,
      ...securityHeaders,
      ...correlationHeaders(correlation),
      ...corsHeaders(request.headers.origin, settings),
    },
    body: request.method === 'HEAD' ? undefined : answer.body,
  }
}

/** Every denial on the way is in the audit before it is told. */
async function pass(passage: Passage): Promise<Answer> {
  try {
    return await decide(passage)
  } catch (thrown) {
    const { endpoint, caller, correlation, table, clock } = passage
    throw await auditDenial(thrown, endpoint.route.operation, caller, correlation.id, table, clock)
  }
}

/** The whole way of a request, in order. */
async function decide(passage: Passage): Promise<Answer> {
  const { endpoint, request, runtime, clock, settings } = passage
  const { route } = endpoint
  checkBodySize(request, route, settings)
  passage.caller = await authenticate(request, route, runtime.tokens, settings, clock.now())
  const scope = scopeOf(request, route, passage.caller, settings)
  checkAccept(request.headers, route.reply.mediaType?.(settings) ?? 'application/json')
  const checked = parseRequest(request, route, passage.caller, scope, settings)
  const key = idempotencyKey(request, route, settings)
  return key === undefined ? answerDirectly(passage, checked) : answerOnce(passage, checked, key)
}

/** Answers a request without a key: what it writes is still one transaction. */
async function answerDirectly(passage: Passage, checked: Checked<unknown>): Promise<Answer> {
  const { endpoint, request, settings } = passage
  const decision = await endpoint.perform(checked as Checked<never>, contextOf(passage))
  if ('resume' in decision) throw new Error('an effect outside the table needs an Idempotency-Key')
  const answer = render(decision, endpoint.route, settings)
  await commit(passage, decision)
  const { etag } = decision
  const conditional = request.method === 'GET' || request.method === 'HEAD'
  if (!conditional || etag === undefined || !matchesEtag(request.headers['if-none-match'], etag))
    return answer
  const { 'Content-Type': _, ...headers } = answer.headers
  return { status: 304, headers, body: undefined }
}

/** Answers a request with a key: once, however often it is sent. */
async function answerOnce(passage: Passage, checked: Checked<unknown>, key: string): Promise<Answer> {
  const { endpoint, clock, settings, caller, correlation } = passage
  const { route } = endpoint
  const { tenant } = checked.scope
  const context = contextOf(passage)
  const { answer, status } = await runOnce({
    ...passage,
    keyed: {
      key: recordKey(caller?.tenant ?? tenant, principalOf(caller), route.operation, key),
      payloadHash: fingerprint([tenant, checked.params, checked.body ?? null]),
      expiresAt: Math.floor(clock.now() / 1000) + settings['idempotency.lifetimeHours'] * 3600,
    },
    perform: async () => endpoint.perform(checked as Checked<never>, context),
    proceed: async (resume): Promise<Reply> => {
      if (!endpoint.proceed) throw new Error(`${route.operation} returns intents without a way to proceed`)
      return endpoint.proceed(resume, context)
    },
    render: (reply) => render(reply, route, settings),
    renderFault: (fault) => {
      passage.fault = toFailure(fault)
      return errorAnswer(passage.fault, correlation)
    },
    afterwards: () =>
      passage.runtime.openTable(startBudget(clock, Math.max(passage.budget.remaining(), graceMilliseconds))),
  })
  return { ...answer, headers: { ...answer.headers, 'Idempotency-Status': status } }
}

/** A subject is unique to its issuer only. */
function principalOf(caller: Caller | undefined): string {
  return caller ? JSON.stringify([caller.claims.iss, caller.sub]) : ''
}

function contextOf({ runtime, table, settings, clock }: Passage): Context {
  return {
    settings,
    table,
    now: () => clock.now(),
    newId: () => newId(clock),
    sleep: (milliseconds) => clock.sleep(milliseconds),
    cursorSeal: () => runtime.cursorSeal(),
  }
}
