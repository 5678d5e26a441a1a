import * as lambda from 'aws-cdk-lib/aws-lambda'
import { type Stage, StageError } from '../stage.ts'
import { liveAlias } from './function-names.ts'

const pattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * Returns the id of a deployment. It is required on stages with a rollout.
 * @throws StageError with one sentence
 */
export function releaseOf(stage: Stage, id: unknown): string | undefined {
  if (id === undefined) {
    if (!stage.rollout) return undefined
    throw new StageError(
      `stage ${stage.name} needs a release: name it with -c release=ID, a new one for each deployment`,
    )
  }
  if (typeof id === 'string' && pattern.test(id)) return id
  throw new StageError(
    `-c release=${id} is not a release: use up to 64 letters, digits, dots, underscores and hyphens`,
  )
}

/**
 * Returns what invokes a function in a deployment with a release: the alias `live`. Each release publishes a version of
 * every function, because its id is in the environment of the function: without a change Lambda would publish none. So
 * the alias moves with each deployment, wherever a rollback has left it.
 * @param provisionedConcurrentExecutions the executions that Lambda keeps ready for the version of the alias
 */
export function invokedBy(
  handler: lambda.Function,
  release: string | undefined,
  provisionedConcurrentExecutions?: number,
): lambda.IFunction {
  if (release === undefined) return handler
  // The role of an alias is optional. CDK declares this in two types that are not assignable to each other.
  const version = handler.currentVersion as lambda.IVersion
  return new lambda.Alias(handler, 'Live', {
    aliasName: liveAlias,
    version,
    ...(provisionedConcurrentExecutions !== undefined && { provisionedConcurrentExecutions }),
  }) as lambda.IFunction
}
