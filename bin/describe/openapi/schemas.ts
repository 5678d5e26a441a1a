import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import type { Settings } from '#shared/settings/register.ts'

export type Json = Record<string, unknown>

/** Returns a schema of the code as JSON Schema 2020-12. Parts decided by a profile carry `x-open-point`. */
export function jsonSchema(schema: v.GenericSchema): Json {
  const { $schema: _, ...converted } = toJsonSchema(schema as never, {
    errorMode: 'ignore',
    typeMode: 'input',
    overrideSchema: ({ jsonSchema: { properties = {} } }) => {
      // A field that is never accepted is described like one that does not exist.
      for (const [name, field] of Object.entries(properties))
        if (typeof field === 'object' && 'not' in field) delete properties[name]
      return undefined
    },
    overrideAction: ({ valibotAction, jsonSchema: soFar }) => {
      const action = valibotAction as unknown as { type: string; requirement: { min: number; max: number } }
      const { published } = (valibotAction as { metadata?: { published?: v.GenericSchema } }).metadata ?? {}
      if (action.type === 'characters')
        return { ...soFar, minLength: action.requirement.min, maxLength: action.requirement.max } as never
      // The pattern is internal to the library; callers need the format.
      if (action.type === 'iso_timestamp') return { ...soFar, format: 'date-time' } as never
      // A pattern next to a format makes generated clients match dates that they have already parsed.
      if (action.type === 'ends_with') return { ...soFar, pattern: undefined } as never
      if (published) return jsonSchema(published) as never
      return undefined
    },
  }) as Json
  return JSON.parse(JSON.stringify(converted, withFormat))
}

/**
 * Returns a schema of a response. Later versions add fields and values, so callers must accept unknown ones. The service
 * checks its own responses against the strict schema.
 */
export function responseSchema(schema: v.GenericSchema): Json {
  return opened(jsonSchema(schema))
}

/**
 * Removes from a schema whatever would reject a field or value that a later version adds. Generators for Java and Go
 * reject unknown fields unless additionalProperties is true, although that is the default of JSON Schema.
 */
export function opened(schema: Json): Json {
  return JSON.parse(
    JSON.stringify(schema, (_key, value) => {
      if (value?.type === 'object' && value.properties) return { ...value, additionalProperties: true }
      if (Array.isArray(value?.enum)) return extensible(value.enum, value)
      if (value && 'const' in Object(value)) return extensible([value.const], value)
      return value
    }),
  )
}

/** Describes a value that is one of these in this version. */
function extensible(known: unknown[], { enum: _, const: __, description, ...rest }: Json): Json {
  if (typeof known[0] !== 'string') return { ...rest, type: typeof known[0] }
  const values = `Known values: ${known.join(', ')}. Later versions may add others.`
  return {
    ...rest,
    type: 'string',
    description: [description, values].filter(Boolean).join(' '),
    'x-extensible-enum': known,
  }
}

/** An integer that may exceed 32 bits needs a format, or generated clients truncate it. */
function withFormat(_key: string, value: Json): Json {
  const isWide = value?.type === 'integer' && !(Number(value.maximum) < 2 ** 31)
  return isWide ? { ...value, format: 'int64' } : value
}

/** Marks a part of a description that is decided by a setting. */
export function openPointMark(key: keyof Settings): Json {
  return { 'x-open-point': key }
}
