import { functionOf, type RouteEntry } from '#functions/routes.ts'
import { minLoginMilliseconds } from '#shared/login/sign-in.ts'
import { Order } from '#shared/orders/order.ts'
import { permissions, tenantReachOf, tokenScopes } from '#shared/platform/identity/authorize.ts'
import { listParameters } from '#shared/platform/listing/list-query.ts'
import { prematureSunsets } from '#shared/platform/request/respond.ts'
import { gatewayPathOf } from '#shared/platform/request/route.ts'
import { Refund } from '#shared/refunds/refund.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { SettingKey, Settings } from '#shared/settings/register.ts'
import { pathRates } from '../gateway/rate-rules.ts'

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
    ['limits.provisionedConcurrency', Object.keys(settings['limits.provisionedConcurrency'])],
    ['versioning.sunset', Object.keys(settings['versioning.sunset'].deprecated)],
  ]
}

/**
 * Finds throttled operations that share a gateway method with differently throttled ones. The gateway throttles
 * methods.
 */
function conflictingThrottles(settings: Settings, routes: readonly RouteEntry[]): string[] {
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

/** Finds operations without a decision about API keys. A missing scope would silently deny the operation to every key. */
function missingKeyScopes(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const undecided = routes.filter(
    ({ route }) => route.auth === 'bearer' && settings['auth.operationScopes'][route.operation] === undefined,
  )
  return undecided.map(
    ({ route }) => `add the scope that an API key needs for ${route.operation}, or null if no key may use it`,
  )
}

/** Finds scopes of operations that no API key can use: its role is Service, and it has no second factor. */
function uselessKeyScopes(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const { actsAs } = settings['auth.serviceRole']
  return routes.flatMap(({ route: { operation, auth, access } }) => {
    if ((settings['auth.operationScopes'][operation] ?? null) === null) return []
    if (auth !== 'bearer') return [withoutCaller(operation)]
    const isDenied = !access || tenantReachOf('Service', access, actsAs) === 'deny'
    return [
      ...(isDenied ? [`${operation} is not for the role Service, which acts as ${actsAs}: say null`] : []),
      ...(settings['auth.mfa'].operations.includes(operation)
        ? [`${operation} requires a second factor (auth.mfa), and an API key has none: say null`]
        : []),
    ]
  })
}

/** Finds routes that the gateway cannot distinguish and that different functions would handle. */
function ambiguousRoutes(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const atMethod = Map.groupBy(routes, ({ route }) => `${route.method} ${gatewayPathOf(route, settings)}`)
  return [...atMethod].flatMap(([method, entries]) => {
    const operations = entries.map(({ route }) => route.operation)
    return new Set(entries.map((entry) => functionOf(entry).name)).size > 1
      ? [
          `${operations.join(' and ')} are ${method} at the gateway: give them one path each, or one sharedFunction`,
        ]
      : []
  })
}

/** Finds path variables in one place with different names, which the gateway rejects. */
function ambiguousVariables(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const paths = routes.map(({ route }) => gatewayPathOf(route, settings))
  const variables = paths.flatMap((path) =>
    Array.from(path.matchAll(/\{\w+\}/g), ({ 0: name, index }) => path.slice(0, index + name.length)),
  )
  const inPlace = Map.groupBy(new Set(variables), (path) => path.slice(0, path.lastIndexOf('/')))
  return [...inPlace.values()].flatMap((names) =>
    names.length > 1 ? [`${names.join(' and ')} differ only in the name of a variable: use one name`] : [],
  )
}

/** Finds operations that no session could use: a session is a Viewer without scopes. */
function sessionOperations(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const isNamed = ({ route }: RouteEntry) => settings['auth.sessionOperations'].includes(route.operation)
  return routes.filter(isNamed).flatMap(({ route }) => {
    const { operation, auth, access } = route
    if (auth !== 'bearer') return [withoutCaller(operation)]
    return [
      ...(tokenScopes(route, settings).length > 0
        ? [`${operation} needs a scope, and a session has none`]
        : []),
      ...(access && permissions[access].Viewer === 'deny'
        ? [`${operation} is not for a Viewer, the role of a session`]
        : []),
    ]
  })
}

function withoutCaller(operation: string): string {
  return `${operation} takes no token, so there is nothing to decide`
}

/** Finds operations whose callers need no token, so a second factor of theirs would not be checked. */
function factors(settings: Settings, routes: readonly RouteEntry[]): string[] {
  return settings['auth.mfa'].operations
    .filter((one) => routes.some(({ route }) => route.operation === one && route.auth !== 'bearer'))
    .map(withoutCaller)
}

/** Finds scopes of tokens that would not be checked. */
function scopes(settings: Settings, routes: readonly RouteEntry[]): string[] {
  return routes.flatMap(({ route: { operation, auth, scope } }) => {
    if (settings['auth.scopes'][operation] === undefined) return []
    if (auth !== 'bearer') return [withoutCaller(operation)]
    return scope ? [`${operation} has the fixed scope ${scope}`] : []
  })
}

/** Finds scopes that a login grants and no operation needs of a token. */
function grantedScopes(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const needed = new Set(routes.flatMap(({ route }) => tokenScopes(route, settings)))
  return Object.entries(settings['login.scopes']).flatMap(([role, granted]) =>
    granted
      .filter((scope) => !needed.has(scope))
      .map(
        (scope) =>
          `${role} gets ${scope}, which no operation needs: they need ${[...needed].sort().join(', ')}`,
      ),
  )
}

/** Finds operations that require a key anyway, or take none. */
function keyedOperations(settings: Settings, routes: readonly RouteEntry[]): string[] {
  return routes.flatMap(({ route: { operation, idempotency } }) =>
    settings['idempotency.requiredOn'].includes(operation) && idempotency !== 'accepted'
      ? [idempotency === 'required' ? `${operation} requires a key anyway` : `${operation} takes no key`]
      : [],
  )
}

/** Finds a parameter that selects a tenant and has another meaning for an operation. */
function tenantParameter(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const name = settings['auth.adminTenantParameter']
  const users = routes.filter(({ route }) => {
    const { entries = {} } = (route.query?.(settings) ?? {}) as { entries?: object }
    return (
      Object.keys({ ...entries, ...route.listing?.fields }).includes(name) ||
      (route.listing && listParameters.includes(name))
    )
  })
  return users.map(({ route }) => `${name} has another meaning for ${route.operation}`)
}

/**
 * Finds operations that cannot be counted as the setting says. Without a principal or a tenant, all callers would share one
 * counter, so each could lock out the others. An address is stored as a hash with a key of the deployment.
 */
function unsupportedCounters(settings: Settings, routes: readonly RouteEntry[]): string[] {
  return routes.flatMap(({ route: { auth, operation, uses } }) => {
    const kinds = new Set(settings['limits.other'][operation]?.map(({ per }) => per))
    return [
      ...(['principal', 'tenant'] as const)
        .filter((kind) => kinds.has(kind) && auth !== 'bearer')
        .map((kind) => `${operation} has no ${kind} to count by`),
      ...(kinds.has('source') && !uses.includes('secret.hashes')
        ? [`${operation} has no secret to hash a source with`]
        : []),
    ]
  })
}

/** Finds fields that a resource does not have. */
function unknownFields(shown: Settings['orders.fields'], names: readonly string[]): string[] {
  const unknown = shown === 'all' ? [] : shown.filter((one) => !names.includes(one))
  return unknown.map((one) => `${one} is none of ${names.join(', ')}`)
}

/** Finds time limits of requests that no login could satisfy: they are shorter than a rejection. */
function timeLimitsBelowLogin(settings: Settings): string[] {
  const { minMilliseconds } = settings['requests.timeoutHeader']
  return minMilliseconds > minLoginMilliseconds
    ? []
    : [`minMilliseconds is ${minMilliseconds}, but a login takes ${minLoginMilliseconds} ms: choose more`]
}

/**
 * Finds rates of the web ACL that are not above the service's own throttles of the same route. The service must reject
 * first: it knows the caller, and its 429 says when to retry.
 * @returns a sentence for each
 */
export function ratesBelowThrottles(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const rates = [
    ...pathRates,
    ...(['anonymous', 'addresses'] as const).map((limit) => ({ path: '/', limit })),
  ]
  return rates.flatMap(({ path, limit }) =>
    routes.flatMap(({ route }) => {
      const throttles = route.auth === 'none' && route.throttle?.(settings)
      if (!throttles || !gatewayPathOf(route, settings).startsWith(path)) return []
      const { requests, windowSeconds } = settings['limits.webAcl'][limit]
      const allowed = Math.max(...throttles.map((one) => one.limit / one.windowSeconds)) * windowSeconds
      return requests > allowed
        ? []
        : [
            `${limit} allows ${requests} requests in ${windowSeconds} s, but ${route.operation} itself allows ${allowed}: choose more`,
          ]
    }),
  )
}

/** What settings must not say about the routes, by the setting that a message names. */
const checks: readonly [string, (settings: Settings, routes: readonly RouteEntry[]) => string[]][] = [
  ['auth.operationScopes', missingKeyScopes],
  ['auth.operationScopes', uselessKeyScopes],
  ['functions/routes.ts', ambiguousRoutes],
  ['functions/routes.ts', ambiguousVariables],
  ['auth.sessionOperations', sessionOperations],
  ['auth.mfa', factors],
  ['auth.scopes', scopes],
  ['auth.adminTenantParameter', tenantParameter],
  ['login.scopes', grantedScopes],
  ['idempotency.requiredOn', keyedOperations],
  ['versioning.sunset', prematureSunsets],
  ['limits.gateway', conflictingThrottles],
  ['limits.webAcl', ratesBelowThrottles],
  ['limits.other', unsupportedCounters],
  ['requests.timeoutHeader', timeLimitsBelowLogin],
  ['orders.fields', (settings) => unknownFields(settings['orders.fields'], Order.names)],
  ['refunds.fields', (settings) => unknownFields(settings['refunds.fields'], Refund.names)],
]

/**
 * Rejects settings that name an operation which is unknown, or for which they would have no effect, settings that leave
 * out an operation, and routes that the gateway cannot serve.
 * @throws ProfileError that names every such setting at once
 */
export function checkOperations(settings: Settings, routes: readonly RouteEntry[], source: string): void {
  const known = new Set(routes.map(({ route }) => route.operation))
  const unknown = namedOperations(settings).flatMap(([key, operations]) =>
    operations.filter((one) => !known.has(one)).map((one) => `  ${key}: there is no operation ${one}`),
  )
  const problems = [
    ...unknown,
    ...checks.flatMap(([key, find]) => find(settings, routes).map((problem) => `  ${key}: ${problem}`)),
  ]
  if (problems.length === 0) return
  const advice = unknown.length > 0 ? [`The operations are ${[...known].sort().join(', ')}.`] : []
  throw new ProfileError(
    [`${source}: ${problems.length} problem(s) to fix:`, ...problems, ...advice].join('\n'),
  )
}
