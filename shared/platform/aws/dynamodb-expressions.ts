import type { TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import type { Item } from '../table/keys.ts'
import type { Change, Condition, Put, Range, Update } from '../table/table.ts'

/**
 * Returns the statement that inserts an item. PartiQL's INSERT never overwrites an item, and a batch of them is one request. Conditional puts have no
 * batch.
 */
export function insertion(name: string, item: Item) {
  const values = marshall(item, { removeUndefinedValues: true })
  const members = Object.keys(values).map((attribute) => `'${attribute}': ?`)
  return {
    Statement: `INSERT INTO "${name}" VALUE {${members.join(', ')}}`,
    Parameters: Object.values(values),
  }
}

/** Returns a change as a part of a transaction. */
export function transactItem(name: string, change: Change): TransactWriteItem {
  if ('item' in change) return { Put: conditionalPut(name, change) }
  if ('update' in change) return { Update: updateInput(name, change) }
  const terms = new Terms()
  const common = { TableName: name, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }
  if ('remove' in change) {
    const condition = conditionOf(change.condition, terms)
    return { Delete: { ...common, Key: marshall(change.remove), ...condition, ...terms.members() } }
  }
  const ConditionExpression = expressionOf(change.condition, terms)
  return {
    ConditionCheck: { ...common, Key: marshall(change.check), ConditionExpression, ...terms.members() },
  }
}

/** Returns the input of an update. */
export function updateInput(name: string, change: Update) {
  const terms = new Terms()
  const condition = conditionOf(change.condition, terms)
  const UpdateExpression = updateOf(change, terms)
  return {
    TableName: name,
    Key: marshall(change.update),
    UpdateExpression,
    ...condition,
    ...terms.members(),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  }
}

/** Returns the input of a put. */
export function conditionalPut(name: string, { item, condition }: Put) {
  const terms = new Terms()
  return {
    TableName: name,
    Item: marshall(item, { removeUndefinedValues: true }),
    ...conditionOf(condition, terms),
    ...terms.members(),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  }
}

/** Returns the input of a query of a range. */
export function rangeQuery(
  name: string,
  { partition, low, high }: Pick<Range, 'partition' | 'low' | 'high'>,
) {
  return {
    TableName: name,
    KeyConditionExpression: 'pk = :partition AND sk BETWEEN :low AND :high',
    ExpressionAttributeValues: marshall({ ':partition': partition, ':low': low, ':high': high }),
    ConsistentRead: true,
  }
}

/** Collects the names and values of the expressions of a request. */
class Terms {
  readonly #names: Record<string, string> = {}
  readonly #values: Record<string, unknown> = {}

  name(attribute: string): string {
    const placeholder = `#n${Object.keys(this.#names).length}`
    this.#names[placeholder] = attribute
    return placeholder
  }

  value(value: unknown): string {
    const placeholder = `:v${Object.keys(this.#values).length}`
    this.#values[placeholder] = value
    return placeholder
  }

  /** Returns the members of the request. DynamoDB rejects empty ones. */
  members() {
    const hasNames = Object.keys(this.#names).length > 0
    const hasValues = Object.keys(this.#values).length > 0
    return {
      ...(hasNames && { ExpressionAttributeNames: this.#names }),
      ...(hasValues && { ExpressionAttributeValues: marshall(this.#values) }),
    }
  }
}

function conditionOf(condition: Condition | 'none', terms: Terms): { ConditionExpression?: string } {
  return condition === 'none' ? {} : { ConditionExpression: expressionOf(condition, terms) }
}

function expressionOf(condition: Condition, terms: Terms): string {
  const absent = 'attribute_not_exists(pk)'
  if ('absent' in condition) return absent
  if ('absentOrExpiredBy' in condition) {
    return `${absent} OR expires_at <= ${terms.value(condition.absentOrExpiredBy)}`
  }
  if ('absentOrBelow' in condition) {
    const { attribute, value } = condition.absentOrBelow
    const name = terms.name(attribute)
    return `attribute_not_exists(${name}) OR ${name} < ${terms.value(value)}`
  }
  if ('absentOrShorter' in condition) {
    const { attribute, length } = condition.absentOrShorter
    return `${absent} OR size(${terms.name(attribute)}) < ${terms.value(length)}`
  }
  const { matches, oneOf = {}, below = {}, lacks = [] } = condition
  return [
    ...Object.entries(matches).map(([name, value]) => `${terms.name(name)} = ${terms.value(value)}`),
    ...Object.entries(oneOf).map(
      ([name, values]) => `${terms.name(name)} IN (${values.map((value) => terms.value(value)).join(', ')})`,
    ),
    ...Object.entries(below).map(([name, value]) => `${terms.name(name)} < ${terms.value(value)}`),
    ...lacks.map((name) => `attribute_not_exists(${terms.name(name)})`),
  ].join(' AND ')
}

function updateOf({ set, copy = {}, increment = [], add = {}, append = {} }: Update, terms: Terms): string {
  const clauses = [
    ...Object.entries(set).map(([name, value]) => `${terms.name(name)} = ${terms.value(value)}`),
    ...Object.entries(copy).map(([target, source]) => `${terms.name(target)} = ${terms.name(source)}`),
    ...[...increment.map((name) => [name, 1] as const), ...Object.entries(add)].map(([name, summand]) => {
      const attribute = terms.name(name)
      return `${attribute} = if_not_exists(${attribute}, ${terms.value(0)}) + ${terms.value(summand)}`
    }),
    ...Object.entries(append).map(([name, elements]) => {
      const attribute = terms.name(name)
      const list = `if_not_exists(${attribute}, ${terms.value([])})`
      return `${attribute} = list_append(${list}, ${terms.value(elements)})`
    }),
  ]
  return `SET ${clauses.join(', ')}`
}
