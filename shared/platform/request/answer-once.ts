import type { Settings } from '../../settings/register.ts'
import { startBudget } from '../base/budget.ts'
import { keyedHash } from '../base/secrets.ts'
import { type Answer, fingerprint, type KeyedRequest, recordKey } from '../idempotency/record.ts'
import { type Once, type OnceAnswer, replayEarlier, runOnce } from '../idempotency/run-once.ts'
import { principalOf } from '../identity/caller.ts'
import { sourceOf } from '../identity/source.ts'
import type { Checked, Context, Endpoint } from './endpoint.ts'
import { contextOf, type Passage } from './passage.ts'
import { checkRate, isThrottled } from './rate-limit.ts'
import type { Reply } from './reply.ts'
import { errorAnswer, render, toFailure } from './respond.ts'
import { pathOf, type Route } from './route.ts'

/** The minimum time for recording an effect, even after the request's budget; below the function's remaining time. */
const graceMilliseconds = 700

/**
 * Responds to a request with an Idempotency-Key: it takes effect once, however often it is sent. On throttled routes
 * the record is read first, so a replay is neither throttled nor counted. A key with another payload is counted,
 * because the response would confirm a guess.
 */
export async function answerOnce(
  passage: Passage,
  checked: Checked<unknown>,
  idempotencyKey: string,
): Promise<Answer> {
  const { endpoint, settings, caller } = passage
  const { route } = endpoint
  const { tenant } = checked.scope
  const place = placeOf(route, settings)
  const once = onceOf(passage, checked, {
    key: recordKey(caller?.tenant ?? tenant, await keyOwner(passage, checked), place, idempotencyKey),
    payloadHash: await payloadHashOf(passage, checked),
    expiresAt: expiryOf(passage),
  })
  const earlier = isThrottled(passage) ? await replayEarlier(once) : undefined
  const { answer, status } = earlier ?? (await runCounted(once, passage, checked))
  // An endpoint may report a replay of its own, whatever the key.
  const headers = { 'Idempotency-Status': status, ...answer.headers }
  const replayStatus = answer.status < 300 ? route.reply.replayStatus?.(settings) : undefined
  return { ...answer, headers, status: (status === 'replayed' && replayStatus) || answer.status }
}

/** Counts and runs a request. The counts are undone if the request turns out to be a concurrent duplicate. */
async function runCounted(once: Once, passage: Passage, checked: Checked<unknown>): Promise<OnceAnswer> {
  const counted = await checkRate(passage, checked)
  const outcome = await runOnce(once)
  if (outcome.status === 'replayed') await counted.undo()
  else if (outcome.answer.status < 400) await counted.succeed()
  return outcome
}

/** Renders a decision. Its failure is also logged. */
export function renderReply(passage: Passage, reply: Reply): Answer {
  const { endpoint, settings, correlation } = passage
  if (reply.failure) passage.fault = reply.failure
  return render(reply, endpoint.route, settings, correlation)
}

/** Returns the expiry of a record that is created now, in seconds since 1970. */
export function expiryOf({ clock, settings }: Pick<Passage, 'clock' | 'settings'>): number {
  return Math.floor(clock.now() / 1000) + settings['idempotency.lifetimeHours'] * 3600
}

/** Returns the input of `runOnce` for a request. */
export function onceOf(passage: Passage, checked: Checked<unknown>, keyed: KeyedRequest): Once {
  const { endpoint, runtime, clock, correlation, budget } = passage
  const context = contextOf(passage)
  return {
    ...passage,
    keyed,
    operation: endpoint.route.operation,
    perform: async () => endpoint.perform(checked as Checked<never>, context),
    proceed: (resume) => proceed(endpoint, resume, checked, context),
    render: (reply) => renderReply(passage, reply),
    renderFault: (fault) => {
      passage.fault = toFailure(fault)
      return errorAnswer(passage.fault, correlation, passage.settings)
    },
    afterwards: () => runtime.openTable(startBudget(clock, Math.max(budget.remaining(), graceMilliseconds))),
  }
}

/** Carries out an intent. */
export async function proceed(
  { route, proceed: carryOut }: Endpoint,
  resume: Record<string, unknown>,
  checked: Checked<unknown>,
  context: Context,
): Promise<Reply> {
  if (!carryOut) throw new Error(`${route.operation} returns intents without a way to proceed`)
  return carryOut(resume, checked as Checked<never>, context)
}

/** Returns the key scope besides the principal: operations that share a route share their keys. */
function placeOf(route: Route, settings: Settings): string {
  return `${route.method} ${pathOf(route, settings)}`
}

/**
 * Hashes everything in a request that decides its effect. A plain hash of a payload with few possible values, such as
 * a code of six digits, can be reversed by trying them all. Confidential routes therefore use a keyed hash.
 */
async function payloadHashOf(passage: Passage, checked: Checked<unknown>): Promise<string> {
  const { settings, runtime, budget } = passage
  const { route } = passage.endpoint
  const { scope, params, query, headers, ifMatch, reason, body } = checked
  const named = route.payloadHeaders?.(settings).map((name) => headers[name.toLowerCase()] ?? null) ?? []
  const given = [ifMatch ?? null, reason ?? null, named, body ?? null]
  const hash = fingerprint([route.operation, scope.tenant, params, query, ...given])
  return route.confidential ? keyedHash(await runtime.derivedKey('payloads v1', budget), hash) : hash
}

/**
 * Returns the owner of a key: the caller, or the identifying parts of an anonymous request (setting
 * idempotency.anonymousScope).
 */
async function keyOwner(passage: Passage, { body }: Checked<unknown>): Promise<string> {
  const { caller, request, runtime, settings, budget } = passage
  if (caller) return principalOf(caller)
  const values = { source: sourceOf(request), email: (body as { email?: unknown })?.email }
  const parts = settings['idempotency.anonymousScope'].map((part) => String(values[part] ?? ''))
  return keyedHash(await runtime.derivedKey('anonymous keys v1', budget), ...parts)
}
