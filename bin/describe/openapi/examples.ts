import type { Settings } from '#shared/settings/register.ts'
import type { Json } from './schemas.ts'

/** The operation whose response an example shows. */
interface Shown {
  operation: string
  settings: Settings
}

const id = '01a1fd42-cae3-848a-b36e-b4be13e97000'
/** An entity tag. */
export const etag = '"5Vq3bC1mXo0f7wZt2uYh9aKdLrE"'
const token = 'eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJ1MSJ9.c2lnbmF0dXJl'
const link = 'https://files.example.com/rejects.csv?X-Amz-Signature=0f1e2d3c'

/**
 * Example values by the name of their field. `Component.field` takes precedence, then `Component.Component of the field`.
 * A function returns a value that differs by operation or deployment; undefined leaves a field out.
 */
const values: Record<string, unknown> = {
  id,
  tenant_id: 'acme',
  cart_id: 'cart-1',
  amount_minor: 1999,
  amount: 500,
  applied: true,
  currency: 'EUR',
  created_at: '2026-11-21T08:39:35.395Z',
  updated_at: '2026-11-21T08:39:35.395Z',
  code: 'SUMMER-10',
  name: 'Summer sale',
  expiry_at: '2099-01-01T00:00:00.000Z',
  created_by: 'user-1',
  soft_deleted: false,
  'DiscountCode.state': 'active',
  'DiscountCode.type': ({ settings }: Shown) => Object.keys(settings['codes.types'])[0],
  charge_id: 'ch_1',
  'Refund.status': 'succeeded',
  page_size: 25,
  next_cursor: 'AXmZ0h1k3o5q',
  prev_cursor: null,
  count: null,
  count_strategy: undefined,
  sort: 'created_at.desc,id.desc',
  operation_id: id,
  progress: 0,
  'Operation.state': 'succeeded',
  'Operation.progress': 1,
  'Operation.error': undefined,
  'ImportResult.outcome': 'PARTIAL',
  rejects_url: link,
  schema_version: 1,
  row: 1,
  'RejectedRow.code': 'VALIDATION.email',
  'RejectedRow.field': 'email',
  'RowResult.status': ({ operation }: Shown) => (operation === 'codes.bulk-update' ? 200 : 201),
  'RowResult.etag': ({ operation }: Shown) => (operation === 'codes.bulk-update' ? etag : undefined),
  'RowResult.error': undefined,
  'BulkResult.RowCounts': { total: 1, succeeded: 1, failed: 0 },
  total: 2,
  succeeded: 1,
  failed: 1,
  access_token: token,
  token_type: 'Bearer',
  expires_in: 3600,
  refresh_token: token,
  message_id: id,
  session_id: id,
  'text/csv': 'id,code,state\r\n01a1fd42-cae3-848a-b36e-b4be13e97000,SUMMER-10,active\r\n',
}

/** Examples of parameters by their names. Others have their default, a known value, or that of the field above. */
const parameters: Record<string, unknown> = {
  cursor: values.next_cursor,
  q: 'summer',
  offset: 0,
  limit: 25,
  'X-Correlation-Id': 'checkout-7f3a',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'shop=t61rcWkgMzE',
  baggage: 'channel=web',
}

/**
 * Adds an example to a parameter. Tools that import the description send the examples of all parameters at once, so
 * together they must be a valid request, except for the legacy ones and the cursor, which no example can be.
 */
export function withExample(parameter: Json): Json {
  if ('$ref' in parameter || 'example' in parameter) return parameter
  const { name, schema } = parameter as { name: string; schema: Json }
  const { items } = schema
  const one = exampleOfValue(name, (items ?? schema) as Json)
  return { ...parameter, example: items ? [one] : one }
}

function exampleOfValue(name: string, schema: Json): unknown {
  const { default: standard, enum: members, type, format, pattern } = schema
  const [field = ''] = name.split('.')
  const known = [parameters[name], standard, (members as unknown[] | undefined)?.[0], values[field]]
  const example = known.find((one) => one !== undefined)
  if (example !== undefined && typeof example !== 'function') return example
  if (type === 'boolean') return false
  if (format === 'date-time') return values.created_at
  // Any text is valid, and the example of a text in a response is its name, too.
  if (type === 'string' && format === undefined && pattern === undefined) return field
  throw new Error(`add an example of the parameter ${name} to bin/describe/openapi/examples.ts`)
}

/** Returns an example of a schema. @param names the names under which its value is looked up, the best first */
export function exampleOf(schema: Json, shown: Shown, ...names: string[]): unknown {
  const known = names.find((name) => Object.hasOwn(values, name))
  const value = known === undefined ? undefined : values[known]
  if (known !== undefined) return typeof value === 'function' ? value(shown) : value
  const { title, properties, items, 'x-extensible-enum': members, minimum = 1 } = schema
  if (properties) {
    const fields = Object.entries(properties as Record<string, Json>)
    return Object.fromEntries(
      fields.map(([name, of]) => [
        name,
        exampleOf(of, shown, `${title}.${name}`, `${title}.${of.title}`, name),
      ]),
    )
  }
  if (items) return [exampleOf(items as Json, shown)]
  return (members as unknown[] | undefined)?.[0] ?? (schema.type === 'string' ? names.at(-1) : minimum)
}
