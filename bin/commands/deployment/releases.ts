import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import {
  type AliasConfiguration,
  DeleteAliasCommand,
  DeleteFunctionCommand,
  LambdaClient,
  paginateListAliases,
  paginateListVersionsByFunction,
} from '@aws-sdk/client-lambda'
import { releaseVariable } from '#lib/functions/function-names.ts'
import { recordedShards, writesMore } from '../preflight/recorded-shards.ts'
import { stackResources } from '../stack/stack-resources.ts'

/** The clients of the commands on releases. */
export interface Clients {
  cloudFormation: CloudFormationClient
  lambda: LambdaClient
}

/** Returns clients that wait when they are throttled: Lambda allows 15 such calls a second. */
export function clients(): Clients {
  const patient = { maxAttempts: 10, retryMode: 'adaptive' }
  return { cloudFormation: new CloudFormationClient(patient), lambda: new LambdaClient(patient) }
}

/** A function of a stack, with the versions that it kept. */
export interface ReleasedFunction {
  name: string
  /** The alias that invocations use. */
  alias: string
  /** The numbers of the versions that the alias invokes: two while a deployment shifts traffic. */
  live: readonly string[]
  /** In the order of their publication. */
  versions: readonly Version[]
}

export interface Version {
  number: string
  /** Absent for a version that no deployment of this service published. */
  release?: string | undefined
  /** ISO 8601. */
  publishedAt: string
  environment: Readonly<Record<string, string>>
  /** The alias that marks it as rolled back. */
  mark?: string | undefined
  /** Whether any other alias refers to it. */
  used: boolean
}

/** A release of a stack. */
export interface Release {
  release: string
  published_at: string
  /** How many functions have a version of it. */
  functions: number
  /** How many functions invoke their version of it. */
  live: number
  rolled_back: boolean
}

/**
 * Returns the alias that marks a version as rolled back. Aliases are stored with their function: no deployment changes
 * one that is not in the template, and the operator needs no other service to write it.
 */
export function markOf({ number }: Version): string {
  return `rolled-back-${number}`
}

/** @throws Error during a deployment, which moves aliases itself */
export async function releasedFunctions(stack: string, clients: Clients): Promise<ReleasedFunction[]> {
  await assertSettled(stack, clients)
  const aliases = (await stackResources(stack, clients.cloudFormation)).filter(
    ({ type }) => type === 'AWS::Lambda::Alias',
  )
  return Promise.all(aliases.map(({ physicalId }) => releasedFunction(physicalId, clients)))
}

async function assertSettled(StackName: string, { cloudFormation }: Clients): Promise<void> {
  const { Stacks: [stack] = [] } = await cloudFormation.send(new DescribeStacksCommand({ StackName }))
  const status = stack?.StackStatus ?? ''
  if (!status.endsWith('_IN_PROGRESS') || status.endsWith('_CLEANUP_IN_PROGRESS')) return
  throw new Error(
    `a deployment is in progress (${status}): wait until it ends, or take it back with aws cloudformation cancel-update-stack --stack-name ${StackName}`,
  )
}

async function releasedFunction(arn: string, { lambda: client }: Clients): Promise<ReleasedFunction> {
  const [, name = '', alias = ''] = /:function:([^:]+):([^:]+)$/.exec(arn) ?? []
  const aliases: AliasConfiguration[] = []
  for await (const { Aliases = [] } of paginateListAliases({ client }, { FunctionName: name }))
    aliases.push(...Aliases)
  const versions: Version[] = []
  for await (const { Versions = [] } of paginateListVersionsByFunction({ client }, { FunctionName: name }))
    for (const { Version: number = '', LastModified = '', Environment } of Versions) {
      if (number === '$LATEST') continue
      const environment = Environment?.Variables ?? {}
      const names = aliases.filter((one) => invokedByAlias(one).includes(number)).map(({ Name = '' }) => Name)
      const version = {
        number,
        release: environment[releaseVariable],
        publishedAt: new Date(LastModified).toISOString(),
        environment,
      }
      const mark = names.find((one) => one === markOf({ ...version, used: false }))
      versions.push({ ...version, mark, used: names.some((one) => one !== mark) })
    }
  versions.sort((a, b) => Number(a.number) - Number(b.number))
  return { name, alias, live: aliases.filter(({ Name }) => Name === alias).flatMap(invokedByAlias), versions }
}

function invokedByAlias({ FunctionVersion = '', RoutingConfig }: AliasConfiguration): string[] {
  return [FunctionVersion, ...Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {})]
}

/** Returns the version of a function in a release. */
export function versionIn({ versions }: ReleasedFunction, release: string): Version | undefined {
  return versions.findLast((version) => version.release === release)
}

/** Returns the releases of which versions are kept, newest first. */
export function releasesOf(functions: readonly ReleasedFunction[]): Release[] {
  const releases = new Map<string, Release>()
  for (const one of functions) {
    for (const id of new Set(one.versions.flatMap(({ release }) => release ?? []))) {
      const { number, publishedAt, mark } = versionIn(one, id) as Version
      const known = releases.get(id)
      releases.set(id, {
        release: id,
        published_at: [publishedAt, known?.published_at ?? ''].sort()[1] ?? '',
        functions: (known?.functions ?? 0) + 1,
        live: (known?.live ?? 0) + (one.live.includes(number) ? 1 : 0),
        rolled_back: (known?.rolled_back ?? false) || mark !== undefined,
      })
    }
  }
  return [...releases.values()].sort((a, b) => (a.published_at < b.published_at ? 1 : -1))
}

/**
 * Deletes the versions of all but the newest releases, with their marks. A version that an alias invokes is kept: the
 * release that serves may be an older one. So is a release that stored items in more shards than all newer ones: it
 * says which shards lists have to read.
 * @returns the number of deleted versions
 */
export async function pruneReleases(stack: string, keep: number, clients: Clients): Promise<number> {
  const functions = await releasedFunctions(stack, clients)
  const kept = new Set(
    releasesOf(functions)
      .map(({ release }) => release)
      .slice(0, keep),
  )
  const spread = new Set(
    functions.flatMap(({ versions }) => versions.filter(isSpread).map(({ release }) => release)),
  )
  let deleted = 0
  for (const { name: FunctionName, versions } of functions) {
    const firstKept = versions.findIndex(({ release }) => release !== undefined && kept.has(release))
    for (const version of versions.slice(0, Math.max(firstKept, 0))) {
      const { number: Qualifier, mark: Name, used, release = '' } = version
      if (used || spread.has(release)) continue
      if (Name !== undefined) await clients.lambda.send(new DeleteAliasCommand({ FunctionName, Name }))
      await clients.lambda.send(new DeleteFunctionCommand({ FunctionName, Qualifier }))
      deleted += 1
    }
  }
  return deleted
}

function isSpread({ environment }: Version, at: number, versions: readonly Version[]): boolean {
  const newer = versions.slice(at + 1).map((one) => recordedShards(one.environment))
  return newer.length > 0 && writesMore(recordedShards(environment), newer)
}
