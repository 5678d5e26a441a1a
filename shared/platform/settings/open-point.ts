import * as v from 'valibot'
import type { SettingKey } from '../../settings/register.ts'

/** Marks a schema that depends on a setting; the API description shows the setting's key as `x-open-point`. */
export function openPoint<Value>(key: SettingKey) {
  return v.metadata<Value, { 'x-open-point': SettingKey }>({ 'x-open-point': key })
}
