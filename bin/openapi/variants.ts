import type { operation } from './operation.ts'
import type { Json } from './schemas.ts'

type Described = ReturnType<typeof operation>

/** Merges two routes of one method and path, distinguished only by a parameter, into one operation. */
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
    // The operation is deprecated only if both routes are.
    deprecated: first.deprecated && other.deprecated,
    summary: `${first.summary}; ${other.summary.toLowerCase()}`,
    description: `${first.description} ${other.summary}: ${other.description}`,
    parameters: [...both, ...added],
    responses: eachStatus(first.responses, other.responses),
    'x-open-points': [...new Set([...first['x-open-points'], ...other['x-open-points']])],
  }
}

/** Merges the responses of both. A status of both has the codes and examples of both. */
function eachStatus(first: Json, other: Json): Json {
  const statuses = [...new Set([...Object.keys(first), ...Object.keys(other)])]
  return Object.fromEntries(
    statuses.map((status) => [status, together(first[status] as Answer, other[status] as Answer)]),
  )
}

interface Answer extends Json {
  description: string
  content?: { 'application/json': Json & { examples?: Json } }
}

function together(one: Answer | undefined, other: Answer | undefined): Answer | undefined {
  const examples = {
    ...other?.content?.['application/json']?.examples,
    ...one?.content?.['application/json']?.examples,
  }
  if (!one?.content || !other?.content) return one ?? other
  const content = { 'application/json': { ...one.content['application/json'], examples } }
  return { ...one, description: Object.keys(examples).join(', '), content }
}

function either(one: unknown, other: unknown): unknown {
  return JSON.stringify(one) === JSON.stringify(other) ? one : { anyOf: [one, other] }
}
