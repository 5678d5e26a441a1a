import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'

/** A JSON Schema with the keywords that the schema of profiles uses. */
export type Schema = boolean | { readonly [keyword: string]: unknown }

type Keywords = Exclude<Schema, boolean>

const ajv = new Ajv({ strict: false })
addFormats.default(ajv)

const lowest = ['minimum', 'minLength', 'minItems']
const highest = ['maximum', 'maxProperties']
/** A change of one of these may refuse a value. */
const fixed = ['pattern', 'format', 'not']

/** Returns the places of a schema where it refuses values that an earlier one accepts. */
export function narrowed(before: Schema, now: Schema, path = ''): string[] {
  if (before === false || now === true) return []
  if (now === false) return [path]
  return branches(before === true ? {} : before).flatMap((branch) => {
    const refusals = branches(now).map((other) => narrowedBranch(branch, other, path))
    return refusals.some((one) => one.length === 0) ? [] : (refusals[0] ?? [path])
  })
}

/** Returns the alternatives of a schema, each with what holds for all of them. */
function branches({ anyOf, oneOf, ...rest }: Keywords): Keywords[] {
  const alternatives = (anyOf ?? oneOf ?? [{}]) as Keywords[]
  return alternatives
    .flatMap((one) => (one.anyOf || one.oneOf ? branches(one) : [one]))
    .map((one) => ({ ...rest, ...one }))
}

function narrowedBranch(before: Keywords, now: Keywords, path: string): string[] {
  const values = valuesOf(before)
  if (values) return values.every((value) => ajv.validate(now, value)) ? [] : [path]
  if (valuesOf(now) || !typesOf(before).every((type) => typesOf(now).includes(type))) return [path]
  const limits = [
    ...lowest.filter(
      (name) =>
        Number(now[name] ?? Number.NEGATIVE_INFINITY) > Number(before[name] ?? Number.NEGATIVE_INFINITY),
    ),
    ...highest.filter(
      (name) =>
        Number(now[name] ?? Number.POSITIVE_INFINITY) < Number(before[name] ?? Number.POSITIVE_INFINITY),
    ),
    ...fixed.filter((name) => now[name] !== undefined && !isDeepStrictEqual(now[name], before[name])),
  ]
  const required = names(now.required).filter((name) => !names(before.required).includes(name))
  return [
    ...limits.map((name) => `${path} ${name}`),
    ...required.map((name) => `${path}.${name} required`),
    ...narrowedMembers(before, now, path),
  ]
}

function narrowedMembers(before: Keywords, now: Keywords, path: string): string[] {
  const of = ({ properties = {} }: Keywords) => properties as Record<string, Schema>
  const other = (now.additionalProperties ?? true) as Schema
  const members = Object.entries(of(before)).flatMap(([name, schema]) =>
    narrowed(schema, of(now)[name] ?? other, `${path}.${name}`),
  )
  const shared = ['items', 'propertyNames', 'additionalProperties'].flatMap((name) =>
    narrowed((before[name] ?? true) as Schema, (now[name] ?? true) as Schema, `${path} ${name}`),
  )
  return [...members, ...shared]
}

function valuesOf(schema: Keywords): unknown[] | undefined {
  return 'const' in schema ? [schema.const] : (schema.enum as unknown[] | undefined)
}

const allTypes = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']

function typesOf({ type = allTypes }: Keywords): string[] {
  const types = [type].flat() as string[]
  return types.includes('number') ? [...types, 'integer'] : types
}

function names(required: unknown): string[] {
  return (required ?? []) as string[]
}
