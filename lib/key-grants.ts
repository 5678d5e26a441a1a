import { Stack } from 'aws-cdk-lib'
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'

/**
 * The services that ask for the key in the name of whoever calls them. The others that store under it, such as the bus
 * and the logs, ask in their own name (own-key.ts).
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
