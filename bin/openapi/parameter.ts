import type { Json } from './schemas.ts'

/** One of the query, a text unless the caller says otherwise. */
export function query(name: string, description: string): Json {
  return { name, in: 'query', description, schema: { type: 'string' } }
}

/** One of the headers, a text unless the caller says otherwise. */
export function header(name: string, description: string): Json {
  return { name, in: 'header', description, schema: { type: 'string' } }
}
