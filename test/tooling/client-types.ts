import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript'

// biome-ignore lint/suspicious/noExplicitAny: a schema has any shape
type Json = any

const header =
  '/** The types of openapi.json, written by `npm run generate`: change the routes, not this file. */\n\n'

/**
 * Returns the types of the client: every path, parameter, body and response of the API description. Examples, and
 * descriptions that many operations repeat, are left out: they are in openapi.json.
 */
export async function clientTypes(description: OpenAPI3): Promise<string> {
  const { responses = {} } = description.components ?? {}
  const brief = JSON.parse(JSON.stringify(description), (key, value) => {
    if (key === 'example' || value === 'int64') return undefined
    // A type of TypeScript is open already. As true it would accept the name of any field.
    if (key === 'additionalProperties' && value === true) return undefined
    if (typeof value?.$ref === 'string') return { $ref: byStatus(value.$ref, responses) }
    return value?.in === 'header' ? { ...value, description: undefined } : value
  })
  brief.components.responses = Object.fromEntries(
    Object.entries(brief.components.responses).map(([name, response]) => [
      byStatus(name, responses),
      response,
    ]),
  )
  // Methods and parameters that a path does not have.
  const absent = /^ {8}(?:\w+\?: never;|parameters: \{\n(?: {12}\w+\?: never;\n)+ {8}\};)\n/gm
  const types = astToString(await openapiTypes(brief)).replace(absent, '')
  return [header, types, ...namedTypes(description), errorCodes(description)].join('')
}

/** Names an error response after its status: those of one status differ only in their examples and some headers. */
function byStatus(reference: string, responses: Record<string, object>): string {
  const name = reference.replace('#/components/responses/', '')
  const response = responses[name] as { description: string; content?: unknown } | undefined
  return response?.content ? reference.replace(name, response.description.replaceAll(' ', '')) : reference
}

/** Returns the type of the error codes of this version. A response may have others, so it is no type of a field. */
function errorCodes(description: OpenAPI3): string {
  const { code } = (description as Json).components.schemas.ErrorBody.properties
  return `export type KnownErrorCode = ${code['x-extensible-enum'].map((one: string) => `'${one}'`).join(' | ')}\n`
}

/** Returns a type for each named schema. An error is an exception in the client, and `Error` is its global class. */
function namedTypes({ components }: OpenAPI3): string[] {
  const names = Object.keys(components?.schemas ?? {}).filter((name) => name !== 'Error')
  return names.map((name) => `export type ${name} = components['schemas']['${name}']\n`)
}
