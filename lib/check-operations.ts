import { functionOf, type RouteEntry } from '#functions/routes.ts'
import { minLoginMilliseconds } from '#shared/login/sign-in.ts'
import { Order } from '#shared/orders/order.ts'
import { tokenScopes } from '#shared/platform/identity/authorize.ts'
import { prematureSunsets } from '#shared/platform/request/respond.ts'
import { gatewayPathOf, takesSession } from '#shared/platform/request/route.ts'
import { Refund } from '#shared/refunds/refund.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { SettingKey, Settings } from '#shared/settings/register.ts'
import { pathRates } from './gateway/rate-rules.ts'

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

/** Finds session operations that need a scope. A session has no scopes, so they would reject every session. */
function scopedSessions(settings: Settings, routes: readonly RouteEntry[]): string[] {
  const scoped = routes.filter(
    ({ route }) => takesSession(route, settings) && tokenScopes(route, settings).length > 0,
  )
  return scoped.map(({ route }) => `${route.operation} needs a scope, and a session has none`)
}

/**
 * Finds operations that cannot be counted as the setting says. Without a principal, all callers would share one counter,
 * so each could lock out the others. An address is stored as a hash with a key of the deployment.
 */
function unsupportedCounters(settings: Settings, routes: readonly RouteEntry[]): string[] {
  return routes.flatMap(({ route: { auth, operation, uses } }) => {
    const kinds = new Set(settings['limits.other'][operation]?.map(({ per }) => per))
    return [
      ...(kinds.has('principal') && auth !== 'bearer' ? [`${operation} has no principal to count by`] : []),
      ...(kinds.has('source') && !uses.includes('secret.read')
        ? [`${operation} has no secret to hash a source with`]
        : []),
    ]
  })
}

/** Finds fields that no resource has. */
function unknownFields(settings: Settings): string[] {
  const named = [
    ['orders.fields', Order.names],
    ['refunds.fields', Refund.names],
  ] as const
  return named.flatMap(([key, names]) => {
    const shown = settings[key] === 'all' ? [] : settings[key]
    const unknown = shown.filter((one) => !names.some((name) => name === one))
    return unknown.map((one) => `${key}: ${one} is none of ${names.join(', ')}`)
  })
}

/** Finds time limits of requests that no login could satisfy: they are shorter than a rejection. */
function timeLimitsBelowLogin(settings: Settings): string[] {
  const least = minLoginMilliseconds(settings)
  const { minMilliseconds } = settings['requests.timeoutHeader']
  return minMilliseconds > least
    ? []
    : [`a login takes ${least} ms, but requests.timeoutHeader permits a limit of ${minMilliseconds} ms`]
}

/** Returns the problem with an issuer of cart owners whose tokens nobody can have. */
function unknownOwners(settings: Settings): string[] {
  const known = ['user_pool', 'sessions', ...settings['auth.issuers'].map(({ issuer }) => issuer)]
  const name = settings['discount.cartOwners']
  return known.includes(name) ? [] : [`${name} is none of ${known.join(', ')}`]
}

/** Returns the problem with settings that leave the API without an address. */
function missingAddress(settings: Settings): string[] {
  return settings['api.gatewayAddress'] === 'closed' && settings['api.domain'] === null
    ? ['closed needs a domain in api.domain, as the API has no other address']
    : []
}

/** Returns the problem with a certificate that the gateway cannot use. A deployment would fail after minutes. */
function foreignCertificate(settings: Settings): string[] {
  const { 'api.domain': domain, 'aws.environment': environment } = settings
  const region = domain?.certificateArn.split(':')[3]
  return environment && region !== undefined && region !== environment.region
    ? [`the certificate is in ${region}: request one in ${environment.region}, the region of the stack`]
    : []
}

/** Finds a sender or a MAIL FROM domain outside the domain that SES signs for. @returns a sentence for each */
export function mailDomainsOutsideIdentity(settings: Settings): string[] {
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

/**
 * Rejects settings that name an unknown operation, which would silently protect nothing, settings that leave out an
 * operation, and routes that the gateway cannot serve.
 * @throws ProfileError that names every such setting at once
 */
export function checkOperations(settings: Settings, routes: readonly RouteEntry[], source: string): void {
  const known = new Set(routes.map(({ route }) => route.operation))
  const unknown = namedOperations(settings).flatMap(([key, operations]) =>
    operations.filter((one) => !known.has(one)).map((one) => `  ${key}: there is no operation ${one}`),
  )
  const problems = [
    ...unknown,
    ...missingKeyScopes(settings, routes).map((one) => `  auth.operationScopes: ${one}`),
    ...ambiguousRoutes(settings, routes).map((one) => `  functions/routes.ts: ${one}`),
    ...ambiguousVariables(settings, routes).map((one) => `  functions/routes.ts: ${one}`),
    ...scopedSessions(settings, routes).map((one) => `  auth.sessionOperations: ${one}`),
    ...prematureSunsets(settings).map((one) => `  versioning.sunset: ${one}`),
    ...conflictingThrottles(settings, routes).map((one) => `  limits.gateway: ${one}`),
    ...missingAddress(settings).map((one) => `  api.gatewayAddress: ${one}`),
    ...foreignCertificate(settings).map((one) => `  api.domain: ${one}`),
    ...mailDomainsOutsideIdentity(settings).map((one) => `  mail.domain: ${one}`),
    ...unknownOwners(settings).map((one) => `  discount.cartOwners: ${one}`),
    ...ratesBelowThrottles(settings, routes).map((one) => `  limits.webAcl: ${one}`),
    ...unsupportedCounters(settings, routes).map((one) => `  limits.other: ${one}`),
    ...unknownFields(settings).map((one) => `  ${one}`),
    ...timeLimitsBelowLogin(settings).map((one) => `  login.refusalMilliseconds: ${one}`),
  ]
  if (problems.length === 0) return
  const advice = unknown.length > 0 ? [`The operations are ${[...known].sort().join(', ')}.`] : []
  throw new ProfileError(
    [`${source}: ${problems.length} problem(s) to fix:`, ...problems, ...advice].join('\n'),
  )
}
