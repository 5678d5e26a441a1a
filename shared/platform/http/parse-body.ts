import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { fail, failField } from '../errors/failure.ts'
import { invalidFields } from './invalid-fields.ts'
import type { HttpRequest } from './request.ts'
import { type BodyType, bodyTypesOf, type Route } from './route.ts'

/** Far deeper than any body of the service; a bound for everything that walks a parsed body. */
const deepest = 32

/**
 * The body of a request, checked against the schema of its type. No body at all is an empty object where only JSON is
 * taken, so that the answer to one that is needed names the fields.
 * @throws VALIDATION.content_type.unsupported, VALIDATION.body.* and the codes of the fields
 */
export function parseBody(
  request: HttpRequest,
  route: Pick<Route, 'bodyTypes'> & Required<Pick<Route, 'body'>>,
  settings: Settings,
): unknown {
  const { type, value } = contentOf(request, bodyTypesOf(route, settings))
  const schema = route.body(settings, type)
  const result = v.safeParse(schema, value, { abortPipeEarly: true })
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}

function contentOf(
  { body, headers }: HttpRequest,
  types: readonly BodyType[],
): { type: BodyType; value: unknown } {
  const contentType = headers['content-type'] ?? ''
  const [only, ...others] = types
  if (body === undefined && contentType === '' && only === 'application/json' && others.length === 0) {
    return { type: only, value: {} }
  }
  const [mediaType = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  const type = types.find((one) => one === mediaType)
  if (type === undefined || (charset && !/^charset="?utf-8"?$/.test(charset))) {
    throw fail('VALIDATION.content_type.unsupported', { headers: { 'Accept-Post': types.join(', ') } })
  }
  const bytes = body ?? new Uint8Array()
  return { type, value: type === 'application/json' ? jsonObject(bytes) : decode(bytes) }
}

function jsonObject(bytes: Uint8Array): object {
  const value = parseJson(bytes)
  checkDepth(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const actual = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
    throw failField('VALIDATION.field.type', 'body', { reason: 'type', actual })
  }
  return value
}

/** @throws VALIDATION.body.encoding unless it is UTF-8; a byte order mark is left out */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw fail('VALIDATION.body.encoding', { cause })
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw fail('VALIDATION.body.json', { cause })
  }
}

function checkDepth(value: unknown): void {
  let level = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) throw fail('VALIDATION.body.too_deep', { details: { max: deepest } })
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
}
