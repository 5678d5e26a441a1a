import { Stack } from 'aws-cdk-lib'
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'

/**
 * The services that use the key on behalf of their caller. Others, such as the bus and the logs, use it on their own
 * behalf (own-key.ts). Permissions that each service needs of its callers:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
 * https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
 * https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html
 */
const viaServices = ['dynamodb', 's3', 'secretsmanager', 'sqs', 'states']

/** The actions that store data. All other actions only read, or access no data. */
const writeActions =
  /^(dynamodb:(Put|Update|Delete)Item|dynamodb:PartiQLInsert|s3:PutObject|sqs:SendMessage|states:StartExecution)$/

/** DynamoDB needs more than it appears to use. AWS documents these as the minimum. */
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

/**
 * Lets a role use the stage's own key, if there is one, only as these actions need it and only through their services.
 */
export function grantKey(grantee: IGrantable, key: Key | undefined, actions: readonly string[]): void {
  if (!key) return
  for (const service of viaServices) {
    const needed = actions.filter((action) => action.startsWith(`${service}:`))
    if (needed.length === 0) continue
    const { reading, writing } = service === 'dynamodb' ? ofTables : ofOthers
    Grant.addToPrincipal({
      grantee,
      actions: needed.some((action) => writeActions.test(action)) ? [...reading, ...writing] : reading,
      resourceArns: [key.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `${service}.${Stack.of(key).region}.amazonaws.com` } },
    })
  }
}
