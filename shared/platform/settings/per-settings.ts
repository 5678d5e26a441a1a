import type { Settings } from '../../settings/register.ts'

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
