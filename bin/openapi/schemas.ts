import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'

export type Json = Record<string, unknown>

/** The integers that a JSON number holds exactly. */
const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

/** Returns a schema of the code as JSON Schema 2020-12. Parts decided by a profile carry `x-open-point`. */
export function jsonSchema(schema: v.GenericSchema): Json {
  const { $schema: _, ...converted } = toJsonSchema(schema as never, {
    errorMode: 'ignore',
    typeMode: 'input',
    overrideAction: ({ valibotAction, jsonSchema: soFar }) => {
      const action = valibotAction as { type: string }
      if (action.type === 'safe_integer') return { ...safe, ...soFar, type: 'integer' } as never
      if (action.type === 'characters') {
        const { min, max } = (valibotAction as unknown as { requirement: { min: number; max: number } })
          .requirement
        return { ...soFar, minLength: min, maxLength: max } as never
      }
      // The pattern is internal to the library; callers need the format.
      if (action.type === 'iso_timestamp') return { ...soFar, format: 'date-time' } as never
      if (action.type === 'ends_with') return { ...soFar, pattern: 'Z$' } as never
      return undefined
    },
  }) as Json
  return converted
}

export function reference(kind: 'schemas' | 'headers' | 'parameters' | 'responses', name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}
