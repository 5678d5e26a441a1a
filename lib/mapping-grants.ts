import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { grantKey } from './key-grants.ts'

/** Lets a function's event source mapping read only the stream of the table. */
export function grantStreamRead(grantee: IGrantable, streamArn: string, key?: Key): void {
  const actions = [
    'dynamodb:DescribeStream',
    'dynamodb:GetRecords',
    'dynamodb:GetShardIterator',
    'dynamodb:ListStreams',
  ]
  Grant.addToPrincipal({ grantee, actions, resourceArns: [streamArn] })
  grantKey(grantee, key, actions)
}

/** Lets a function's event source mapping send failed batches to a queue. */
export function grantSend(grantee: IGrantable, queueArn: string, key?: Key): void {
  const actions = ['sqs:SendMessage']
  Grant.addToPrincipal({ grantee, actions, resourceArns: [queueArn] })
  grantKey(grantee, key, actions)
}
