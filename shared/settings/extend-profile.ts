import type { register } from './register.ts'

/** The part of a Valibot schema that says which members an object has. */
interface Part {
  entries?: Readonly<Record<string, Part>>
  wrapped?: Part
}

/**
 * Returns a profile with what its base adds. The members of an object that the schema names are merged. A list, and a map
 * whose keys a deployment chooses, is that of the profile: a deployment that names its types of codes does not also sell
 * those of the base.
 */
export function extendProfile(
  base: Readonly<Record<string, unknown>>,
  profile: Readonly<Record<string, unknown>>,
  settings: typeof register,
): Record<string, unknown> {
  const own = Object.entries(profile).map(([key, value]) => {
    const schema = Object.hasOwn(settings, key) ? settings[key as keyof typeof settings].schema : {}
    return [key, merged(schema as Part, base[key], value)]
  })
  return { ...base, ...Object.fromEntries(own) }
}

function merged({ entries, wrapped }: Part, base: unknown, own: unknown): unknown {
  if (wrapped) return merged(wrapped, base, own)
  if (!entries || !isObject(base) || !isObject(own)) return own
  const members = Object.entries(own).map(([name, value]) => [
    name,
    merged(entries[name] ?? {}, base[name], value),
  ])
  return { ...base, ...Object.fromEntries(members) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
