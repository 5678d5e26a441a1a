import {
  Alias,
  type CfnAlias,
  type IFunction,
  type IVersion,
  type Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda'
import type { Stage } from './stage.ts'

/**
 * What the gateway invokes: the alias `live`, which a deployment moves from version to version. A version is made of
 * the function's code, with the settings in it, and of its configuration, and is a new one when any of these changes.
 */
export function invokedBy(handler: LambdaFunction, { rollout }: Stage): IFunction {
  if (!rollout) return handler
  // An alias may be without a role, which the types of CDK say in two ways that do not agree.
  const version = handler.currentVersion as IVersion
  return new Alias(handler, 'Live', { aliasName: 'live', version }) as IFunction
}

/** Lets CloudFormation move an alias itself, at once: no alarm, canary or drift of the alias holds the deployment up. */
export function bypassRollout(invoked: IFunction): void {
  if (invoked instanceof Alias) delete (invoked.node.defaultChild as CfnAlias).cfnOptions.updatePolicy
}
