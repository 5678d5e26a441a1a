import { ArnFormat, Stack } from 'aws-cdk-lib'
import type { EventBus } from 'aws-cdk-lib/aws-events'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { Bucket } from 'aws-cdk-lib/aws-s3'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { ConsumerUse } from '#functions/subscriptions.ts'
import { queueUrlVariable, type TaskQueue } from '#shared/platform/events/outbox.ts'
import { exportFolder, importFolder, rejectFolder } from '#shared/platform/formats/file-store.ts'
import type { Use } from '#shared/platform/request/route.ts'
import type { DataTable } from '../data/data-table.ts'
import type { Secrets } from '../data/secrets.ts'
import type { Mailing } from '../messages/mail.ts'
import type { WorkQueues } from '../messages/queues.ts'
import type { Users } from './user-pool.ts'

/** The resources of one deployment. */
export interface Resources {
  /** The data encryption key of a stage with its own key. Functions get grants on it. */
  key?: Key | undefined
  table: DataTable
  secrets: Secrets
  bus: EventBus
  files: Bucket
  queues: WorkQueues
  /** Absent if the deployment sends no mail. */
  mail: Mailing | undefined
  users: Users
  /** The public address of the API. Absent for functions that the API invokes. */
  address?: string
  /** Absent for the workflow's own steps: the workflow is created from these functions, so they cannot use it. */
  importMachine?: NamedMachine
}

/** A state machine, with the name that identifies its runs. */
export interface NamedMachine {
  machine: StateMachine
  name: string
}

/** A resource access that a function can declare. That to the table is declared by its items (table-grants.ts). */
export type Right = Use | ConsumerUse

interface ResourceAccess {
  actions: readonly string[]
  on(resources: Resources): string | string[]
  /** The environment variables that name the resource. */
  variables?(resources: Resources): Record<string, string>
  /** The folder of the bucket that `on` covers. */
  folder?: string
}

/** The actions and resources of each use. Functions get no other permissions on the service's data. */
export const rights: Record<Right, ResourceAccess> = {
  'secret.cursors': onSecret('cursors'),
  'secret.one_time_codes': onSecret('one_time_codes'),
  'secret.sessions': onSecret('sessions'),
  'secret.hashes': onSecret('hashes'),
  'secret.codes': onSecret('codes'),
  'secret.mails': onSecret('mails'),
  'secret.resets': onSecret('resets'),
  'secret.subscribers': onSecret('subscribers'),
  'secret.payments': onSecret('payments'),
  'secret.webhooks': onSecret('webhooks'),
  'secret.stripe_webhooks': onSecret('stripe_webhooks'),
  'secret.probe': onSecret('probe'),
  // Anyone may call it: there is nothing to grant.
  'address.call': {
    actions: [],
    on: () => [],
    variables: ({ address }): Record<string, string> =>
      address === undefined ? {} : { PUBLIC_ADDRESS: address },
  },
  'bus.publish': {
    actions: ['events:PutEvents'],
    on: ({ bus }) => bus.eventBusArn,
    variables: ({ bus, queues }) => ({
      EVENT_BUS_NAME: bus.eventBusName,
      PUBLISHED_EVENTS_QUEUE_ARN: queues.published_events.queue.queueArn,
    }),
  },
  'queues.send': {
    actions: ['sqs:SendMessage'],
    on: ({ queues }) => Object.values(queues).map(({ queue }) => queue.queueArn),
    variables: ({ queues }) =>
      Object.fromEntries(
        Object.entries(queues).map(([name, { queue }]) => [
          queueUrlVariable(name as TaskQueue),
          queue.queueUrl,
        ]),
      ),
  },
  'queue.webhooks': onQueue('webhooks'),
  'queue.mail': onQueue('mail'),
  'queue.mail_events': onQueue('mail_events'),
  'queue.password_resets': onQueue('password_resets'),
  'queue.imports': onQueue('imports'),
  'queue.reconciliations': onQueue('reconciliations'),
  'reconciliations.send': {
    actions: ['sqs:SendMessage'],
    on: ({ queues }) => queues.reconciliations.queue.queueArn,
  },
  'queue.published_events': onQueue('published_events'),
  'queue.deliveries': onQueue('deliveries'),
  'deliveries.send': {
    actions: ['sqs:SendMessage'],
    on: ({ queues }) => queues.deliveries.queue.queueArn,
    variables: ({ queues }) => ({ [queueUrlVariable('deliveries')]: queues.deliveries.queue.queueUrl }),
  },
  'mail.send': {
    actions: ['ses:SendEmail'],
    on({ mail }) {
      if (!mail) return []
      const { identity, configurationSet } = mail
      if (!configurationSet) return identity.emailIdentityArn
      const { configurationSetName: resourceName } = configurationSet
      const stack = Stack.of(configurationSet)
      const arn = stack.formatArn({ service: 'ses', resource: 'configuration-set', resourceName })
      return [identity.emailIdentityArn, arn]
    },
    variables: ({ mail }) =>
      mail?.configurationSet ? { MAIL_CONFIGURATION_SET: mail.configurationSet.configurationSetName } : {},
  },
  // The client id suffices for a call: there is nothing to grant.
  'pool.client': {
    actions: [],
    on: () => [],
    variables: ({ users }) => ({ USER_POOL_CLIENT_ID: users.client.userPoolClientId }),
  },
  'pool.login': {
    actions: ['cognito-idp:AdminInitiateAuth'],
    on: ({ users }) => users.pool.userPoolArn,
    variables: ({ users }) => ({ USER_POOL_ID: users.pool.userPoolId }),
  },
  'imports.start': {
    actions: ['states:StartExecution'],
    on: (resources) => machineOf(resources).machine.stateMachineArn,
    variables: (resources) => ({ IMPORT_MACHINE_ARN: machineOf(resources).machine.stateMachineArn }),
  },
  'imports.describe': {
    actions: ['states:DescribeExecution'],
    on: (resources) => statesArn(Stack.of(resources.table), 'execution', `${machineOf(resources).name}:*`),
  },
  // For a multipart upload, PutObject creates, uploads and completes it; AbortMultipartUpload cancels it.
  'files.write': inFolder(exportFolder, 'PutObject', 'AbortMultipartUpload'),
  // A signed link has the permissions of the function that signed it.
  'files.link': inFolder(exportFolder, 'GetObject'),
  'imports.write': inFolder(importFolder, 'PutObject', 'AbortMultipartUpload'),
  'imports.read': inFolder(importFolder, 'GetObject'),
  'rejects.write': inFolder(rejectFolder, 'PutObject', 'AbortMultipartUpload'),
  // Also used by signed links.
  'rejects.read': inFolder(rejectFolder, 'GetObject'),
}

function onSecret(name: keyof Secrets): ResourceAccess {
  return {
    actions: ['secretsmanager:GetSecretValue'],
    on: ({ secrets }) => secrets[name].secretArn,
    variables: ({ secrets }) => ({ [`${name.toUpperCase()}_SECRET_ARN`]: secrets[name].secretArn }),
  }
}

function onQueue(name: TaskQueue): ResourceAccess {
  const actions = ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility']
  return {
    actions: actions.map((action) => `sqs:${action}`),
    on: ({ queues }) => queues[name].queue.queueArn,
    variables: ({ queues }) => ({ [queueUrlVariable(name)]: queues[name].queue.queueUrl }),
  }
}

function inFolder(folder: string, ...actions: string[]): ResourceAccess {
  return {
    actions: actions.map((action) => `s3:${action}`),
    on: ({ files }) => files.arnForObjects(`${folder}*`),
    variables: ({ files }) => ({ FILES_BUCKET: files.bucketName }),
    folder,
  }
}

/** @throws Error for a step of the workflow, which is created before the workflow */
export function machineOf({ importMachine }: Resources): NamedMachine {
  if (!importMachine) throw new Error('a step of the workflow cannot use the workflow')
  return importMachine
}

/** Returns the ARN of a state machine or of its runs. */
export function statesArn(
  stack: Stack,
  resource: 'stateMachine' | 'execution',
  resourceName: string,
): string {
  return stack.formatArn({
    service: 'states',
    resource,
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  })
}
