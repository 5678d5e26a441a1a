import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript'

const header =
  '/** The types of openapi.json, written by `npm run generate`: change the routes, not this file. */\n\n'

/**
 * Returns the types of the client: every path, parameter, body and response of the API description. Examples, and
 * descriptions that many operations repeat, are left out: they are in openapi.json.
 */
export async function clientTypes(description: OpenAPI3): Promise<string> {
  const brief = JSON.parse(JSON.stringify(description), (key, value) => {
    if (key === 'example' || value === 'int64') return undefined
    if (typeof value?.$ref === 'string') return { $ref: value.$ref }
    return value?.in === 'header' ? { ...value, description: undefined } : value
  })
  // Methods and parameters that a path does not have.
  const absent = /^ {8}(?:\w+\?: never;|parameters: \{\n(?: {12}\w+\?: never;\n)+ {8}\};)\n/gm
  const types = astToString(await openapiTypes(brief)).replace(absent, '')
  return [header, types, ...namedTypes(description)].join('')
}

/** Returns a type for each named schema. An error is an exception in the client, and `Error` is its global class. */
function namedTypes({ components }: OpenAPI3): string[] {
  const names = Object.keys(components?.schemas ?? {}).filter((name) => name !== 'Error')
  return names.map((name) => `export type ${name} = components['schemas']['${name}']\n`)
}
