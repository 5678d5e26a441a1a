import type { Json } from './schemas.ts'

/** Returns a query parameter of type string. */
export function query(name: string, description: string): Json {
  return { name, in: 'query', description, schema: { type: 'string' } }
}

/** Returns a header parameter of type string. */
export function header(name: string, description: string): Json {
  return { name, in: 'header', description, schema: { type: 'string' } }
}
