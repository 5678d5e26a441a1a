import { RemovalPolicy } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { LogGroup, type LogGroupProps } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import type { Stage } from '../stage.ts'

/**
 * Creates a log group with the retention of the stage. It is deleted with the stack and encrypted with the stage's own
 * key.
 */
export function serviceLog(
  scope: Construct,
  id: string,
  { stage, key, ...more }: { stage: Stage; key?: Key | undefined } & LogGroupProps,
): LogGroup {
  return new LogGroup(scope, id, {
    retention: stage.logRetention,
    removalPolicy: RemovalPolicy.DESTROY,
    ...(key && { encryptionKey: key }),
    ...more,
  })
}
