import { functionOf, type RouteEntry } from '#functions/routes.ts'
import { minLoginMilliseconds } from '#shared/login/sign-in.ts'
import { tokenScopes } from '#shared/platform/identity/authorize.ts'
import { hastySunsets } from '#shared/platform/request/respond.ts'
import { gatewayPathOf, takesSession } from '#shared/platform/request/route.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { SettingKey, Settings } from '#shared/settings/register.ts'
import { rateRules } from './web-acl.ts'

/** Returns the operations that a profile names, by setting. */
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

/**
 * Finds throttled operations that share a gateway method with differently throttled ones. The gateway throttles
 * methods.
 */
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

/** Finds session operations that need a scope. A session has no scopes, so they would reject every session. */
function scopedSessions(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const scoped = routes.filter(
    ({ route }) => takesSession(route, settings) && tokenScopes(route, settings).length > 0,
  )
  return scoped.map(({ route }) => `${route.operation} needs a scope, and a session has none`)
}

/**
 * Finds counted operations without a principal. All callers would share one counter, so each could lock out the others.
 */
function countedWithoutPrincipal(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const counted = routes.filter(
    ({ route }) => route.auth !== 'bearer' && Object.hasOwn(settings['limits.other'], route.operation),
  )
  return counted.map(({ route }) => `${route.operation} has no principal to count by`)
}

/** Finds login settings that no login could satisfy: the largest request budget is shorter than a rejection. */
function hastyLogins(settings: Settings): string[] {
  const least = minLoginMilliseconds(settings)
  const { maxMilliseconds } = settings['requests.timeoutHeader']
  return maxMilliseconds > least
    ? []
    : [`a login takes ${least} ms, but requests.timeoutHeader allows ${maxMilliseconds} ms`]
}

/** Returns the problem with settings that leave the API without an address. */
function missingAddress(settings: Settings): string[] {
  return settings['api.gatewayAddress'] === 'closed' && settings['api.domain'] === null
    ? ['closed needs a domain in api.domain, as the API has no other address']
    : []
}

/** Finds a sender or a MAIL FROM domain outside the domain that SES signs for. @returns a sentence for each */
export function strayMailDomains(settings: Settings): string[] {
  const domain = settings['mail.domain']
  if (!domain) return []
  const within = (host: string) => host === domain.identity || host.endsWith(`.${domain.identity}`)
  const sender = settings['otp.mail'].from.split('@').at(-1) ?? ''
  return [
    ...(within(sender) ? [] : [`otp.mail sends from ${sender}, which is not in ${domain.identity}`]),
    ...(within(domain.mailFrom) && domain.mailFrom !== domain.identity
      ? []
      : [`mailFrom has to be a subdomain of ${domain.identity}`]),
  ]
}

/**
 * Finds rates of the web ACL that are not above the service's own throttles of the same route. The service must reject
 * first: it knows the caller, and its 429 says when to retry.
 * @returns a sentence for each
 */
export function ratesBelowThrottles(settings: Settings, routes: readonly RouteEntry[]): string[] {
  return rateRules.flatMap(({ path, limit }) =>
    routes.flatMap(({ route }) => {
      const throttles = route.throttle?.(settings)
      if (!throttles || !gatewayPathOf(route, settings).startsWith(path)) return []
      const { requests, windowSeconds } = settings['limits.webAcl'][limit]
      const rates = throttles.map((throttle) => throttle.limit / throttle.windowSeconds)
      const allowed = Math.max(...rates) * windowSeconds
      return requests > allowed
        ? []
        : [
            `${limit} allows ${requests} requests in ${windowSeconds} s, but ${route.operation} itself allows ${allowed}: choose more`,
          ]
    }),
  )
}

/**
 * Rejects settings that name an unknown operation, which would silently protect nothing, and sunsets that are earlier
 * than promised to callers.
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
    `${source}: ${problems.length} setting(s) to fix:\n${problems.join('\n')}\n${advice}`,
  )
}
