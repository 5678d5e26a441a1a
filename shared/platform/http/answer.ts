import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { envelope, Failure, fail } from '../errors/failure.ts'
import type { Answer } from '../idempotency/record.ts'
import type { Correlation } from './correlation.ts'
import type { Reply } from './reply.ts'
import { hasBody, type Route } from './route.ts'

/** Renders a reply. A reply that violates its schema is a fault, found before anything is committed. */
export function render(reply: Reply, route: Route, settings: Settings, correlation: Correlation): Answer {
  if (reply.failure) return errorAnswer(reply.failure, correlation, settings)
  const { status, body, etag, location } = reply
  const type = route.reply.mediaType?.(settings) ?? 'application/json'
  const cacheable = etag !== undefined && !hasBody(route)
  const headers = {
    ...(etag !== undefined && { ETag: etag }),
    ...(cacheable && { 'Cache-Control': 'private, no-cache' }),
    ...(location !== undefined && { Location: location }),
    ...(body !== undefined && { 'Content-Type': type }),
    ...reply.headers,
  }
  return {
    status,
    headers,
    body: body === undefined ? undefined : textOf(v.parse(route.reply.schema(settings), body), type),
  }
}

function textOf(body: unknown, mediaType: string): string {
  return typeof body === 'string' && !/[/+]json\b/.test(mediaType) ? body : JSON.stringify(body)
}

export function errorAnswer(failure: Failure, correlation: Correlation, settings: Settings): Answer {
  const retryAfter = failure.http === 503 && { 'Retry-After': String(settings['errors.retryAfterSeconds']) }
  return {
    status: failure.http,
    headers: { 'Content-Type': 'application/json', ...retryAfter, ...failure.headers },
    body: JSON.stringify(envelope(failure, correlation.id)),
  }
}

/** Returns a thrown value as a failure: INTERNAL.unexpected if it is none. */
export function toFailure(thrown: unknown): Failure {
  return thrown instanceof Failure ? thrown : fail('INTERNAL.unexpected', { cause: thrown })
}
