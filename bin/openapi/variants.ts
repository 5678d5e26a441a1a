import type { operation } from './operation.ts'
import type { Json } from './schemas.ts'

type Described = ReturnType<typeof operation>

/** One operation for two routes of a method and path, which only a parameter tells apart. */
export function withVariant(first: Described, other: Described): Described {
  const names = (parameters: readonly Json[]) => parameters.map(({ name, $ref }) => name ?? $ref)
  const both = first.parameters.map((one) => {
    const same = other.parameters.find(({ name }) => name !== undefined && name === one.name)
    if (!same) return one
    return {
      ...one,
      required: Boolean(one.required && same.required),
      schema: either(one.schema, same.schema),
    }
  })
  const known = names(first.parameters)
  const added = other.parameters
    .filter(({ name, $ref }) => !known.includes(name ?? $ref))
    .map((one) => ('$ref' in one ? one : { ...one, required: false }))
  return {
    ...first,
    summary: `${first.summary}; ${other.summary.toLowerCase()}`,
    description: `${first.description} ${other.summary}: ${other.description}`,
    parameters: [...both, ...added],
    responses: { ...other.responses, ...first.responses },
    'x-open-points': [...new Set([...first['x-open-points'], ...other['x-open-points']])],
  }
}

function either(one: unknown, other: unknown): unknown {
  return JSON.stringify(one) === JSON.stringify(other) ? one : { anyOf: [one, other] }
}
