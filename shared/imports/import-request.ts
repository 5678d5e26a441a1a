import * as v from 'valibot'
import { type BodyType, defaultBodyKilobytes } from '../platform/request/route.ts'
import { openPoint, perSettings } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'

const File = v.pipe(
  v.string(),
  v.description(
    'CSV in UTF-8, separated by commas; a byte order mark is optional. A header, then one row per customer. The column email is required; name, country and created_at are optional.',
  ),
)
const Address = v.pipe(
  v.strictObject({
    file_url: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(2048),
      v.metadata({ format: 'uri' }),
      openPoint('imports.request'),
    ),
  }),
  v.title('ImportRequest'),
)

/** The body of POST /imports: the file itself, or its URL. */
export function ImportRequest(_settings: Settings, type: BodyType) {
  return type === 'text/csv' ? File : Address
}
export type ImportRequest = v.InferOutput<ReturnType<typeof ImportRequest>>

/** Returns the media types of the body in this deployment. */
export const importTypes = perSettings((settings): BodyType[] =>
  settings['imports.request'].map((shape) => (shape === 'text/csv' ? 'text/csv' : 'application/json')),
)

/** Returns the largest accepted body of any type, in bytes. */
export function importBytes(settings: Settings): number {
  const inline = settings['imports.request'].includes('text/csv')
  return inline ? settings['imports.maxBytes'].inline : defaultBodyKilobytes * 1024
}
