import { Duration, Fn, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib'
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from 'aws-cdk-lib/aws-backup'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import { admitEvents, notesQueue } from '../messages/queues.ts'
import type { DataTable } from './data-table.ts'

export interface Backups {
  vault: BackupVault
  /** Only without nightly backups: it holds a message for each backup that completed in the last eight days. */
  completed?: Queue
}

/** Times in which a backup must start, and complete once it has started. By default AWS Backup takes 8 hours and 7 days. */
const windows = { startWindow: Duration.hours(1), completionWindow: Duration.hours(6) }

/**
 * Creates nightly and weekly backups of the table in a vault that outlives the stack. Point-in-time recovery is lost with the
 * table; backups are not. Copies in vaults of other regions and accounts also survive the loss of the region or the
 * account.
 */
export function backups(
  scope: Construct,
  table: DataTable,
  { settings, key }: { settings: Settings; key: Key | undefined },
): Backups {
  const { keptDays, weeklyKeptDays, lock, copies } = settings['storage.backups']
  const { stackId, stackName } = Stack.of(scope)
  const vault = new BackupVault(scope, 'BackupVault', {
    // The vault outlives the stack, so the next stack needs another name: one with the end of the stack's UUID.
    backupVaultName: `${stackName}-${Fn.select(4, Fn.split('-', Fn.select(2, Fn.split('/', stackId))))}`,
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ...(lock && {
      lockConfiguration: {
        minRetention: Duration.days(lock.minDays),
        maxRetention: Duration.days(lock.maxDays),
        // After this number of days nobody, including the root user, can shorten a retention or delete a backup.
        changeableFor: Duration.days(lock.changeableDays),
      },
    }),
    ...(key && { encryptionKey: key }),
  })
  const copyActions = copies.map(({ vaultArn, keptDays: days }, index) => ({
    destinationBackupVault: BackupVault.fromBackupVaultArn(scope, `CopyVault${index}`, vaultArn),
    deleteAfter: Duration.days(days),
  }))
  const rule = (ruleName: string, days: number, weekDay?: string) =>
    new BackupPlanRule({
      ruleName,
      scheduleExpression: Schedule.cron({ hour: '3', minute: '0', ...(weekDay && { weekDay }) }),
      ...windows,
      deleteAfter: Duration.days(days),
      copyActions,
    })
  const weekly = rule('weekly', weeklyKeptDays, 'SUN')
  // Rules that start at the same time make one backup, that of the longer retention. So both rules copy it.
  const plan = new BackupPlan(scope, 'Backups', {
    backupVault: vault,
    backupPlanRules: keptDays === 0 ? [weekly] : [rule('nightly', keptDays), weekly],
  })
  plan.addSelection('Table', {
    resources: [BackupResource.fromDynamoDbTable(table)],
    role: backupRole(scope).withoutPolicyUpdates(),
    disableDefaultBackupPolicy: true,
  })
  return keptDays === 0 ? { vault, completed: noteCompleted(scope, vault, key) } : { vault }
}

/**
 * Notes each completed backup in a queue that nobody reads and that drops its messages after eight days. An empty queue is a
 * missing backup: an alarm looks back seven days at most.
 */
function noteCompleted(scope: Construct, vault: BackupVault, key: Key | undefined): Queue {
  const queue = notesQueue(scope, 'CompletedBackups', { key, kept: Duration.days(8) })
  const rule = new Rule(scope, 'CompletedBackupsRule', {
    description: 'Completed backups of this stage.',
    eventPattern: {
      source: ['aws.backup'],
      detailType: ['Backup Job State Change'],
      detail: { state: ['COMPLETED'], backupVaultArn: [vault.backupVaultArn] },
    },
    targets: [{ bind: () => ({ arn: queue.queueArn }) }],
  })
  admitEvents(queue, rule.ruleArn)
  const reason = 'A note that is lost raises the alarm on a missing backup, which is the safe side.'
  Validations.of(rule).acknowledge({ id: 'Serverless-EventBusDLQ', reason })
  return queue
}

/**
 * Its policy contains the permissions that AWS Backup needs on the keys of the table and the vault, through DynamoDB
 * and by grants: https://docs.aws.amazon.com/aws-backup/latest/devguide/encryption.html
 */
function backupRole(scope: Construct): Role {
  const name = 'service-role/AWSBackupServiceRolePolicyForBackup'
  const role = new Role(scope, 'BackupRole', {
    assumedBy: new ServicePrincipal('backup.amazonaws.com'),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(name)],
  })
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`,
    reason: 'The policy that AWS Backup prescribes for making copies.',
  })
  return role
}
