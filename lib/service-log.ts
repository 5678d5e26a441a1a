import { RemovalPolicy } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { LogGroup, type LogGroupProps } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import type { Stage } from './stage.ts'

/** A log as all of them are: it ends as the stage says, goes with the stack, and lies under the stage's own key. */
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
