import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { envelope, Failure, fail } from '../errors/failure.ts'
import type { Answer } from '../idempotency/record.ts'
import type { Correlation } from './correlation.ts'
import type { Reply } from './reply.ts'
import { hasBody, type Route } from './route.ts'

/** A reply that breaks its own schema is a fault, found before anything of it is committed. */
export function render(reply: Reply, route: Route, settings: Settings): Answer {
  const { status, body, etag, location } = reply
  const { schema, mediaType } = route.reply
  const cacheable = etag !== undefined && !hasBody(route)
  const headers = {
    ...(etag !== undefined && { ETag: etag }),
    ...(cacheable && { 'Cache-Control': 'private, no-cache' }),
    ...(location !== undefined && { Location: location }),
    ...(body !== undefined && { 'Content-Type': mediaType?.(settings) ?? 'application/json' }),
  }
  return {
    status,
    headers,
    body: body === undefined ? undefined : JSON.stringify(v.parse(schema(settings), body)),
  }
}

export function errorAnswer(failure: Failure, correlation: Correlation): Answer {
  return {
    status: failure.http,
    headers: { 'Content-Type': 'application/json', ...failure.headers },
    body: JSON.stringify(envelope(failure, correlation.id)),
  }
}

/** Whatever was thrown as a failure: what nobody meant to throw is INTERNAL.unexpected. */
export function toFailure(thrown: unknown): Failure {
  return thrown instanceof Failure ? thrown : fail('INTERNAL.unexpected', { cause: thrown })
}
