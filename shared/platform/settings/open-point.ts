import * as v from 'valibot'
import type { SettingKey } from '../../settings/register.ts'

/** Says of a schema that a profile decides it; the API description marks that very place with `x-open-point`. */
export function openPoint<Value>(key: SettingKey) {
  return v.metadata<Value, { 'x-open-point': SettingKey }>({ 'x-open-point': key })
}
