import { Stack } from 'aws-cdk-lib'
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'

/**
 * The services that use the key in the name of their caller. The others, such as the bus and the logs, use it in their
 * own name (own-key.ts). What each needs of its callers:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
 * https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
 * https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html
 */
const asking = ['dynamodb', 's3', 'secretsmanager', 'sqs', 'states']

/** The actions that store something; all others only read, or read nothing. */
const storing = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:PartiQLInsert',
  's3:PutObject',
  'sqs:SendMessage',
  'states:StartExecution',
]

/** DynamoDB asks for more than it seems to use; AWS names these as the least. */
const ofTables = {
  reading: ['kms:Decrypt', 'kms:DescribeKey'],
  writing: [
    'kms:Encrypt',
    'kms:ReEncryptFrom',
    'kms:ReEncryptTo',
    'kms:GenerateDataKey',
    'kms:GenerateDataKeyWithoutPlaintext',
  ],
}
const ofOthers = { reading: ['kms:Decrypt'], writing: ['kms:GenerateDataKey'] }

/** Lets a role use the stage's own key, if there is one, as far as these actions need it and through their services. */
export function grantKey(grantee: IGrantable, key: Key | undefined, actions: readonly string[]): void {
  if (!key) return
  for (const service of asking) {
    const needed = actions.filter((action) => action.startsWith(`${service}:`))
    if (needed.length === 0) continue
    const { reading, writing } = service === 'dynamodb' ? ofTables : ofOthers
    Grant.addToPrincipal({
      grantee,
      actions: needed.some((action) => storing.includes(action)) ? [...reading, ...writing] : reading,
      resourceArns: [key.keyArn],
      conditions: {
        StringEquals: { 'kms:ViaService': `${service}.${Stack.of(key).region}.amazonaws.com` },
      },
    })
  }
}
