import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import { Grant } from 'aws-cdk-lib/aws-iam'
import { byIdIndex, type PartitionKind, singleItems } from '#shared/platform/table/keys.ts'
import type { TableCall, TableUse } from '#shared/platform/table/table.ts'
import type { DataTable } from '../data/data-table.ts'

/** The action of each call on the table itself. */
const readActions = { get: 'GetItem', getMany: 'BatchGetItem', query: 'Query' } as const
/** The actions of changes. A transaction needs the permission of each of its changes. */
const changeActions = {
  put: 'PutItem',
  update: 'UpdateItem',
  delete: 'DeleteItem',
  check: 'ConditionCheckItem',
  insert: 'PartiQLInsert',
} as const

/**
 * Lets a function access the items that it declares, and no others.
 *
 * The condition compares the partition key of every item of a call. All changes share one list, because AWS does not
 * document whether a part of a transaction is compared with its own key only, or with the keys of the whole transaction.
 * The index by id has the ids of items as its keys, which name no kind, and it holds only keys.
 * @returns the granted actions
 */
export function grantTable(
  grantee: IGrantable,
  use: TableUse,
  { tableArn }: Pick<DataTable, 'tableArn'>,
): string[] {
  const reads = callsOf(use, readActions).map(({ action, kinds }) => ({ actions: [action], kinds }))
  const changes = callsOf(use, changeActions)
  const granted = [
    ...reads,
    { actions: changes.map(({ action }) => action), kinds: changes.flatMap(({ kinds }) => kinds) },
  ].filter(({ actions }) => actions.length > 0)
  for (const [keys, same] of Map.groupBy(granted, ({ kinds }) => leadingKeys(kinds).join())) {
    Grant.addToPrincipal({
      grantee,
      actions: same.flatMap(({ actions }) => actions),
      resourceArns: [tableArn],
      conditions: {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys.split(',') },
        // Without a key, the condition above would be met.
        Null: { 'dynamodb:LeadingKeys': 'false' },
      },
    })
  }
  const found = use.find ? ['dynamodb:Query'] : []
  if (found.length > 0)
    Grant.addToPrincipal({ grantee, actions: found, resourceArns: [`${tableArn}/index/${byIdIndex}`] })
  return [...granted.flatMap(({ actions }) => actions), ...found]
}

function callsOf(use: TableUse, actions: Partial<Record<TableCall, string>>) {
  return Object.entries(actions).flatMap(([call, action]) => {
    const kinds = use[call as TableCall] ?? []
    return kinds.length > 0 ? [{ action: `dynamodb:${action}`, kinds }] : []
  })
}

/** Returns the patterns of partition keys, each once and in order. */
function leadingKeys(kinds: readonly PartitionKind[]): string[] {
  const single = new Set<PartitionKind>(singleItems)
  return [...new Set(kinds)].sort().map((kind) => (single.has(kind) ? kind : `${kind}#*`))
}
