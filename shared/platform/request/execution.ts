import { Failure, fail } from '../base/failure.ts'
import { keyedHash } from '../base/secrets.ts'
import type { RenderedDecision } from '../idempotency/effects.ts'
import { fingerprint, type KeyedRequest, recordKey } from '../idempotency/record.ts'
import { type Execution, findRecord, type Work } from '../idempotency/run-once.ts'
import { principalOf } from '../identity/caller.ts'
import type { RequestContext, WorkContext } from './context.ts'
import type { Decision, Endpoint, Input, SagaContext } from './endpoint.ts'
import { idempotencyKey } from './parse-headers.ts'
import { countRequest } from './rate-limit.ts'
import { failureOutcome, renderDecision, renderFailure, toFailure } from './respond.ts'
import { pathOf, type Route } from './route.ts'

/** The minimum time for recording an effect, even after the request's budget; below the function's remaining time. */
const graceMilliseconds = 700

/** Returns what the platform runs for a request. */
export function executionOf(context: RequestContext, input: Input): Execution {
  const { endpoint } = context
  const work = endpoint.saga
    ? sagaWork(endpoint, context, () => endpoint.stateOf(input, context))
    : decisionWork(async () => {
        const rendered = render(await endpoint.decide(input, context), endpoint.route, context)
        return context.request.method === 'HEAD' ? withoutEffects(rendered) : rendered
      })
  return execution(endpoint.route, context, work)
}

/** HEAD returns what GET would return, and has no effect. */
function withoutEffects({ response, failure }: RenderedDecision): RenderedDecision {
  return { response, ...(failure && { failure }) }
}

/** Returns what the sweeper runs for a pending saga: everything but its start. */
export function sagaExecution(endpoint: Endpoint, context: WorkContext): Execution {
  const work = sagaWork(endpoint, context, () => {
    throw new Error('a recorded saga is not started again')
  })
  return execution(endpoint.route, { ...context, caller: undefined }, work)
}

function execution(
  route: Route,
  context: WorkContext & Pick<RequestContext, 'caller'>,
  work: Work,
): Execution {
  const { budget, correlation } = context
  return {
    ...context,
    operation: route.operation,
    work,
    renderFault(fault) {
      const failure = toFailure(fault)
      return { response: renderFailure(failure, correlation), failure }
    },
    tableForOutcome: () => context.tableWithin(Math.max(budget.remaining(), graceMilliseconds)),
  }
}

function decisionWork(decide: () => Promise<RenderedDecision>): Work {
  const none = () => Promise.reject(new Error('a decision has no effect outside the table'))
  return { decide, restore: none, execute: none, outcome: none }
}

function sagaWork(
  { route, saga: sagaOf }: Endpoint,
  context: SagaContext,
  stateOf: () => object | Promise<object>,
): Work {
  const saga = sagaOf?.(context)
  if (!saga) throw new Error(`${route.operation} has no saga`)
  return {
    finishedBy: saga.finishedBy,
    async decide() {
      const state = await stateOf()
      const recorded = { ...(saga.recorded?.(state) ?? state) }
      return { ...saga.start(state), state, recorded }
    },
    restore: async (recorded) => (saga.recorded ? { ...(await stateOf()), ...recorded } : recorded),
    execute: (state) => saga.execute(state),
    outcome: async (state, result) => render(await saga.outcome(state, result), route, context),
  }
}

/** Renders a decision before anything is committed. Decisions after a conflict are rendered the same way. */
function render(decision: Decision, route: Route, context: WorkContext): RenderedDecision {
  const { writes, events, audit, failure, onConflict } = decision
  return {
    response: renderDecision(decision, route, context.settings, context.correlation),
    ...(writes && { writes }),
    ...(events && { events }),
    ...(audit && { audit }),
    ...(failure && { failure }),
    ...(onConflict && {
      onConflict: async (existing) => render(await onConflict(existing), route, context),
    }),
  }
}

/**
 * Returns the key of a request with an Idempotency-Key, and what its record must match.
 * @throws VALIDATION.idempotency_key.*, the code of the setting idempotency.missingKey
 */
export async function keyedRequest(context: RequestContext, input: Input): Promise<KeyedRequest | undefined> {
  const { endpoint, request, settings, caller, scope } = context
  const key = idempotencyKey(request, endpoint.route, settings)
  if (key === undefined) return undefined
  const owner = await ownerOfKey(context, input)
  return {
    key: recordKey(caller?.tenant ?? scope.tenant, owner, placeOf(context), key),
    payloadHash: await payloadHash(context, input),
    expiresAt: recordExpiry(context),
  }
}

/** Returns the route of a request in the key of its record: operations that share a route share their keys. */
function placeOf({ endpoint: { route }, settings }: RequestContext): string {
  return `${route.method} ${pathOf(route, settings)}`
}

/**
 * Returns what a step returns. If it rejects the payload of an authenticated request, no hash of this payload exists,
 * so a record of its key is one of another payload.
 * @throws CONFLICT.idempotency.payload_mismatch instead of VALIDATION.* if the key was used, else what the step throws
 */
export async function orMismatch<Result>(context: RequestContext, step: () => Result): Promise<Result> {
  try {
    return step()
  } catch (thrown) {
    const { caller, endpoint, request } = context
    const key = request.headers['idempotency-key']
    // Accept belongs to no payload.
    const ofPayload = thrown instanceof Failure && /^VALIDATION\.(?!accept\.)/.test(thrown.code)
    if (!caller || !key || !ofPayload || endpoint.route.idempotency === 'none') throw thrown
    const keyed = { key: recordKey(caller.tenant, principalOf(caller), placeOf(context), key) }
    if (!(await findRecord({ ...context, keyed }))) throw thrown
    const counted = await countRequest(context, { body: {} })
    const mismatch = fail('CONFLICT.idempotency.payload_mismatch', { cause: thrown })
    await counted.settle(failureOutcome(mismatch, context))
    throw mismatch
  }
}

/** Returns the expiry of a record that is created now, in seconds since 1970. */
export function recordExpiry({ now, settings }: Pick<WorkContext, 'now' | 'settings'>): number {
  return Math.floor(now() / 1000) + settings['idempotency.lifetimeHours'] * 3600
}

/**
 * Hashes everything in a request that decides its effect. A plain hash of a payload with few possible values, such as
 * a code of six digits, can be reversed by trying them all. Confidential routes therefore use a keyed hash.
 */
async function payloadHash(context: RequestContext, input: Input): Promise<string> {
  const { route } = context.endpoint
  const { params, query, headers, precondition, reason, body } = input
  const named = Object.values(headers).map((value) => value ?? null)
  const { ifMatch, ifNoneMatch } = precondition
  const sent = [ifMatch ?? null, ifNoneMatch ?? null, reason ?? null, named, body ?? null]
  const hash = fingerprint([route.operation, context.scope.tenant, params, query, ...sent])
  return route.confidential ? keyedHash(await context.derivedKey('payloads v1'), hash) : hash
}

/**
 * Returns the owner of a key: the caller, or the identifying parts of an anonymous request (setting
 * idempotency.anonymousScope).
 */
async function ownerOfKey(context: RequestContext, { body }: Input): Promise<string> {
  const { caller, source, settings } = context
  if (caller) return principalOf(caller)
  const values = { source, email: (body as { email?: unknown })?.email }
  const parts = settings['idempotency.anonymousScope'].map((part) => String(values[part] ?? ''))
  return keyedHash(await context.derivedKey('anonymous keys v1'), ...parts)
}
