import * as v from 'valibot'
import { describedAs } from '../../settings/per-settings.ts'
import type { SettingKey } from '../../settings/register.ts'
import { booleanOf, booleanTexts } from '../formats/text.ts'

/**
 * Returns the schema of a boolean query parameter. @throws VALIDATION.field.enum for a text that is no boolean
 * @param setting the setting that decides about it
 */
export function queryFlag(description = '', setting?: SettingKey) {
  // All of its description is before the transformation, where the description of a request ends.
  return v.pipe(
    v.picklist(booleanTexts),
    describedAs(
      v.pipe(v.boolean(), v.description(description), v.metadata(setting ? { 'x-open-point': setting } : {})),
    ),
    v.transform(booleanOf),
  )
}
