import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import type { Settings } from '#shared/settings/register.ts'

export type Json = Record<string, unknown>

/** The integers that a JSON number represents exactly. */
const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

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
      if (action.type === 'safe_integer') return { ...safe, ...soFar, type: 'integer' } as never
      if (action.type === 'characters')
        return { ...soFar, minLength: action.requirement.min, maxLength: action.requirement.max } as never
      // The pattern is internal to the library; callers need the format.
      if (action.type === 'iso_timestamp') return { ...soFar, format: 'date-time' } as never
      if (action.type === 'ends_with') return { ...soFar, pattern: 'Z$' } as never
      return undefined
    },
  }) as Json
  return JSON.parse(JSON.stringify(converted, withFormat))
}

/** An integer that may exceed 32 bits needs a format, or generated clients truncate it. */
function withFormat(_key: string, value: Json): Json {
  const isWide = value?.type === 'integer' && !(Number(value.maximum) < 2 ** 31)
  return isWide ? { ...value, format: 'int64' } : value
}

/** Marks a part of a description that is decided by a setting. */
export function openPoint(key: keyof Settings): Json {
  return { 'x-open-point': key }
}
