import { parse } from 'content-type'
import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { fail, failField } from '../errors/failure.ts'
import { invalidFields } from './invalid-fields.ts'
import type { HttpRequest } from './request.ts'
import { type BodyType, bodyTypesOf, type Route } from './route.ts'
import { parseStrictJson } from './strict-json.ts'

/**
 * Parses the body of a request by the schema of its media type. A missing body is an empty object if only JSON is
 * accepted, so the error names the required fields.
 * @throws VALIDATION.content_type.unsupported, VALIDATION.body.* and the codes of the fields
 */
export function parseBody(
  request: HttpRequest,
  route: Pick<Route, 'bodyTypes'> & Required<Pick<Route, 'body'>>,
  settings: Settings,
): unknown {
  const { type, value } = contentOf(request, bodyTypesOf(route, settings), settings)
  const schema = route.body(settings, type)
  const result = v.safeParse(schema, value, { abortPipeEarly: true })
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}

function contentOf(
  { body, headers }: HttpRequest,
  types: readonly BodyType[],
  settings: Settings,
): { type: BodyType; value: unknown } {
  const contentType = headers['content-type'] ?? ''
  const [only, ...others] = types
  if (body === undefined && contentType === '' && only === 'application/json' && others.length === 0) {
    return { type: only, value: {} }
  }
  const { type: mediaType, parameters } = parse(contentType)
  const type = types.find((one) => one === mediaType)
  const http = settings['errors.unsupportedMedia']
  if (type === undefined || !/^utf-8$/i.test(parameters.charset ?? 'utf-8')) {
    throw fail('VALIDATION.content_type.unsupported', { http, headers: { 'Accept-Post': types.join(', ') } })
  }
  if (!isPlain(headers['content-encoding'])) {
    const details = { fields: { 'Content-Encoding': { reason: 'not_allowed', allowed: ['identity'] } } }
    throw fail('VALIDATION.content_type.unsupported', {
      http,
      details,
      headers: { 'Accept-Encoding': 'identity' },
    })
  }
  const bytes = body ?? new Uint8Array()
  return { type, value: type === 'application/json' ? jsonObject(bytes) : decode(bytes) }
}

/** Returns whether a body is not encoded. RFC 9110 advises against sending `identity`, but some clients do. */
function isPlain(contentEncoding = ''): boolean {
  return contentEncoding.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()))
}

function jsonObject(bytes: Uint8Array): object {
  const value = parseStrictJson(decode(bytes))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const actual = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
    throw failField('VALIDATION.field.type', 'body', { reason: 'type', actual })
  }
  return value
}

/** @throws VALIDATION.body.encoding unless it is UTF-8; a byte order mark is dropped */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw fail('VALIDATION.body.encoding', { cause })
  }
}
