/**
 * Matches a text that names facts in their order, whatever the words between them.
 * @param facts names, ids and numbers, separated by `…`
 */
export function naming(facts: string): RegExp {
  const escaped = facts.split(' … ').map((fact) => fact.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(escaped.join(String.raw`[\s\S]*`))
}
