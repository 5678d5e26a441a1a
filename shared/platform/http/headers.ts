import type { Settings } from '../../settings/register.ts'

/** The security headers of every response, including the gateway's own. */
export const securityHeaders = {
  'Content-Security-Policy': "default-src 'self'; frame-ancestors 'none'",
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
} as const

/** The request headers that browsers may send to every operation. */
export const requestHeaders = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'X-Correlation-Id',
  'X-Request-Timeout',
  'traceparent',
  'tracestate',
  'baggage',
] as const

const exposedHeaders = [
  'X-Correlation-Id',
  'ETag',
  'Idempotency-Status',
  'Location',
  'Retry-After',
  'WWW-Authenticate',
  // API Gateway renames WWW-Authenticate in a function's response to this.
  'x-amzn-Remapped-WWW-Authenticate',
  'Content-Disposition',
  'Deprecation',
  'Sunset',
  'traceparent',
  'tracestate',
  'baggage',
].join(', ')

/**
 * Returns the CORS headers for an origin: none unless it is on the allow-list, and never a wildcard.
 * @param cookies whether the operation uses cookies
 */
export function corsHeaders(
  origin: string | undefined,
  settings: Settings,
  cookies: boolean,
): Record<string, string> {
  if (origin === undefined || !settings['cors.allowedOrigins'].includes(origin)) return { Vary: 'Origin' }
  return {
    'Access-Control-Allow-Origin': origin,
    ...(cookies && { 'Access-Control-Allow-Credentials': 'true' }),
    'Access-Control-Expose-Headers': exposedHeaders,
    Vary: 'Origin',
  }
}

/** Returns the headers of a preflight response for a path with these methods. */
export function preflightHeaders(
  origin: string | undefined,
  methods: readonly string[],
  settings: Settings,
  cookies: boolean,
): Record<string, string> {
  const allowed = corsHeaders(origin, settings, cookies)
  if (!('Access-Control-Allow-Origin' in allowed)) return allowed
  const own = [
    settings['auth.nonce'].header,
    settings['codes.hardDeleteReason'].header,
    settings['discount.cart'].header,
    settings['auth.apiKeyHeader'],
    settings['auth.csrf'].header,
  ]
  return {
    ...allowed,
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': [...requestHeaders, ...own].join(', '),
    'Access-Control-Max-Age': '600',
  }
}
