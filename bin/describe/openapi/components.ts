import type { Json } from './schemas.ts'

/**
 * Moves every schema with a title to `components.schemas`, under its title, and refers to it instead.
 * @param schemas receives the schemas, by title
 * @throws Error if two schemas with one title differ
 */
export function withNamedSchemas<Node>(node: Node, schemas: Record<string, Json>): Node {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map((one) => withNamedSchemas(one, schemas)) as Node
  const { title, ...rest } = node as Json
  const entries = Object.entries(typeof title === 'string' ? rest : node)
  const moved: Json = Object.fromEntries(
    entries.map(([key, value]) => [key, isValue(key) ? value : withNamedSchemas(value, schemas)]),
  )
  if (typeof title !== 'string') return moved as Node
  schemas[title] ??= moved
  if (JSON.stringify(schemas[title]) !== JSON.stringify(moved))
    throw new Error(`two different schemas have the title ${title}`)
  return reference('schemas', title) as Node
}

/** Returns whether the value of a key is data, which is not searched for schemas. */
function isValue(key: string): boolean {
  return ['example', 'examples', 'default', 'enum', 'const'].includes(key)
}

export function reference(kind: 'schemas' | 'headers' | 'parameters' | 'responses', name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}

/** Returns a part of a document with its references resolved. None of them is recursive. */
// biome-ignore lint/suspicious/noExplicitAny: a document has any shape
export function resolved(node: any, document: any): any {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map((one) => resolved(one, document))
  const { $ref, ...rest } = node
  const own = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, resolved(value, document)]))
  if (typeof $ref !== 'string') return own
  const [, ...keys] = $ref.split('/')
  const target = keys.reduce((found, key) => found[key], document)
  return { ...resolved(target, document), ...own }
}
