import { pascalCase } from '#lib/functions/function-names.ts'
import { propertiesOf, type Template } from './synthesis.ts'

export interface Statement {
  Effect: string
  Action: string | string[]
  Resource: unknown
  Condition?: Record<string, Record<string, string | string[]>>
}

export function policyOf(template: Template, name: string): { Statement: Statement[] } {
  return propertiesOf(template, `${pascalCase(name)}RoleDefaultPolicy`).PolicyDocument
}

/** Returns the statements of a function's role on the table itself. */
export function statementsOnTable(template: Template, name: string): Statement[] {
  return policyOf(template, name).Statement.filter(({ Resource: on }) => on === '<Table.Arn>')
}

/** Returns the ids of the secrets that the role of a function may read. */
export function readableSecrets(template: Template, name: string): string[] {
  return policyOf(template, name)
    .Statement.filter(({ Action }) => [Action].flat().includes('secretsmanager:GetSecretValue'))
    .flatMap(({ Resource: on }) => [on].flat().map((one) => String(one).replace(/[<>]/g, '')))
}

/** Evaluates statements as IAM does. @param keys the partition keys of a call */
export function allows(statements: readonly Statement[], action: string, keys: readonly string[]): boolean {
  return statements.some(
    ({ Effect, Action, Condition = {} }) =>
      Effect === 'Allow' &&
      [Action].flat().includes(action) &&
      Object.entries(Condition).every(([operator, values]) => meets(operator, values, keys)),
  )
}

function meets(
  operator: string,
  values: Record<string, string | string[]>,
  keys: readonly string[],
): boolean {
  const expected = [values['dynamodb:LeadingKeys'] ?? []].flat()
  if (operator === 'Null') return expected.includes(String(keys.length === 0))
  if (operator !== 'ForAllValues:StringLike') throw new Error(`the test does not know ${operator}`)
  return keys.every((key) => expected.some((pattern) => isLike(key, pattern)))
}

function isLike(key: string, pattern: string): boolean {
  const literals = pattern.split('*').map((part) => part.replace(/[.?+^$()[\]{}|\\]/g, '\\$&'))
  return new RegExp(`^${literals.join('.*')}$`).test(key)
}
