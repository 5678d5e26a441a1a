import * as v from 'valibot'
import type { SettingKey, Settings } from './register.ts'

/** Marks a schema that depends on a setting; the API description shows the setting's key as `x-open-point`. */
export function openPoint<Value>(key: SettingKey) {
  return v.metadata<Value, { 'x-open-point': SettingKey }>({ 'x-open-point': key })
}

/** Describes a schema by another one in the API description: the requests that callers should send. */
export function describedAs<Value>(published: v.GenericSchema) {
  return v.metadata<Value, { published: v.GenericSchema }>({ published })
}

/**
 * A field of a response whose value is stored. It is described with the known values, and takes any text: what another
 * release or other settings stored must stay readable.
 */
export function storedValue<Known extends string>(known: v.GenericSchema<Known>) {
  return v.pipe(
    v.custom<Known>((value) => typeof value === 'string'),
    describedAs(known),
  )
}

/** Caches the result of `build` for each settings object: a schema costs more to build than to use. */
export function perSettings<T>(build: (settings: Settings) => T): (settings: Settings) => T {
  const built = new WeakMap<Settings, { value: T }>()
  return (settings) => {
    const known = built.get(settings)
    if (known) return known.value
    const value = build(settings)
    built.set(settings, { value })
    return value
  }
}
