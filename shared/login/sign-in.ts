import { personOf } from '../identity/person.ts'
import { timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { Decision, Effects } from '../platform/idempotency/decision.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { rejection } from '../platform/request/endpoint.ts'
import { keyOf, maxShards, tenantPattern } from '../platform/table/keys.ts'
import { create } from '../platform/table/table.ts'
import type { Credentials, IdentityProvider } from './identity-provider.ts'
import type { Tokens } from './login.ts'
import { type LoginSubject, loginEvent } from './login-events.ts'

/** How long the item of a login is kept, in seconds. It only carries the event. */
const retentionSeconds = 24 * 3600

/** How much of a request's time is reserved to record its outcome, in milliseconds. */
const recordMilliseconds = 500

/**
 * The minimum duration of a rejected login, in milliseconds. It hides the state of the account: the provider refuses some
 * accounts faster than others. A person does not notice it.
 */
export const refusalMilliseconds = 400

/**
 * The minimum time for a login, in milliseconds. With less, a caller could distinguish accounts by the moment of the
 * timeout, and could try passwords while the wrong ones are not recorded.
 */
export const minLoginMilliseconds = refusalMilliseconds + recordMilliseconds

/**
 * Logs a user in. Every rejection by the provider takes one call, one write, one response and the same minimum time,
 * whatever the state of the account. Every outcome is published as an event; only the caller gets the tokens.
 * @returns the tokens, or AUTH.invalid_credentials, POLICY.account.locked,
 * POLICY.mfa.required, POLICY.password.change_required
 * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout
 */
export async function signIn(
  credentials: Credentials,
  provider: IdentityProvider,
  context: Pick<RequestContext, 'settings' | 'budget' | 'now' | 'sleep' | 'derivedKey' | 'newId'>,
): Promise<Decision<Tokens>> {
  const { settings, budget, now, sleep } = context
  const startedAt = now()
  const person = await personOf(credentials.email, settings, context.derivedKey)
  const effectsOf = loginEffects(context)
  const refused = () => effectsOf('fail', { tenant_id: settings['auth.publicTenant'], ...person })
  if (budget.remaining() < minLoginMilliseconds) throw fail('DEPENDENCY.timeout')
  const outcome = await provider.signIn(credentials, budget)
  if ('rejection' in outcome) {
    // The provider refuses some accounts faster than others.
    await sleep(Math.max(0, startedAt + refusalMilliseconds - now()))
    return rejection(outcome.rejection, refused())
  }
  const { tokens } = outcome
  const user = subjectOf(tokens)
  // A user without a tenant could do nothing with a token.
  if (user === undefined) return rejection(fail('POLICY.account.locked'), refused())
  const success = effectsOf('success', { ...person, ...user })
  return { status: settings['login.shape'].status, body: tokens, ...success }
}

/** Returns a function that builds the event of the login and the item that carries it. */
function loginEffects({ now, newId }: Pick<RequestContext, 'now' | 'newId'>) {
  return (outcome: 'success' | 'fail', of: Omit<LoginSubject, 'id'>): Effects => {
    const id = newId(maxShards)
    const item = {
      ...keyOf(of.tenant_id, 'login', id),
      at: timestamp(now()),
      expires_at: Math.floor(now() / 1000) + retentionSeconds,
    }
    return { writes: [create(item)], events: [loginEvent(outcome, { id, ...of })] }
  }
}

/**
 * Returns the user that the token names, if it has a tenant. The token comes directly from the provider, so it needs no
 * verification.
 */
function subjectOf({ access_token }: Tokens): Pick<LoginSubject, 'tenant_id' | 'user_id'> | undefined {
  const [, payload = ''] = access_token.split('.')
  try {
    const { tenant, sub } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    const isKnown = typeof tenant === 'string' && tenantPattern.test(tenant) && typeof sub === 'string'
    return isKnown ? { tenant_id: tenant, user_id: sub } : undefined
  } catch {
    return undefined
  }
}
