import type { CfnWebACL } from 'aws-cdk-lib/aws-wafv2'
import type { RouteEntry } from '#functions/routes.ts'
import { envelope, fail } from '#shared/platform/base/failure.ts'
import { sessionCookie } from '#shared/platform/identity/session.ts'
import { securityHeaders } from '#shared/platform/request/respond.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'

export type Rule = Omit<CfnWebACL.RuleProperty, 'priority'>
type Rate = Settings['limits.webAcl']['anonymous']
type Statement = CfnWebACL.StatementProperty

/** A rate of the web ACL for each source address, on the paths that contain `path`. */
interface PathRate {
  name: string
  path: string
  limit: 'logins' | 'passwordResets' | 'oneTimeCodes'
  /** Asks for a CAPTCHA instead of blocking: a browser that solves it continues. */
  captcha: boolean
}

export const pathRates: readonly PathRate[] = [
  { name: 'Logins', path: '/login', limit: 'logins', captcha: true },
  { name: 'PasswordResets', path: '/password/reset', limit: 'passwordResets', captcha: false },
  { name: 'OneTimeCodes', path: '/otp/', limit: 'oneTimeCodes', captcha: false },
]

/**
 * Returns the rate rules: logins, password resets and one-time codes by source address, all anonymous requests by source
 * address, and all others by credential. A credential has its own rule for each place in which it is sent, so a second,
 * invented credential does not start a new count. The web ACL cannot verify credentials or signatures, so a sender may
 * invent one for each request. Therefore each address has a limit, too: one for webhooks, because few addresses send all of
 * them, and one for all other requests.
 */
export function rateRules(routes: readonly RouteEntry[], settings: Settings): Rule[] {
  const { anonymous, credentials, addresses, webhooks, retryAfterSeconds } = settings['limits.webAcl']
  const signed = hasPath(pathsOf('signature', routes, settings))
  const action = tooManyRequests(retryAfterSeconds)
  const named = { textTransformations: transformations('COMPRESS_WHITE_SPACE', 'LOWERCASE') }
  const rule = (name: string, statement: Statement): Rule => ({
    name,
    action,
    statement,
    visibilityConfig: visible(name),
  })
  return [
    ...pathRates.map((rate) => pathRule(rate, settings)),
    rule('AnonymousRequests', byAddress(anonymous, anonymousRequests(routes, settings))),
    rule('Tokens', byKey(credentials, { header: { name: 'authorization', ...named } })),
    rule('ApiKeys', byKey(credentials, { header: { name: apiKeyHeader(settings), ...named } })),
    rule('Sessions', byKey(credentials, { cookie: { name: sessionCookie, ...named } })),
    rule('Addresses', byAddress(addresses, not(signed))),
    rule('Webhooks', byAddress(webhooks, signed)),
  ]
}

/** Returns the condition that a source address sends more requests than allowed. */
export function byAddress(rate: Rate, scopeDownStatement?: Statement): Statement {
  const limit = { ...limitOf(rate), aggregateKeyType: 'IP' }
  return { rateBasedStatement: { ...limit, ...(scopeDownStatement && { scopeDownStatement }) } }
}

/** Returns the condition that requests with one value are more than allowed. Requests without a value are not counted. */
function byKey(rate: Rate, key: CfnWebACL.RateBasedStatementCustomKeyProperty): Statement {
  return { rateBasedStatement: { ...limitOf(rate), aggregateKeyType: 'CUSTOM_KEYS', customKeys: [key] } }
}

function limitOf({ requests, windowSeconds }: Rate) {
  return { limit: requests, evaluationWindowSec: windowSeconds }
}

/**
 * Returns the condition for requests that no credential identifies: those of anonymous routes, whatever they carry, and
 * those that carry none. Webhooks have a rule of their own.
 */
function anonymousRequests(routes: readonly RouteEntry[], settings: Settings): Statement {
  const cookies = { matchPattern: { includedCookies: [sessionCookie] }, matchScope: 'VALUE' }
  // CDK does not translate the members of singleHeader.
  const credentials = [
    { singleHeader: { Name: 'authorization' } },
    { singleHeader: { Name: apiKeyHeader(settings) } },
    { cookies: { ...cookies, oversizeHandling: 'CONTINUE' } },
  ]
  const carried = [...credentials.map(isPresent), hasPath(pathsOf('signature', routes, settings))]
  const withoutAny = { andStatement: { statements: carried.map((statement) => not(statement)) } }
  return { orStatement: { statements: [hasPath(pathsOf('none', routes, settings)), withoutAny] } }
}

function pathsOf(auth: Route['auth'], routes: readonly RouteEntry[], settings: Settings): string[] {
  return routes.flatMap(({ route }) => (route.auth === auth ? [pathOf(route, settings)] : []))
}

function apiKeyHeader(settings: Settings): string {
  return settings['auth.apiKeyHeader'].toLowerCase()
}

const not = (statement: Statement): Statement => ({ notStatement: { statement } })

function isPresent(fieldToMatch: CfnWebACL.FieldToMatchProperty): Statement {
  const textTransformations = transformations('NONE')
  return { sizeConstraintStatement: { fieldToMatch, comparisonOperator: 'GT', size: 0, textTransformations } }
}

/** The gateway's own address has the stage before the path and accepts a trailing slash. */
function hasPath(paths: readonly string[]): Statement {
  const literal = paths.map((path) => path.replaceAll('.', '\\.'))
  return {
    regexMatchStatement: {
      regexString: `^(/[^/]+)?(${literal.join('|')})/?$`,
      fieldToMatch: { uriPath: {} },
      textTransformations: transformations('URL_DECODE'),
    },
  }
}

function transformations(...types: string[]): CfnWebACL.TextTransformationProperty[] {
  return types.map((type, priority) => ({ priority, type }))
}

/** Returns a rate rule by source address, for POST only: a preflight is not an attempt. */
function pathRule({ name, path, limit, captcha }: PathRate, settings: Settings): Rule {
  const limits = settings['limits.webAcl']
  const matching = (positionalConstraint: string, searchString: string) => ({
    positionalConstraint,
    searchString,
  })
  const [post, below] = [matching('EXACTLY', 'POST'), matching('CONTAINS', path)]
  const statements = [
    { ...post, fieldToMatch: { method: {} }, textTransformations: transformations('NONE') },
    { ...below, fieldToMatch: { uriPath: {} }, textTransformations: transformations('URL_DECODE') },
  ].map((byteMatchStatement) => ({ byteMatchStatement }))
  return {
    name,
    action: captcha ? { captcha: {} } : tooManyRequests(limits.retryAfterSeconds),
    statement: byAddress(limits[limit], { andStatement: { statements } }),
    visibilityConfig: visible(name),
  }
}

/** WAF sends constant texts: it knows neither the caller's correlation id nor the gateway's request id. */
const correlationId = 'web-acl'
export function tooManyRequestsBody(settings: Settings): string {
  return JSON.stringify(envelope(fail('RATE_LIMIT.exceeded'), correlationId, settings['errors.docs']))
}

/**
 * Returns a block action with 429 in the error envelope. A custom response of WAF takes precedence over the gateway's
 * WAF_FILTERED response, which has one status, 403, for all rules.
 */
function tooManyRequests(retryAfterSeconds: number): CfnWebACL.RuleActionProperty {
  const headers = {
    ...securityHeaders,
    'Cache-Control': 'no-store',
    Vary: 'Origin',
    'X-Correlation-Id': correlationId,
    'Retry-After': String(retryAfterSeconds),
  }
  const responseHeaders = Object.entries(headers).map(([name, value]) => ({ name, value }))
  return {
    block: {
      customResponse: { responseCode: 429, customResponseBodyKey: 'TooManyRequests', responseHeaders },
    },
  }
}

/** Returns a configuration without samples, which would show requests with their headers. */
export function visible(metricName: string): CfnWebACL.VisibilityConfigProperty {
  return { metricName, cloudWatchMetricsEnabled: true, sampledRequestsEnabled: false }
}
