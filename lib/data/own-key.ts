import { Stack } from 'aws-cdk-lib'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import type { Stage } from '../stage.ts'
import { removalPolicyOf } from './data-table.ts'

/**
 * Creates the key that encrypts the stored data of a stage, rotated each year by AWS; undefined on stages that use keys
 * of AWS. Roles of the account get access through their own policies. The key policy names only the services that store
 * data on their own behalf.
 */
export function ownKey(scope: Construct, stage: Stage): Key | undefined {
  if (!stage.keepsData) return undefined
  const key = new Key(scope, 'Key', {
    alias: `commerce-${stage.name}`,
    description: `Encrypts the data of commerce-${stage.name}.`,
    enableKeyRotation: true,
    removalPolicy: removalPolicyOf(stage),
  })
  for (const statement of servicesThatStore(Stack.of(scope), stage)) key.addToResourcePolicy(statement)
  return key
}

/** Identifies resources by name, because the resources themselves refer to the key. */
function servicesThatStore(stack: Stack, stage: Stage): PolicyStatement[] {
  const { name } = stage
  const arn = (service: string, rest: string) =>
    `arn:${stack.partition}:${service}:${stack.region}:${stack.account}:${rest}`
  const logs = [
    `commerce-${name}-*`,
    `aws-waf-logs-commerce-${name}`,
    `aws-waf-logs-commerce-${name}-users`,
    `API-Gateway-Execution-Logs_*/${name}`,
  ].map((group) => arn('logs', `log-group:${group}`))
  const bus = arn('events', `event-bus/commerce-${name}`)
  return [
    // https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    allowed('EncryptLogs', `logs.${stack.region}.amazonaws.com`, cryptographicActions, {
      ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logs },
    }),
    // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
    allowed(
      'PublishAlarms',
      'cloudwatch.amazonaws.com',
      ['kms:Decrypt', 'kms:GenerateDataKey*'],
      alarmsOf(stack, stage),
    ),
    // CDK grants the key to the bus, but not to its archive.
    // https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-encryption-key-policy.html
    // https://docs.aws.amazon.com/eventbridge/latest/userguide/encryption-archives.html
    allowed(
      'ArchiveEvents',
      'events.amazonaws.com',
      ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:ReEncrypt*'],
      { StringEquals: { 'kms:EncryptionContext:aws:events:event-bus:arn': bus } },
    ),
    // The queues hold the dead letters of the bus and the reports of SES. EventBridge sends neither account nor source
    // to KMS. DescribeKey has no encryption context either, so this statement has no condition. It shows no data.
    // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
    allowed('SendEventsToQueues', 'events.amazonaws.com', ['kms:Decrypt', 'kms:GenerateDataKey'], {
      ArnLike: { 'kms:EncryptionContext:aws:sqs:arn': arn('sqs', `commerce-${name}-*`) },
    }),
    allowed('DescribeForEvents', 'events.amazonaws.com', ['kms:DescribeKey']),
    // CDK and AWS permit this under no condition. The role of the workflow gets data keys under this context only, so no
    // other one decrypts them.
    // https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html
    allowed('DeliverLogsOfWorkflows', 'delivery.logs.amazonaws.com', ['kms:Decrypt'], {
      StringEquals: { 'kms:EncryptionContext:SourceArn': arn('logs', '*') },
    }),
  ]
}

/** Limits a grant to CloudWatch to the alarms of the stage, which are all named by `alarmName`. */
export function alarmsOf({ partition, region, account }: Stack, { name }: Stage) {
  return {
    StringEquals: { 'aws:SourceAccount': account },
    ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:commerce-${name}-*` },
  }
}

const cryptographicActions = [
  'kms:Encrypt',
  'kms:Decrypt',
  'kms:ReEncrypt*',
  'kms:GenerateDataKey*',
  'kms:DescribeKey',
]

function allowed(sid: string, service: string, actions: string[], conditions = {}): PolicyStatement {
  const principals = [new ServicePrincipal(service)]
  return new PolicyStatement({ sid, principals, actions, resources: ['*'], conditions: { ...conditions } })
}
