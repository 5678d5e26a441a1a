import { Stack, Validations } from 'aws-cdk-lib'
import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import type { EventBus } from 'aws-cdk-lib/aws-events'
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Bucket, CfnBucket } from 'aws-cdk-lib/aws-s3'
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { EmailIdentity } from 'aws-cdk-lib/aws-ses'
import type { ConsumerUse } from '#functions/subscriptions.ts'
import { exportFolder } from '#shared/platform/files/file-store.ts'
import type { Use } from '#shared/platform/http/route.ts'
import type { TaskQueue } from '#shared/platform/queue/tasks.ts'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import type { PartnerSecrets } from './partner-secrets.ts'
import type { Users } from './user-pool.ts'
import type { WorkQueues } from './work-queues.ts'

/** What the functions of one deployment work on. */
export interface Resources {
  table: Table
  secret: Secret
  partners: PartnerSecrets
  bus: EventBus
  files: Bucket
  queues: WorkQueues
  mail: EmailIdentity
  users: Users
}

/** Everything that a function can say it uses. */
export type Right = Use | ConsumerUse

/** The actions that each use stands for, and on what: the only rights that functions get to the service's data. */
const rights = {
  'table.read': {
    actions: ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query'],
    on: ({ table }) => table.tableArn,
  },
  'table.find': {
    actions: ['dynamodb:Query'],
    on: ({ table }) => `${table.tableArn}/index/${byIdIndex}`,
  },
  // A transaction asks for the right of each of its writes.
  'table.write': {
    actions: ['dynamodb:PutItem'],
    on: ({ table }) => table.tableArn,
  },
  'table.update': {
    actions: ['dynamodb:UpdateItem'],
    on: ({ table }) => table.tableArn,
  },
  'table.delete': {
    actions: ['dynamodb:DeleteItem'],
    on: ({ table }) => table.tableArn,
  },
  'secret.read': {
    actions: ['secretsmanager:GetSecretValue'],
    on: ({ secret }) => secret.secretArn,
  },
  'secret.payments': {
    actions: ['secretsmanager:GetSecretValue'],
    on: ({ partners }) => partners.payments.secretArn,
  },
  'secret.webhooks': {
    actions: ['secretsmanager:GetSecretValue'],
    on: ({ partners }) => partners.webhooks.secretArn,
  },
  'bus.publish': {
    actions: ['events:PutEvents'],
    on: ({ bus }) => bus.eventBusArn,
  },
  'queues.send': {
    actions: ['sqs:SendMessage'],
    on: ({ queues }) => Object.values(queues).map(({ queue }) => queue.queueArn),
  },
  'queue.webhooks': receiving('webhooks'),
  'queue.mail': receiving('mail'),
  'mail.send': {
    actions: ['ses:SendEmail'],
    on: ({ mail }) => mail.emailIdentityArn,
  },
  'queue.password_resets': receiving('password_resets'),
  // Whoever knows the client may call it: there is nothing to grant.
  'pool.client': { actions: [], on: () => [] },
  // Of a file in parts, one right begins it, adds to it and ends it; the other gives it up.
  'files.write': {
    actions: ['s3:PutObject', 's3:AbortMultipartUpload'],
    on: exportsOf,
  },
  // A link may do what the function that signed it may do.
  'files.link': {
    actions: ['s3:GetObject'],
    on: exportsOf,
  },
} satisfies Record<Right, { actions: string[]; on: (resources: Resources) => string | string[] }>

export function grantUses(grantee: IFunction, uses: readonly Right[], resources: Resources): void {
  for (const use of uses) {
    const { actions, on } = rights[use]
    if (actions.length > 0) Grant.addToPrincipal({ grantee, actions, resourceArns: [on(resources)].flat() })
  }
  if (usesFiles(uses)) acknowledgeExports(grantee, resources)
}

function receiving(name: TaskQueue) {
  return {
    actions: [
      'sqs:ReceiveMessage',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
      'sqs:ChangeMessageVisibility',
    ],
    on: ({ queues }: Resources) => queues[name].queue.queueArn,
  }
}

export function usesFiles(uses: readonly Right[]): boolean {
  return uses.includes('files.write') || uses.includes('files.link')
}

function exportsOf({ files }: Resources): string {
  return files.arnForObjects(`${exportFolder}*`)
}

function acknowledgeExports(handler: IFunction, { files }: Resources): void {
  const bucket = Stack.of(files).getLogicalId(files.node.defaultChild as CfnBucket)
  Validations.of(handler.role ?? handler).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<${bucket}.Arn>/${exportFolder}*]`,
    reason:
      'An object has its name only when it is written; the exports lie in one folder, and it reaches no other.',
  })
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
