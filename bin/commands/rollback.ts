import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateListStackResources,
} from '@aws-sdk/client-cloudformation'
import {
  GetAliasCommand,
  LambdaClient,
  paginateListVersionsByFunction,
  UpdateAliasCommand,
} from '@aws-sdk/client-lambda'

/** The move of an alias from one version of its function to another. */
interface Move {
  functionName: string
  alias: string
  from: string
  to: string
}

interface Rollback {
  stack: string
  /** Restores the versions from before this time. By default, it is the start of the last update of the stack. */
  before?: Date | undefined
  dryRun: boolean
}

/** Moves the aliases of a stack back. An alias whose function has no older version stays. */
export async function rollBack(
  { stack, before, dryRun }: Rollback,
  { cloudFormation, lambda } = { cloudFormation: new CloudFormationClient(), lambda: new LambdaClient() },
): Promise<Move[]> {
  const time = before ?? (await lastUpdate(stack, cloudFormation))
  const arns = await aliasArns(stack, cloudFormation)
  const moves = (await Promise.all(arns.map((arn) => moveOf(arn, time, lambda)))).filter((move) => !!move)
  if (dryRun) return moves
  for (const { functionName: FunctionName, alias: Name, to: FunctionVersion } of moves) {
    const RoutingConfig = { AdditionalVersionWeights: {} }
    await lambda.send(new UpdateAliasCommand({ FunctionName, Name, FunctionVersion, RoutingConfig }))
  }
  return moves
}

async function lastUpdate(StackName: string, client: CloudFormationClient): Promise<Date> {
  const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName }))
  if (!stack?.LastUpdatedTime) throw new Error(`the stack ${StackName} was never updated`)
  return stack.LastUpdatedTime
}

/** Returns the ARNs of the aliases of a stack and of its nested stacks. */
async function aliasArns(StackName: string, client: CloudFormationClient): Promise<string[]> {
  const found: string[] = []
  for await (const page of paginateListStackResources({ client }, { StackName }))
    for (const { ResourceType: type, PhysicalResourceId: id = '' } of page.StackResourceSummaries ?? []) {
      if (type === 'AWS::Lambda::Alias') found.push(id)
      if (type === 'AWS::CloudFormation::Stack') found.push(...(await aliasArns(id, client)))
    }
  return found
}

/** Returns the move of an alias to the newest version from before a time, if it is not there already. */
async function moveOf(arn: string, before: Date, client: LambdaClient): Promise<Move | undefined> {
  const [, functionName = '', alias = ''] = /:function:([^:]+):([^:]+)$/.exec(arn) ?? []
  const names = { FunctionName: functionName, Name: alias }
  const { FunctionVersion: from = '' } = await client.send(new GetAliasCommand(names))
  let to = 0
  for await (const { Versions = [] } of paginateListVersionsByFunction({ client }, names))
    for (const { Version, LastModified = '' } of Versions)
      if (Version !== '$LATEST' && new Date(LastModified) < before) to = Math.max(to, Number(Version))
  return to === 0 || String(to) === from ? undefined : { functionName, alias, from, to: String(to) }
}
