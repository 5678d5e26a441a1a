import {
  DeleteProvisionedConcurrencyConfigCommand,
  GetAliasCommand,
  GetFunctionCommand,
  GetProvisionedConcurrencyConfigCommand,
  type LambdaClient,
  PutProvisionedConcurrencyConfigCommand,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateAliasCommand,
} from '@aws-sdk/client-lambda'
import { liveAlias as Qualifier } from '#lib/functions/function-names.ts'

/** The tag of a function whose provisioned concurrency was removed: the executions to restore. */
const removedTag = 'commerce:provisioned'

/**
 * Removes the provisioned concurrency of a function's alias. The tag is written first: after an interruption,
 * `restoreProvisioned` knows the number.
 * @returns whether there was any, or a call that was interrupted has removed it; not what a freeze has removed
 */
export async function removeProvisioned(FunctionName: string, lambda: LambdaClient): Promise<boolean> {
  const { arn: Resource, removed, isStopped } = await notesOf(FunctionName, lambda)
  const executions = await provisionedIn(FunctionName, lambda)
  if (executions === undefined) return removed !== undefined && !isStopped
  await lambda.send(new TagResourceCommand({ Resource, Tags: { [removedTag]: `${executions}` } }))
  // Lambda accepts no change of it while an alias invokes two versions.
  const alias = { FunctionName, Name: Qualifier }
  const { RoutingConfig } = await lambda.send(new GetAliasCommand(alias))
  if (Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {}).length > 0)
    await lambda.send(new UpdateAliasCommand({ ...alias, RoutingConfig: { AdditionalVersionWeights: {} } }))
  await lambda.send(new DeleteProvisionedConcurrencyConfigCommand({ FunctionName, Qualifier }))
  return true
}

/** Restores what `removeProvisioned` removed. A deployment may have provisioned the function since: that stays. */
export async function restoreProvisioned(FunctionName: string, lambda: LambdaClient): Promise<void> {
  const { arn: Resource, removed } = await notesOf(FunctionName, lambda)
  if (removed === undefined) return
  if ((await provisionedIn(FunctionName, lambda)) === undefined) {
    const ProvisionedConcurrentExecutions = Number(removed)
    const config = { FunctionName, Qualifier, ProvisionedConcurrentExecutions }
    await lambda.send(new PutProvisionedConcurrencyConfigCommand(config))
  }
  await lambda.send(new UntagResourceCommand({ Resource, TagKeys: [removedTag] }))
}

async function notesOf(FunctionName: string, lambda: LambdaClient) {
  const found = await lambda.send(new GetFunctionCommand({ FunctionName }))
  return {
    arn: found.Configuration?.FunctionArn ?? '',
    removed: found.Tags?.[removedTag],
    isStopped: found.Concurrency?.ReservedConcurrentExecutions === 0,
  }
}

/** Returns nothing for an alias without provisioned concurrency, and for a function without the alias. */
export async function provisionedIn(FunctionName: string, lambda: LambdaClient): Promise<number | undefined> {
  try {
    const query = new GetProvisionedConcurrencyConfigCommand({ FunctionName, Qualifier })
    return (await lambda.send(query)).RequestedProvisionedConcurrentExecutions
  } catch (thrown) {
    const { name } = thrown as Error
    if (name === 'ProvisionedConcurrencyConfigNotFoundException' || name === 'ResourceNotFoundException')
      return undefined
    throw thrown
  }
}
