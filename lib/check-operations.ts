import { functionOf, type RouteEntry } from '#functions/routes.ts'
import { leastLoginMilliseconds } from '#shared/login/sign-in.ts'
import { tokenScopes } from '#shared/platform/auth/authorise.ts'
import { takesSession } from '#shared/platform/http/route.ts'
import { hastySunsets } from '#shared/platform/http/sunset.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { SettingKey, Settings } from '#shared/settings/register.ts'
import { missingAddress } from './custom-domain.ts'
import { strayMailDomains } from './mail.ts'
import { ratesBelowThrottles } from './web-acl-rates.ts'

/** The operations that a profile names, by the setting that names them. */
function namedOperations(settings: Settings): [SettingKey, readonly string[]][] {
  return [
    ['auth.mfa', settings['auth.mfa'].operations],
    ['auth.scopes', Object.keys(settings['auth.scopes'])],
    ['auth.operationScopes', Object.keys(settings['auth.operationScopes'])],
    ['auth.sessionOperations', settings['auth.sessionOperations']],
    ['idempotency.requiredOn', settings['idempotency.requiredOn']],
    ['limits.gateway', Object.keys(settings['limits.gateway'].byOperation)],
    ['limits.other', Object.keys(settings['limits.other'])],
    ['versioning.sunset', Object.keys(settings['versioning.sunset'].deprecated)],
  ]
}

/** Operations that share a method at the gateway, which throttles methods, but not in the same way. */
function halfThrottled(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const { byOperation } = settings['limits.gateway']
  const sharing = Map.groupBy(routes, (entry) => functionOf(entry).name)
  return [...sharing.values()].flatMap((entries) => {
    const operations = entries.map(({ route }) => route.operation)
    const throttles = new Set(operations.map((one) => JSON.stringify(byOperation[one])))
    return throttles.size > 1
      ? [`the gateway cannot tell ${operations.join(' and ')} apart, so throttle both alike`]
      : []
  })
}

/** Session operations that need a scope. A session has none, so they would refuse every session. */
function scopedSessions(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const scoped = routes.filter(
    ({ route }) => takesSession(route, settings) && tokenScopes(route, settings).length > 0,
  )
  return scoped.map(({ route }) => `${route.operation} needs a scope, and a session has none`)
}

/** Operations without a principal: one counter would be shared by all callers, so that each could lock out the others. */
function countedWithoutPrincipal(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const counted = routes.filter(
    ({ route }) => route.auth !== 'bearer' && Object.hasOwn(settings['limits.other'], route.operation),
  )
  return counted.map(({ route }) => `${route.operation} has no principal to count by`)
}

/** Logins that nobody could make, as the largest budget of a request is too small for a refusal. */
function hastyLogins(settings: Settings): string[] {
  const least = leastLoginMilliseconds(settings)
  const { maxMilliseconds } = settings['requests.timeoutHeader']
  return maxMilliseconds > least
    ? []
    : [`a login takes ${least} ms, but requests.timeoutHeader allows ${maxMilliseconds} ms`]
}

/**
 * A setting that names an operation wrongly would protect nothing, and nobody would notice; a sunset before its time
 * would be noticed by those who were promised another.
 * @throws ProfileError that names every such setting at once
 */
export function checkOperations(settings: Settings, routes: readonly RouteEntry[], source: string): void {
  const known = new Set(routes.map(({ route }) => route.operation))
  const unknown = namedOperations(settings).flatMap(([key, operations]) =>
    operations.filter((one) => !known.has(one)).map((one) => `  ${key}: there is no operation ${one}`),
  )
  const problems = [
    ...unknown,
    ...scopedSessions(settings, routes).map((one) => `  auth.sessionOperations: ${one}`),
    ...hastySunsets(settings).map((one) => `  versioning.sunset: ${one}`),
    ...halfThrottled(settings, routes).map((one) => `  limits.gateway: ${one}`),
    ...missingAddress(settings).map((one) => `  api.gatewayAddress: ${one}`),
    ...strayMailDomains(settings).map((one) => `  mail.domain: ${one}`),
    ...ratesBelowThrottles(settings, routes).map((one) => `  limits.webAcl: ${one}`),
    ...countedWithoutPrincipal(settings, routes).map((one) => `  limits.other: ${one}`),
    ...hastyLogins(settings).map((one) => `  login.refusalMilliseconds: ${one}`),
  ]
  if (problems.length === 0) return
  const advice = `The operations are ${[...known].sort().join(', ')}.`
  throw new ProfileError(
    `${source}: ${problems.length} setting(s) to put right:\n${problems.join('\n')}\n${advice}`,
  )
}
