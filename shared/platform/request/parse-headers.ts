import { createHash } from 'node:crypto'
import { parse } from 'content-type'
import type { Settings } from '../../settings/register.ts'
import { type Failure, fail, failField, unseenCharacter } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import type { Route } from './route.ts'

const wholeNumber = /^[1-9][0-9]{0,8}$/

/**
 * Returns the time limit of a request in milliseconds: X-Request-Timeout, within the limits of the deployment. A smaller
 * value is raised, not rejected: callers pass on what is left of their own limit, and stop waiting by themselves.
 */
export function timeBudget(headers: HttpRequest['headers'], settings: Settings): number {
  const { unit, minMilliseconds, maxMilliseconds } = settings['requests.timeoutHeader']
  const given = headers['x-request-timeout'] ?? ''
  if (!wholeNumber.test(given)) return maxMilliseconds
  const milliseconds = Number(given) * (unit === 'seconds' ? 1000 : 1)
  return Math.min(Math.max(milliseconds, minMilliseconds), maxMilliseconds)
}

/** @throws VALIDATION.header.invalid unless X-Request-Timeout is a whole number above 0, or absent */
export function checkTimeout(headers: HttpRequest['headers']): void {
  const given = headers['x-request-timeout']
  if (given === undefined || wholeNumber.test(given)) return
  throw failField('VALIDATION.header.invalid', 'X-Request-Timeout', {
    reason: 'format',
    regex: wholeNumber.source,
    actual: given.length,
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
  const max = settings['idempotency.keyMaxLength']
  if (key === undefined || key === '') {
    if (!required && key === undefined) return undefined
    const actual = key === undefined ? 'absent' : 0
    throw failField(settings['idempotency.missingKey'], field, { reason: 'required', min: 1, max, actual })
  }
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
      actual: key.length,
    })
  }
  return key
}

/** The condition of a request on the current entity tag. */
export interface Precondition {
  ifMatch?: string | undefined
  ifNoneMatch?: string | undefined
}

/**
 * Returns the precondition of a request, on a route that honors one.
 * @throws VALIDATION.if_match.required with the status of the setting codes.missingIfMatch
 */
export function precondition({ headers }: HttpRequest, route: Route, settings: Settings): Precondition {
  if (!route.ifMatch) return {}
  const ifMatch = headers['if-match']?.trim()
  if (ifMatch || route.ifMatch === 'accepted') return { ifMatch, ifNoneMatch: headers['if-none-match'] }
  throw ifMatchRequired('If-Match', settings)
}

export function ifMatchRequired(field: string, settings: Settings): Failure {
  const problem = { reason: 'required', actual: 'absent' }
  return failField('VALIDATION.if_match.required', field, problem, { http: settings['codes.missingIfMatch'] })
}

/** @throws VALIDATION.reason.required, VALIDATION.header.invalid when it is too long or not plain text */
export function auditReason({ headers }: HttpRequest, route: Route, settings: Settings): string | undefined {
  if (!route.reason) return undefined
  const { header, maxLength: max } = route.reason(settings)
  const given = headers[header.toLowerCase()]?.trim()
  if (!given) {
    const actual = given === undefined ? 'absent' : 0
    throw failField('VALIDATION.reason.required', header, { reason: 'required', min: 1, max, actual })
  }
  if (given.length > max) {
    throw failField('VALIDATION.header.invalid', header, { reason: 'too_long', max, actual: given.length })
  }
  if (unseenCharacter.test(given)) {
    const problem = {
      reason: 'charset',
      regex: `^${unseenCharacter.source.replace('[', '[^')}*$`,
      actual: given.length,
    }
    throw failField('VALIDATION.header.invalid', header, problem)
  }
  return given
}

/**
 * Checks that the caller accepts the media type of the response. JSON is acceptable everywhere: errors are JSON, and
 * some generated clients accept nothing else, even for a file.
 * @throws VALIDATION.accept.unsupported
 */
export function checkAccept(headers: HttpRequest['headers'], mediaType: string, settings: Settings): void {
  const accept = headers.accept
  if (accept === undefined || accept.trim() === '') return
  if ([mediaType, 'application/json'].some((type) => accepts(accept, type))) return
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

/** Returns the strong entity tag of a representation: another value has another tag. */
export function entityTag(representation: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(representation)).digest('base64url').slice(0, 27)}"`
}

/** Returns the weak entity tag of a representation of which some bytes differ each time, such as its cursors. */
export function weakEntityTag(representation: unknown): string {
  return `W/${entityTag(representation)}`
}

/**
 * Checks the precondition of a change against the entity tag of an existing item, in the order of RFC 9110 13.2.2.
 * @throws CONFLICT.etag.mismatch
 */
export function checkPrecondition({ ifMatch, ifNoneMatch }: Precondition, etag: string): void {
  checkIfMatch(ifMatch, etag)
  if (matchesEtag(ifNoneMatch, etag)) throw mismatch(etag)
}

/**
 * Checks If-Match by strong comparison (RFC 9110 13.1.1), which no weak tag passes.
 * @throws CONFLICT.etag.mismatch
 */
export function checkIfMatch(given: string | undefined, etag: string): void {
  if (given === undefined || given.trim() === '*') return
  const named = !etag.startsWith('W/') && given.split(',').some((one) => one.trim() === etag)
  if (!named) throw mismatch(etag)
}

/** Returns the failure of a precondition, with the current entity tag. */
function mismatch(etag: string): Failure {
  return fail('CONFLICT.etag.mismatch', { details: { etag } })
}

/** Returns whether If-None-Match names this entity tag (RFC 9110 13.1.2: weak comparison). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((one) => opaque(one.trim()) === opaque(etag))
}

function opaque(etag: string): string {
  return etag.replace(/^W\//, '')
}
