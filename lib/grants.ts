import { Stack } from 'aws-cdk-lib'
import type { EventBus } from 'aws-cdk-lib/aws-events'
import { Grant } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Bucket } from 'aws-cdk-lib/aws-s3'
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { ConfigurationSet } from 'aws-cdk-lib/aws-ses'
import type { ConsumerUse } from '#functions/subscriptions.ts'
import type { TaskQueue } from '#shared/platform/events/tasks.ts'
import { exportFolder, importFolder, rejectFolder } from '#shared/platform/formats/file-store.ts'
import type { Use } from '#shared/platform/request/route.ts'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import { acknowledgeFolder, inFolder } from './bucket-folder.ts'
import type { DataTable } from './data-table.ts'
import { acknowledgeRuns, machineOf, type NamedMachine, runsOf } from './import-runs.ts'
import { grantKey } from './key-grants.ts'
import type { Mailing } from './mail.ts'
import type { PartnerSecrets } from './partner-secrets.ts'
import type { Users } from './user-pool.ts'
import type { WorkQueues } from './work-queues.ts'

/** The resources of one deployment. */
export interface Resources {
  /** The data encryption key of a stage with its own key. Functions get grants on it. */
  key?: Key | undefined
  /** The same key, or undefined if the deployment only prepares the key. */
  dataKey?: Key | undefined
  table: DataTable
  secret: Secret
  partners: PartnerSecrets
  bus: EventBus
  files: Bucket
  queues: WorkQueues
  mail: Mailing
  users: Users
  /** Absent for the workflow's own steps: the workflow is created from these functions, so they cannot use it. */
  importMachine?: NamedMachine
}

/** A resource access that a function can declare. */
export type Right = Use | ConsumerUse

/** The actions and resources of each use. Functions get no other permissions on the service's data. */
const rights = {
  'table.read': {
    actions: ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query'],
    on: ({ table }) => table.tableArn,
  },
  'table.find': {
    actions: ['dynamodb:Query'],
    on: ({ table }) => `${table.tableArn}/index/${byIdIndex}`,
  },
  // A transaction requires the permission of each of its writes.
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
  'table.insert': {
    actions: ['dynamodb:PartiQLInsert'],
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
    on: ({ mail: { identity, configurationSet } }) => [
      identity.emailIdentityArn,
      ...(configurationSet ? [arnOf(configurationSet)] : []),
    ],
  },
  'queue.mail_events': receiving('mail_events'),
  'queue.password_resets': receiving('password_resets'),
  // The client id suffices for a call: there is nothing to grant.
  'pool.client': { actions: [], on: () => [] },
  'pool.login': {
    actions: ['cognito-idp:AdminInitiateAuth'],
    on: ({ users }) => users.pool.userPoolArn,
  },
  'queue.imports': receiving('imports'),
  'imports.start': {
    actions: ['states:StartExecution'],
    on: (resources) => machineOf(resources).machine.stateMachineArn,
  },
  'imports.look': {
    actions: ['states:DescribeExecution'],
    on: (resources) => runsOf(machineOf(resources), resources.table),
  },
  // For a multipart upload, PutObject creates, uploads and completes it; AbortMultipartUpload cancels it.
  'files.write': {
    actions: ['s3:PutObject', 's3:AbortMultipartUpload'],
    on: inFolder(exportFolder),
  },
  // A signed link has the permissions of the function that signed it.
  'files.link': {
    actions: ['s3:GetObject'],
    on: inFolder(exportFolder),
  },
  'imports.write': {
    actions: ['s3:PutObject', 's3:AbortMultipartUpload'],
    on: inFolder(importFolder),
  },
  'imports.read': {
    actions: ['s3:GetObject'],
    on: inFolder(importFolder),
  },
  'rejects.write': {
    actions: ['s3:PutObject', 's3:AbortMultipartUpload'],
    on: inFolder(rejectFolder),
  },
  // Also used by signed links.
  'rejects.read': {
    actions: ['s3:GetObject'],
    on: inFolder(rejectFolder),
  },
} satisfies Record<Right, { actions: string[]; on: (resources: Resources) => string | string[] }>

export function grantUses(grantee: IFunction, uses: readonly Right[], resources: Resources): void {
  for (const use of uses) {
    const { actions, on } = rights[use]
    if (actions.length > 0) Grant.addToPrincipal({ grantee, actions, resourceArns: [on(resources)].flat() })
  }
  grantKey(
    grantee,
    resources.key,
    uses.flatMap((use) => rights[use].actions),
  )
  for (const folder of foldersOf(uses)) acknowledgeFolder(grantee, folder, resources)
  if (uses.includes('imports.look')) acknowledgeRuns(grantee, machineOf(resources))
}

function arnOf(configurationSet: ConfigurationSet): string {
  const { configurationSetName: resourceName } = configurationSet
  return Stack.of(configurationSet).formatArn({ service: 'ses', resource: 'configuration-set', resourceName })
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

/** The folder of the bucket for each use. */
const folders: Partial<Record<Right, string>> = {
  'files.write': exportFolder,
  'files.link': exportFolder,
  'imports.write': importFolder,
  'imports.read': importFolder,
  'rejects.write': rejectFolder,
  'rejects.read': rejectFolder,
}

function foldersOf(uses: readonly Right[]): string[] {
  return [...new Set(uses.flatMap((use) => folders[use] ?? []))]
}

export function usesFiles(uses: readonly Right[]): boolean {
  return foldersOf(uses).length > 0
}
