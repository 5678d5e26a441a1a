import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import type { Condition, Update } from '../table/table.ts'

type Attributes = Record<string, AttributeValue>

/** Collects the names and values of an expression. */
class Terms {
  readonly names: Record<string, string> = {}
  readonly values: Record<string, unknown> = {}
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  name(attribute: string): string {
    const placeholder = `#${this.#prefix}${Object.keys(this.names).length}`
    this.names[placeholder] = attribute
    return placeholder
  }

  value(value: unknown): string {
    const placeholder = `:${this.#prefix}${Object.keys(this.values).length}`
    this.values[placeholder] = value
    return placeholder
  }
}

/** The condition members of a write request. */
export interface ConditionInput {
  ConditionExpression: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: Attributes
}

/** Converts a condition to the members of a write request. */
export function expressionOf(condition: Condition): ConditionInput {
  if ('absent' in condition) return { ConditionExpression: 'attribute_not_exists(pk)' }
  if ('absentOrExpiredBy' in condition) {
    return {
      ConditionExpression: 'attribute_not_exists(pk) OR expires_at <= :expired',
      ExpressionAttributeValues: marshall({ ':expired': condition.absentOrExpiredBy }),
    }
  }
  const terms = new Terms('c')
  if ('absentOrBelow' in condition) {
    const { attribute, value } = condition.absentOrBelow
    return {
      ConditionExpression: `attribute_not_exists(pk) OR ${terms.name(attribute)} < ${terms.value(value)}`,
      ExpressionAttributeNames: terms.names,
      ExpressionAttributeValues: marshall(terms.values),
    }
  }
  const { matches, oneOf = {}, below = {} } = condition
  const clauses = [
    ...Object.entries(matches).map(([name, value]) => `${terms.name(name)} = ${terms.value(value)}`),
    ...Object.entries(oneOf).map(
      ([name, values]) => `${terms.name(name)} IN (${values.map((value) => terms.value(value)).join(', ')})`,
    ),
    ...Object.entries(below).map(([name, value]) => `${terms.name(name)} < ${terms.value(value)}`),
  ]
  return {
    ConditionExpression: clauses.join(' AND '),
    ExpressionAttributeNames: terms.names,
    ExpressionAttributeValues: marshall(terms.values),
  }
}

/** Converts an update to an expression with its names and values. */
export function updateOf({ set, copy = {}, increment = [], add = {} }: Update) {
  const terms = new Terms('u')
  const clauses = [
    ...Object.entries(set).map(([name, value]) => `${terms.name(name)} = ${terms.value(value)}`),
    ...Object.entries(copy).map(([target, source]) => `${terms.name(target)} = ${terms.name(source)}`),
    ...[...increment.map((name) => [name, 1] as const), ...Object.entries(add)].map(([name, summand]) => {
      const attribute = terms.name(name)
      return `${attribute} = if_not_exists(${attribute}, ${terms.value(0)}) + ${terms.value(summand)}`
    }),
  ]
  return {
    expression: `SET ${clauses.join(', ')}`,
    names: terms.names,
    values: marshall(terms.values),
  }
}
