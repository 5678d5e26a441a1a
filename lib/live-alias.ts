import {
  Alias,
  type CfnAlias,
  type IFunction,
  type IVersion,
  type Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda'
import type { Stage } from './stage.ts'

/**
 * Returns the target of the gateway: the alias `live`, which a deployment moves from version to version. A version
 * consists of the function's code, including the settings, and its configuration. Any change to these creates a new
 * version.
 */
export function invokedBy(handler: LambdaFunction, { rollout }: Stage): IFunction {
  if (!rollout) return handler
  // The role of an alias is optional. CDK declares this in two types that are not assignable to each other.
  const version = handler.currentVersion as IVersion
  return new Alias(handler, 'Live', { aliasName: 'live', version }) as IFunction
}

/** Lets CloudFormation move an alias itself, at once. No alarm, canary or drift of the alias delays the deployment. */
export function bypassRollout(invoked: IFunction): void {
  if (invoked instanceof Alias) delete (invoked.node.defaultChild as CfnAlias).cfnOptions.updatePolicy
}
