import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import type { EventBus } from 'aws-cdk-lib/aws-events'
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Subscription } from '#functions/subscriptions.ts'
import type { Use } from '#shared/platform/http/route.ts'
import { byIdIndex } from '#shared/platform/table/keys.ts'

/** What the functions of one deployment work on. */
export interface Resources {
  table: Table
  secret: Secret
  bus: EventBus
}

/** Everything that a function can say it uses. */
export type Right = Use | Subscription['uses'][number]

/** The actions that each use stands for, and on what: the only rights that functions get to the service's data. */
const rights = {
  'table.read': {
    actions: ['dynamodb:GetItem', 'dynamodb:Query'],
    on: ({ table }) => table.tableArn,
  },
  'table.find': {
    actions: ['dynamodb:Query'],
    on: ({ table }) => `${table.tableArn}/index/${byIdIndex}`,
  },
  // A transaction asks for the right of each of its writes, and all of them are puts.
  'table.write': {
    actions: ['dynamodb:PutItem'],
    on: ({ table }) => table.tableArn,
  },
  'secret.read': {
    actions: ['secretsmanager:GetSecretValue'],
    on: ({ secret }) => secret.secretArn,
  },
  'bus.publish': {
    actions: ['events:PutEvents'],
    on: ({ bus }) => bus.eventBusArn,
  },
} satisfies Record<Right, { actions: string[]; on: (resources: Resources) => string }>

export function grantUses(grantee: IGrantable, uses: readonly Right[], resources: Resources): void {
  for (const use of uses) {
    const { actions, on } = rights[use]
    Grant.addToPrincipal({ grantee, actions, resourceArns: [on(resources)] })
  }
}

/** Lets a function's event source mapping read the table's stream, and nothing else of the table. */
export function grantStreamRead(grantee: IGrantable, streamArn: string): void {
  Grant.addToPrincipal({
    grantee,
    actions: [
      'dynamodb:DescribeStream',
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:ListStreams',
    ],
    resourceArns: [streamArn],
  })
}
