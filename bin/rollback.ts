import { parseArgs } from 'node:util'
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
import { needed, run } from './command.ts'

const usage = `usage: npm run -s rollback -- --stack NAME [--before TIME] [--dry-run]
Moves the alias of every function back to its newest version from before the last update of the stack, at once and
without CodeDeploy. --before names another time, as ISO 8601. --dry-run only prints the moves, one JSON line each.`

export interface Version {
  version: string
  /** Milliseconds since 1970. */
  createdAt: number
}

/** An alias with the versions of its function. */
export interface Alias {
  /** The name of the function. */
  functionName: string
  name: string
  version: string
  versions: readonly Version[]
}

export interface Move {
  functionName: string
  alias: string
  from: string
  to: string
}

/** The operations of a rollback on a deployment. */
export interface Deployment {
  /** Returns the start of the last update of the stack, in milliseconds since 1970. */
  updatedAt(): Promise<number>
  aliases(): Promise<Alias[]>
  /** Lets an alias send all calls to one version. */
  move(move: Move): Promise<void>
}

/**
 * Returns the moves that restore the versions deployed before a time. A function without an older version stays as it
 * is.
 */
export function movesBefore(aliases: readonly Alias[], time: number): Move[] {
  return aliases.flatMap(({ functionName, name, version: from, versions }) => {
    const [newest] = versions
      .filter(({ createdAt }) => createdAt < time)
      .toSorted((a, b) => Number(b.version) - Number(a.version))
    if (!newest || newest.version === from) return []
    return [{ functionName, alias: name, from, to: newest.version }]
  })
}

/** @param before milliseconds since 1970; the last update of the stack if undefined */
export async function rollBack(
  deployment: Deployment,
  { before, dryRun }: { before?: number | undefined; dryRun: boolean },
): Promise<Move[]> {
  const moves = movesBefore(await deployment.aliases(), before ?? (await deployment.updatedAt()))
  if (!dryRun) for (const move of moves) await deployment.move(move)
  return moves
}

/** Returns access to a stack of the account and region of the environment. */
export function deploymentOf(
  stack: string,
  cloudFormation = new CloudFormationClient({}),
  lambda = new LambdaClient({}),
): Deployment {
  return {
    async updatedAt() {
      const { Stacks: [found] = [] } = await cloudFormation.send(
        new DescribeStacksCommand({ StackName: stack }),
      )
      if (!found?.LastUpdatedTime) throw new Error(`the stack ${stack} was never updated`)
      return found.LastUpdatedTime.getTime()
    },
    async aliases() {
      const arns = await aliasArns(stack, cloudFormation)
      return Promise.all(arns.map((arn) => aliasAt(arn, lambda)))
    },
    async move({ functionName: FunctionName, alias: Name, to: FunctionVersion }) {
      const RoutingConfig = { AdditionalVersionWeights: {} }
      await lambda.send(new UpdateAliasCommand({ FunctionName, Name, FunctionVersion, RoutingConfig }))
    },
  }
}

/** Returns the ARNs of the aliases of a stack and of its nested stacks. */
async function aliasArns(StackName: string, client: CloudFormationClient): Promise<string[]> {
  const found: string[] = []
  for await (const { StackResourceSummaries: page = [] } of paginateListStackResources(
    { client },
    { StackName },
  )) {
    for (const { ResourceType: type, PhysicalResourceId: id = '' } of page) {
      if (type === 'AWS::Lambda::Alias') found.push(id)
      if (type === 'AWS::CloudFormation::Stack') found.push(...(await aliasArns(id, client)))
    }
  }
  return found
}

async function aliasAt(arn: string, client: LambdaClient): Promise<Alias> {
  const [, functionName = '', name = ''] = /:function:([^:]+):([^:]+)$/.exec(arn) ?? []
  const { FunctionVersion: version = '' } = await client.send(
    new GetAliasCommand({ FunctionName: functionName, Name: name }),
  )
  const versions: Version[] = []
  for await (const { Versions: page = [] } of paginateListVersionsByFunction(
    { client },
    { FunctionName: functionName },
  )) {
    for (const { Version: one = '', LastModified: time = '' } of page)
      if (one !== '$LATEST') versions.push({ version: one, createdAt: Date.parse(time) })
  }
  return { functionName, name, version, versions }
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: { stack: text, before: text, 'dry-run': { type: 'boolean', default: false } },
  })
  const before = values.before === undefined ? undefined : Date.parse(values.before)
  if (Number.isNaN(before)) throw new Error(`'${values.before}' is no time`)
  const deployment = deploymentOf(needed(values.stack, 'stack'))
  for (const move of await rollBack(deployment, { before, dryRun: values['dry-run'] })) {
    console.log(JSON.stringify(move))
  }
}

if (import.meta.main) await run(usage, main)
