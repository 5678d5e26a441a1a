import { type Change, type Comparison, type Schema, schemaChanges } from './schema-changes.ts'

/** A breaking change, such as `POST /v1/orders`, `senders of body.amount_minor`, `maximum was 9, is 5`. */
export interface Break {
  operation: string
  whom: string
  what: string
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has any shape
type Any = any

/**
 * Returns the changes in a newer description that break callers of the older one. New operations, optional parameters
 * and fields, response fields and statuses, and error codes break nobody.
 */
export function descriptionChanges(before: Any, after: Any): Break[] {
  const [old, now] = [resolved(before, before), resolved(after, after)]
  const breaks: Break[] = []
  for (const [path, methods] of Object.entries<Any>(old.paths))
    for (const [method, operation] of Object.entries<Any>(methods)) {
      const name = `${method.toUpperCase()} ${path}`
      const same = now.paths[path]?.[method]
      const found = same ? operationChanges(operation, same) : [{ whom: 'callers', what: 'it is gone' }]
      breaks.push(...found.map((one) => ({ operation: name, ...one })))
    }
  return breaks
}

/** Returns a breaking change as one line of text. */
export function told({ operation, whom, what }: Break): string {
  return `${operation}: ${whom}: ${what}`
}

type Found = Omit<Break, 'operation'>

function operationChanges(before: Any, after: Any): Found[] {
  return [
    ...securityChanges(before, after),
    ...parameterChanges(before.parameters ?? [], after.parameters ?? []),
    ...bodyChanges(before.requestBody, after.requestBody),
    ...Object.entries<Any>(before.responses).flatMap(([status, response]) =>
      responseChanges(status, response, after.responses[status]),
    ),
  ]
}

/** Finds credentials that sufficed before and no longer do. */
function securityChanges({ security: before = [] }: Any, { security: after = [] }: Any): Found[] {
  const enough = (had: Any) =>
    after.length === 0 ||
    after.some((wanted: Any) =>
      Object.entries<string[]>(wanted).every(
        ([scheme, scopes]) => scopes.every((scope) => had[scheme]?.includes(scope) ?? false) && scheme in had,
      ),
    )
  const had = before.length === 0 ? [{}] : before
  return had.every(enough) ? [] : [{ whom: 'callers', what: 'other credentials are required' }]
}

function parameterChanges(before: Any[], after: Any[]): Found[] {
  const known = new Map(before.map((one) => [nameOf(one), one]))
  const now = new Map(after.map((one) => [nameOf(one), one]))
  const wanted = after.filter((one) => one.required && !known.get(nameOf(one))?.required)
  return [
    ...wanted.map((one) => ({ whom: `callers without ${nameOf(one)}`, what: 'it is required now' })),
    ...[...known].flatMap(([name, one]) => {
      const same = now.get(name)
      const whom = `senders of ${name}`
      if (!same) return [{ whom, what: 'it is no longer accepted' }]
      if (same.style !== one.style || same.explode !== one.explode)
        return [{ whom, what: 'its format changed' }]
      return changes({ before: one.schema, after: same.schema, as: 'sender' }, whom)
    }),
  ]
}

/** Returns the name of a parameter. Header names are case-insensitive. */
function nameOf({ in: where, name }: Any): string {
  return where === 'header' ? `header ${name.toLowerCase()}` : `${where} ${name}`
}

function bodyChanges(before: Any, after: Any): Found[] {
  if (!before) return after?.required ? [{ whom: 'callers without a body', what: 'it is required now' }] : []
  if (!after) return [{ whom: 'senders of a body', what: 'it is no longer accepted' }]
  const optional = !before.required && after.required
  return [
    ...(optional ? [{ whom: 'callers without a body', what: 'it is required now' }] : []),
    ...contentChanges(before, after, { as: 'sender' }, 'senders of body'),
  ]
}

function responseChanges(status: string, before: Any, after: Any): Found[] {
  const whom = `readers of ${status}`
  if (!after) return [{ whom, what: 'it is no longer returned' }]
  const headers = Object.entries<Any>(before.headers ?? {}).flatMap(([name, header]) => {
    const same = after.headers?.[name]
    const reader = `${whom} header ${name}`
    if (!same) return [{ whom: reader, what: 'it is gone' }]
    return changes({ before: header.schema, after: same.schema, as: 'reader' }, reader)
  })
  const role = { as: 'reader', growing: Number(status) >= 400 } as const
  return [...headers, ...contentChanges(before, after, role, whom)]
}

type Role = Pick<Comparison, 'as' | 'growing'>

function contentChanges(before: Any, after: Any, role: Role, whom: string): Found[] {
  return Object.entries<Any>(before.content ?? {}).flatMap(([mediaType, { schema }]) => {
    const same = after.content?.[mediaType]
    if (!same) return [{ whom, what: `${mediaType} is gone` }]
    return changes({ ...role, before: schema, after: same.schema }, whom)
  })
}

function changes(comparison: { before?: Schema; after?: Schema } & Role, whom: string): Found[] {
  const { before = {}, after = {} } = comparison
  const found: Change[] = schemaChanges({ ...comparison, before, after })
  return found.map(({ place, what }) => ({ whom: place ? `${whom} ${place}` : whom, what }))
}

/** Returns the description with its references resolved. It has no recursive references. */
function resolved(node: Any, document: Any): Any {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map((one) => resolved(one, document))
  if (typeof node.$ref === 'string') {
    const target = node.$ref
      .slice(2)
      .split('/')
      .reduce((found: Any, key: string) => found[key], document)
    return resolved(target, document)
  }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolved(value, document)]))
}
