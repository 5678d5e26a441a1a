import { timestamp } from '../base/clock.ts'
import { Failure } from '../base/failure.ts'
import { keyedHash } from '../base/secrets.ts'
import type { Run } from '../idempotency/decision.ts'
import {
  findIdempotencyRecord,
  fingerprint,
  type KeyedRequest,
  payloadMismatch,
  recordKey,
} from '../idempotency/idempotency-record.ts'
import { principalOf } from '../identity/caller.ts'
import type { RequestContext, WorkContext } from './context.ts'
import type { Endpoint, Input } from './endpoint.ts'
import { idempotencyKey } from './parse-headers.ts'
import { countRequest } from './rate-limit.ts'
import { renderDecision } from './respond.ts'
import { pathOf } from './route.ts'

/** The minimum time for recording an effect, even after the request's budget; below the function's remaining time. */
const graceMilliseconds = 700

/** Returns the run of an endpoint: of a request, or of a pending saga that is finished without one. */
export function runOf({ route, saga }: Endpoint, context: WorkContext, decide: Run['decide']): Run {
  const { settings, table, clock, caller, correlation, budget } = context
  return {
    ...{ settings, table, clock, caller, correlation },
    operation: route.operation,
    decide,
    saga: saga?.(context),
    render: (decision) => renderDecision(decision, route, settings, correlation),
    tableForOutcome: () => context.tableWithin(Math.max(budget.remaining(), graceMilliseconds)),
  }
}

/**
 * Returns the key of a request with an Idempotency-Key, and what its record must match.
 * @throws VALIDATION.idempotency_key.*, the code of the setting idempotency.missingKey
 */
export async function keyedRequest(
  context: Pick<
    RequestContext,
    'route' | 'request' | 'settings' | 'caller' | 'scope' | 'source' | 'now' | 'derivedKey'
  >,
  input: Input,
): Promise<KeyedRequest | undefined> {
  const { route, request, settings, caller, scope } = context
  const key = idempotencyKey(request, route, settings)
  if (key === undefined) return undefined
  const owner = await ownerOfKey(context, input)
  return {
    firstUsedAt: timestamp(context.now()),
    expiresAt: recordExpiry(context),
    payloadHash: await payloadHash(context, input),
    tenant: scope.tenant,
    key: recordKey(caller?.tenant ?? scope.tenant, owner, routeKey(context), key),
  }
}

/** Returns the route of a request in the key of its idempotency record: operations that share a route share their keys. */
function routeKey({ route, settings }: Pick<RequestContext, 'route' | 'settings'>): string {
  return `${route.method} ${pathOf(route, settings)}`
}

/**
 * Returns what a step returns. If it rejects the payload of an authenticated request, no hash of this payload exists,
 * so an idempotency record of its key is one of another payload.
 * @throws CONFLICT.idempotency.payload_mismatch instead of VALIDATION.* if the key was used, else what the step throws
 */
export async function orPayloadMismatch<Result>(
  context: RequestContext,
  step: () => Result,
): Promise<Result> {
  try {
    return step()
  } catch (thrown) {
    const { caller, route, request } = context
    const key = request.headers['idempotency-key']
    // Accept belongs to no payload.
    const ofPayload = thrown instanceof Failure && /^VALIDATION\.(?!accept\.)/.test(thrown.code)
    if (!caller || !key || !ofPayload || route.idempotency === 'none') throw thrown
    const keyed = { key: recordKey(caller.tenant, principalOf(caller), routeKey(context), key) }
    const record = await findIdempotencyRecord({ ...context, keyed })
    if (!record) throw thrown
    const counted = await countRequest(context, { body: {} })
    const mismatch = payloadMismatch(record, thrown)
    await counted.countOutcome({ response: { body: undefined }, failure: mismatch })
    throw mismatch
  }
}

/** Returns the expiry of an idempotency record that is created now, in seconds since 1970. */
export function recordExpiry({ now, settings }: Pick<WorkContext, 'now' | 'settings'>): number {
  return Math.ceil(now() / 1000) + settings['idempotency.lifetimeHours'] * 3600
}

/**
 * Hashes everything in a request that decides its effect. A plain hash of a payload with few possible values, such as
 * a code of six digits, can be reversed by trying them all. Confidential routes therefore use a keyed hash.
 */
async function payloadHash(
  { route, scope, derivedKey }: Pick<RequestContext, 'route' | 'scope' | 'derivedKey'>,
  input: Input,
): Promise<string> {
  const { params, query, headers, precondition, reason, body } = input
  const named = Object.values(headers).map((value) => value ?? null)
  const { ifMatch, ifNoneMatch } = precondition
  const sent = [ifMatch ?? null, ifNoneMatch ?? null, reason ?? null, named, body ?? null]
  const hash = fingerprint([route.operation, scope.tenant, params, query, ...sent])
  return route.confidential ? keyedHash(await derivedKey('hashes'), 'payload', hash) : hash
}

/**
 * Returns the owner of a key: the caller, or the identifying parts of an anonymous request (setting
 * idempotency.anonymousScope).
 */
async function ownerOfKey(
  context: Pick<RequestContext, 'caller' | 'source' | 'settings' | 'derivedKey'>,
  { body }: Pick<Input, 'body'>,
): Promise<string> {
  const { caller, source, settings } = context
  if (caller) return principalOf(caller)
  const values = { source, email: (body as { email?: unknown })?.email }
  const parts = settings['idempotency.anonymousScope'].map((part) => String(values[part] ?? ''))
  return keyedHash(await context.derivedKey('hashes'), 'anonymous key', ...parts)
}
