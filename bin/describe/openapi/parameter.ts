import { maxPageSize } from '#shared/platform/listing/list-query.ts'
import type { Settings } from '#shared/settings/register.ts'
import { tenantNamePattern } from '#shared/settings/tenant-name.ts'
import { type Json, openPointMark } from './schemas.ts'

/** Returns the sizes of a page. A larger size counts as the maximum, up to one that is absurd. */
export function pageSizeSchema(settings: Settings): Json {
  const minimum = settings['lists.pageSizeZero'] === 'one' ? 0 : 1
  return { type: 'integer', minimum, maximum: maxPageSize }
}

/** Returns the schema of a tenant's name. */
export function tenantName(settings: Settings): Json {
  return {
    type: 'string',
    pattern: tenantNamePattern(settings).source,
    ...openPointMark('requests.tenantName'),
  }
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
