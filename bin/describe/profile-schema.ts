import { toJsonSchema } from '@valibot/to-json-schema'
import { bases } from '#shared/settings/read-profile.ts'
import { register } from '#shared/settings/register.ts'

/** Returns the JSON Schema of profiles, with which an editor completes and describes settings. */
export function profileSchema(): object {
  const settings = Object.entries(register).map(([key, { kind, description, schema }]) => [
    key,
    { description: `${description}. (${kind})`, ...partial(shapeOf(schema)) },
  ])
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A profile of the Commerce API',
    type: 'object',
    properties: {
      $schema: { type: 'string' },
      extends: { description: 'The base, whose values the profile changes', enum: bases },
      ...Object.fromEntries(settings),
    },
    additionalProperties: false,
  }
}

type Schema = Record<string, unknown>

/** Returns the schema of a setting. Checks of code have no form in JSON Schema: the command profile check makes them. */
function shapeOf(schema: (typeof register)[keyof typeof register]['schema']): Schema {
  const { $schema: _, ...shape } = toJsonSchema(schema, { errorMode: 'ignore', typeMode: 'input' })
  return shape
}

/** A base may have the other members of an object, so none is required. */
function partial(schema: Schema): Schema {
  const { required: _, properties, ...rest } = schema
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: schema.anyOf.map(partial) }
  if (!properties) return schema
  const members = Object.entries(properties as Record<string, Schema>)
  return { ...rest, properties: Object.fromEntries(members.map(([name, one]) => [name, partial(one)])) }
}
