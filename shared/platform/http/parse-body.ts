import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { fail, failField } from '../errors/failure.ts'
import { invalidFields } from './invalid-fields.ts'
import type { HttpRequest } from './request.ts'
import type { Route } from './route.ts'

/** Far deeper than any body of the service; a bound for everything that walks a parsed body. */
const deepest = 32

/**
 * The body of a request, checked against its schema. No body at all is an empty object, so that the answer to one
 * that is needed names the fields.
 * @throws VALIDATION.content_type.unsupported, VALIDATION.body.* and the codes of the fields
 */
export function parseBody(
  request: HttpRequest,
  route: Pick<Route, 'bodyType'>,
  schema: v.GenericSchema,
  settings: Settings,
): unknown {
  const value = contentOf(request, route.bodyType ?? 'application/json')
  const result = v.safeParse(schema, value, { abortPipeEarly: true })
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}

function contentOf({ body, headers }: HttpRequest, bodyType: string): unknown {
  const contentType = headers['content-type'] ?? ''
  if (body === undefined && contentType === '' && bodyType === 'application/json') return {}
  const [mediaType = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  if (mediaType !== bodyType || (charset && !/^charset="?utf-8"?$/.test(charset))) {
    throw fail('VALIDATION.content_type.unsupported', { headers: { 'Accept-Post': bodyType } })
  }
  const bytes = body ?? new Uint8Array()
  if (bodyType !== 'application/json') return decode(bytes)
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
