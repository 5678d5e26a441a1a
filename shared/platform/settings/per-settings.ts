import type { Settings } from '../../settings/register.ts'

/** Builds something from the settings once, as a schema costs more to make than to use. */
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
