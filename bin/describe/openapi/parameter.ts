import { absurdPageSize } from '#shared/platform/listing/list-query.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Json } from './schemas.ts'

/** Returns the accepted sizes of a page. Sizes above 100 count as 100, up to one that is absurd. */
export function pageSize(settings: Settings): Json {
  const minimum = settings['lists.pageSizeZero'] === 'one' ? 0 : 1
  return { type: 'integer', minimum, maximum: absurdPageSize }
}

/** Returns a parameter of type string. */
export function query(name: string, description: string, more: Json = {}): Json {
  return { name, in: 'query', description, schema: { type: 'string' }, ...more }
}

export function path(name: string, description: string): Json {
  return { ...query(name, description), in: 'path', required: true, schema: { type: 'string', minLength: 1 } }
}

export function header(name: string, description: string, more: Json = {}): Json {
  return { ...query(name, description, more), in: 'header' }
}
