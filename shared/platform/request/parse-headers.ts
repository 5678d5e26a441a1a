import { parse } from 'content-type'
import type { Settings } from '../../settings/register.ts'
import { fail, failField } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import type { Route } from './route.ts'

const wholeNumber = /^[1-9][0-9]{0,8}$/

/**
 * Returns the time limit of a request in milliseconds: X-Request-Timeout, up to the maximum of the deployment.
 */
export function timeBudget(headers: HttpRequest['headers'], settings: Settings): number {
  const { unit, maxMilliseconds } = settings['requests.timeoutHeader']
  const given = headers['x-request-timeout'] ?? ''
  if (!wholeNumber.test(given)) return maxMilliseconds
  return Math.min(Number(given) * (unit === 'seconds' ? 1000 : 1), maxMilliseconds)
}

/** @throws VALIDATION.header.invalid unless X-Request-Timeout is a whole number above 0, or absent */
export function checkTimeout(headers: HttpRequest['headers']): void {
  const given = headers['x-request-timeout']
  if (given === undefined || wholeNumber.test(given)) return
  throw failField('VALIDATION.header.invalid', 'X-Request-Timeout', {
    reason: 'format',
    regex: wholeNumber.source,
  })
}

/**
 * Returns the caller's Idempotency-Key, if the operation accepts one.
 * @throws the code of the setting idempotency.missingKey, VALIDATION.idempotency_key.*
 */
export function idempotencyKey(request: HttpRequest, route: Route, settings: Settings): string | undefined {
  if (route.idempotency === 'none') return undefined
  const field = 'Idempotency-Key'
  const key = request.headers['idempotency-key']
  const required =
    route.idempotency === 'required' || settings['idempotency.requiredOn'].includes(route.operation)
  if (key === undefined || key === '') {
    if (!required && key === undefined) return undefined
    throw failField(settings['idempotency.missingKey'], field, { reason: 'required' })
  }
  const max = settings['idempotency.keyMaxLength']
  if (key.length > max) {
    throw failField('VALIDATION.idempotency_key.length', field, {
      reason: 'too_long',
      max,
      actual: key.length,
    })
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw failField('VALIDATION.idempotency_key.charset', field, {
      reason: 'charset',
      regex: '^[\\x21-\\x7e]+$',
    })
  }
  return key
}

/**
 * Returns If-Match of a route that honors it.
 * @throws VALIDATION.if_match.required with the status of the setting codes.missingIfMatch
 */
export function ifMatch({ headers }: HttpRequest, route: Route, settings: Settings): string | undefined {
  if (!route.ifMatch) return undefined
  const given = headers['if-match']?.trim()
  if (given || route.ifMatch === 'accepted') return given
  const details = { fields: { 'If-Match': { reason: 'required' } } }
  throw fail('VALIDATION.if_match.required', { http: settings['codes.missingIfMatch'], details })
}

/** @throws VALIDATION.reason.required, VALIDATION.header.invalid when it is too long or not plain text */
export function auditReason({ headers }: HttpRequest, route: Route, settings: Settings): string | undefined {
  if (!route.reason) return undefined
  const { header, maxLength: max } = route.reason(settings)
  const given = headers[header.toLowerCase()]?.trim()
  if (!given) throw failField('VALIDATION.reason.required', header, { reason: 'required', min: 1, max })
  if (given.length > max) {
    throw failField('VALIDATION.header.invalid', header, { reason: 'too_long', max, actual: given.length })
  }
  if (/[\p{Cc}\p{Cs}]/u.test(given)) {
    throw failField('VALIDATION.header.invalid', header, { reason: 'charset' })
  }
  return given
}

/**
 * Checks that the caller accepts the media type of the response. A type such as application/health+json also
 * satisfies application/json.
 * @throws VALIDATION.accept.unsupported
 */
export function checkAccept(headers: HttpRequest['headers'], mediaType: string, settings: Settings): void {
  const accept = headers.accept
  if (accept === undefined || accept.trim() === '') return
  const types = mediaType.endsWith('+json') ? [mediaType, 'application/json'] : [mediaType]
  if (types.some((type) => accepts(accept, type))) return
  throw fail('VALIDATION.accept.unsupported', {
    http: settings['errors.notAcceptable'],
    details: { supported: [mediaType] },
  })
}

/**
 * Returns whether Accept allows a media type: the most specific matching range decides by its weight (RFC 9110
 * 12.5.1).
 */
function accepts(accept: string, mediaType: string): boolean {
  // Responses are UTF-8 and have no other parameters. The most specific range is last.
  const ranges = ['*/*', mediaType.replace(/\/.*/, '/*'), mediaType, `${mediaType};charset=utf-8`]
  const allowed: (boolean | undefined)[] = []
  for (let start = 0; start < accept.length; ) {
    const { type, parameters, index } = parse(accept, { comma: true, start })
    start = index + 1
    const pairs = Object.entries(parameters).map(([name, value]) => `;${name}=${value}`)
    const [range = ''] = [type, ...pairs].join('').toLowerCase().split(';q=')
    const rank = ranges.indexOf(range)
    if (rank >= 0) allowed[rank] ||= Number(parameters.q ?? 1) !== 0
  }
  return allowed.findLast((one) => one !== undefined) ?? false
}

/**
 * Checks If-Match against the entity tag of an existing item by strong comparison (RFC 9110 13.1.1), which no weak
 * tag passes. Without If-Match there is no condition.
 * @throws CONFLICT.etag.mismatch
 */
export function checkIfMatch(given: string | undefined, etag: string): void {
  if (given === undefined || given === '*') return
  if (!given.split(',').some((one) => one.trim() === etag)) throw fail('CONFLICT.etag.mismatch')
}

/** Returns whether If-None-Match names this entity tag (RFC 9110 13.1.2: weak comparison). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}
