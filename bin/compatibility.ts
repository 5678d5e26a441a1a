import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { resolved } from './openapi/components.ts'
import { type Comparison, type Schema, schemaChanges } from './schema-changes.ts'

/**
 * `npm run compatibility`: rejects an openapi.json that breaks callers of the last release. With `--release` it first makes
 * openapi.json the last release. oasdiff, the best maintained
 * tool for this (tried in 1.18.6), is not used: it needs Go, misses four of the 22 breaking changes in the tests
 * (credentials, scopes, parameter styles, unknown keywords), and reports each new error code as a break, which it is not.
 */

/** Errors of the released description that openapi.json corrects. The service did not change. Emptied at a release. */
const corrections = [
  'GET /v1/orders: senders of query page_size: maximum was 10000, is 100',
  'GET /codes: senders of query page_size: maximum was 10000, is 100',
  'GET /codes: senders of query limit: minimum was 0, is 1',
  'GET /codes: senders of query limit: maximum was not set, is 100',
  'GET /codes: senders of query offset: maximum was not set, is 1000',
  'POST /v1/webhooks/events: callers without header webhook-id: it is required now',
  'POST /v1/webhooks/events: callers without header webhook-timestamp: it is required now',
]

export const openapiFile = join(import.meta.dirname, '../openapi.json')
/** The description of the last release. */
export const releasedFile = join(import.meta.dirname, '../test/openapi/released.json')

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has any shape
type Any = any

/**
 * Returns the changes in a newer description that break callers of the older one, one line each. New operations,
 * optional parameters and fields, response fields and statuses, and error codes break nobody.
 */
export function descriptionChanges(released: Any, current: Any): string[] {
  const [before, after] = [resolved(released, released), resolved(current, current)]
  return Object.entries<Any>(before.paths).flatMap(([path, methods]) =>
    Object.entries<Any>(methods).flatMap(([method, operation]) => {
      const newer = after.paths[path]?.[method]
      const changes = newer ? operationChanges(operation, newer) : ['callers: it is gone']
      return changes
        .map((change) => `${method.toUpperCase()} ${path}: ${change}`)
        .filter((change) => !corrections.includes(change))
    }),
  )
}

function operationChanges(before: Any, after: Any): string[] {
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
function securityChanges({ security: before = [] }: Any, { security: after = [] }: Any): string[] {
  const suffices = (credentials: Any) =>
    after.length === 0 ||
    after.some((required: Record<string, string[]>) =>
      Object.entries(required).every(
        ([scheme, scopes]) =>
          scheme in credentials && scopes.every((scope) => credentials[scheme].includes(scope)),
      ),
    )
  const accepted = before.length === 0 ? [{}] : before
  return accepted.every(suffices) ? [] : ['callers: other credentials are required']
}

function parameterChanges(before: Any[], after: Any[]): string[] {
  const [old, current] = [before, after].map((list) => new Map(list.map((one) => [nameOf(one), one])))
  return [
    ...[...(current ?? [])].flatMap(([name, { required }]) =>
      required && !old?.get(name)?.required ? [`callers without ${name}: it is required now`] : [],
    ),
    ...[...(old ?? [])].flatMap(([name, { style, explode, schema }]) => {
      const newer = current?.get(name)
      if (!newer) return [`senders of ${name}: it is no longer accepted`]
      if (newer.style !== style || newer.explode !== explode)
        return [`senders of ${name}: its format changed`]
      return changesOf({ before: schema, after: newer.schema, as: 'sender' }, `senders of ${name}`)
    }),
  ]
}

/** Returns the name of a parameter. Header names are case-insensitive. */
function nameOf({ in: where, name }: Any): string {
  return where === 'header' ? `header ${name.toLowerCase()}` : `${where} ${name}`
}

function bodyChanges(before: Any, after: Any): string[] {
  if (before && !after) return ['senders of a body: it is no longer accepted']
  const required = after?.required && !before?.required ? ['callers without a body: it is required now'] : []
  return [...required, ...contentChanges(before, after, { as: 'sender' }, 'senders of body')]
}

function responseChanges(status: string, before: Any, after: Any): string[] {
  const readers = `readers of ${status}`
  if (!after) return [`${readers}: it is no longer returned`]
  const headers = Object.entries<Any>(before.headers ?? {}).flatMap(([name, { schema }]) => {
    const newer = after.headers?.[name]
    if (!newer) return [`${readers} header ${name}: it is gone`]
    return changesOf({ before: schema, after: newer.schema, as: 'reader' }, `${readers} header ${name}`)
  })
  const role = { as: 'reader', growing: Number(status) >= 400 } as const
  return [...headers, ...contentChanges(before, after, role, readers)]
}

type Role = Pick<Comparison, 'as' | 'growing'>

function contentChanges(before: Any, after: Any, role: Role, callers: string): string[] {
  return Object.entries<Any>(before?.content ?? {}).flatMap(([mediaType, { schema }]) => {
    const newer = after.content?.[mediaType]
    if (!newer) return [`${callers}: ${mediaType} is gone`]
    return changesOf({ ...role, before: schema, after: newer.schema }, callers)
  })
}

function changesOf(
  { before = {}, after = {}, ...role }: { before?: Schema; after?: Schema } & Role,
  callers: string,
): string[] {
  return schemaChanges({ ...role, before, after }).map(
    ({ path, change }) => `${path ? `${callers} ${path}` : callers}: ${change}`,
  )
}

if (import.meta.main) {
  const { release } = parseArgs({ options: { release: { type: 'boolean' } } }).values
  if (release) await copyFile(openapiFile, releasedFile)
  const read = async (file: string) => JSON.parse(await readFile(file, 'utf8'))
  const changes = descriptionChanges(await read(releasedFile), await read(openapiFile))
  if (changes.length > 0) {
    console.error(`openapi.json breaks callers of the last release:\n${changes.join('\n')}`)
    process.exitCode = 1
  }
}
