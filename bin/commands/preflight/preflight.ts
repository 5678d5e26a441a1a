import { DescribeStacksCommand, GetTemplateCommand, type Stack } from '@aws-sdk/client-cloudformation'
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SESv2Client } from '@aws-sdk/client-sesv2'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import type { ShardSettings } from '#shared/platform/table/keys.ts'
import {
  type Clients,
  clients,
  type Release,
  releasedFunctions,
  releasesOf,
  type Version,
} from '../deployment/releases.ts'
import { provisionedIn } from '../freeze/provisioned-concurrency.ts'
import { nestedStacks, stackResources } from '../stack/stack-resources.ts'
import type { SynthesizedStack, Template } from './assembly.ts'
import { lostPermissions } from './lost-permissions.ts'
import { existingIdentity, missingServices, unverifiedIdentity } from './needed-services.ts'
import { missedBy, recordedShards } from './recorded-shards.ts'
import { replacedData } from './replaced-data.ts'
import { missingExecutions, namesOfOtherStages } from './shared-account.ts'

/** The clients of preflight. */
export interface PreflightClients extends Clients {
  sts: STSClient
  dynamodb: DynamoDBClient
  ses: SESv2Client
}

/** The stack as it is deployed. */
interface DeployedRelease {
  template: Template
  /** This template, and those of its nested stacks. */
  templates: readonly Template[]
  /** The name of the table. */
  table: string | undefined
  /** The release of the last deployment. */
  release: string | undefined
  /** The releases of which versions are kept, newest first. */
  releases: readonly Release[]
  /** The shards of the versions that serve, and of all that are kept. */
  shards: { live: readonly ShardSettings[]; kept: readonly ShardSettings[] }
}

/** A reason why a deployment must not start, or nothing. */
type DeploymentRule = (stack: SynthesizedStack, deployed: DeployedRelease) => string | undefined

/** The rules on a stack that is deployed. The first deployment of a stack obeys them all. */
const rules: readonly DeploymentRule[] = [
  function newRelease({ template }, { release, releases }) {
    const id = constantOutput(template, 'Release')
    if (id === undefined || (id !== release && releases.every((one) => one.release !== id))) return undefined
    return `the release ${id} was deployed already, so its functions would get no new version. Synthesize with another id: -c release=ID`
  },
  function sameTable({ template, gradual }, deployed) {
    const adopted = constantOutput(template, 'TableName')
    if (!gradual || adopted === undefined || adopted === deployed.table) return undefined
    return `the stack changes from the table ${deployed.table} to ${adopted}, and a gradual rollout would write to two tables. Freeze the stack and synthesize with -c freeze=all, or use -c rollout=bypass`
  },
  function adoptedTableKept({ template }, deployed) {
    const isAdopted = constantOutput(deployed.template, 'TableName') !== undefined
    if (!isAdopted || constantOutput(template, 'TableName') !== undefined) return undefined
    return `the stack changes from the table ${deployed.table} to a new, empty one. Name ${deployed.table} in storage.restoredTable, or a table that was restored from it`
  },
  function dataKept({ template }, deployed) {
    const replaced = replacedData(template, deployed.template)
    if (replaced.length === 0) return undefined
    return `the deployment replaces what holds data by something new and empty: ${replaced.join('; ')}. Take these changes back`
  },
  function notRolledBack({ gradual }, { releases }) {
    const at = releases.findIndex(({ live }) => live > 0)
    const newer = releases.slice(0, Math.max(at, 0)).find(({ rolled_back }) => rolled_back)
    if (!gradual || newer === undefined) return undefined
    return `the stack was rolled back from ${newer.release} to ${releases[at]?.release}, and CodeDeploy refuses to move aliases that a rollback moved. Synthesize with -c rollout=bypass`
  },
  function permissionsKept({ templates, gradual }, deployed) {
    const lost = lostPermissions(templates, deployed.templates)
    if (!gradual || lost.length === 0) return undefined
    return `the release that serves runs under the new roles until all traffic has moved, and after a rollback: ${lost.join('; ')}. Keep what it uses for one more release, or synthesize with -c rollout=bypass`
  },
  function readsFirst({ shards }, { shards: { live } }) {
    const missed = live.map((one) => missedBy(one, [shards])).find((reason) => reason !== undefined)
    if (missed === undefined) return undefined
    return `the release that serves ${missed} to which storage.shards sends new items, so its lists would miss them. Raise only reads in this deployment, and writes in the next one`
  },
  function readsEverything({ shards }, { shards: { kept } }) {
    const missed = missedBy(shards, kept)
    if (missed === undefined) return undefined
    return `storage.shards ${missed} to which a release sent items, so lists would miss them. Raise reads`
  },
]

/**
 * Compares a synthesized stack with the deployed one.
 * @returns the reasons why a deployment must not start; none if it may
 * @throws Error during another deployment
 */
export async function preflight(
  stack: SynthesizedStack,
  using: PreflightClients = preflightClients(),
): Promise<string[]> {
  const foreign = await foreignEnvironment(stack, using)
  // All other answers would be those of the wrong account or region.
  if (foreign !== undefined) return [foreign]
  const deployed = await deployedRelease(stack.name, using)
  const unfrozen = deployed && (await unfrozenFunctions(stack, using))
  const missing = await missingTable(stack, using)
  const executions = await missingExecutions(stack, deployed !== undefined, using)
  const resources = await impossibleResources(stack, deployed?.template ?? {}, using)
  const reasons = [unfrozen, missing, executions, ...resources]
  return [...rules.map((rule) => deployed && rule(stack, deployed)), ...reasons].filter(
    (reason) => reason !== undefined,
  )
}

function preflightClients(): PreflightClients {
  return { ...clients(), sts: new STSClient({}), dynamodb: new DynamoDBClient({}), ses: new SESv2Client({}) }
}

async function foreignEnvironment(
  { environment }: SynthesizedStack,
  { sts }: PreflightClients,
): Promise<string | undefined> {
  if (!environment) return undefined
  const { account, region } = environment
  const { Account } = await sts.send(new GetCallerIdentityCommand({}))
  const here = await sts.config.region()
  if (account === Account && region === here) return undefined
  return `the profile is for account ${account} in ${region}, and the credentials are of account ${Account} in ${here}. Set AWS_PROFILE and AWS_REGION`
}

/** Lambda refuses to stop a function with provisioned concurrency, which `freeze` removes first. */
async function unfrozenFunctions(
  { name, stopped }: SynthesizedStack,
  { cloudFormation, lambda }: PreflightClients,
): Promise<string | undefined> {
  if (stopped.length === 0) return undefined
  const functions = (await stackResources(name, cloudFormation)).filter(
    ({ type, logicalId }) => type === 'AWS::Lambda::Function' && stopped.includes(logicalId),
  )
  const executions = await Promise.all(functions.map(({ physicalId }) => provisionedIn(physicalId, lambda)))
  if (executions.every((one) => one === undefined)) return undefined
  return 'the deployment stops functions that have provisioned concurrency, which Lambda refuses. Run npx commerce freeze first, with --writes or --all as in -c freeze'
}

/** Finds what the deployment cannot create. It would fail and roll back after minutes. */
async function impossibleResources(
  stack: SynthesizedStack,
  deployed: Template,
  using: PreflightClients,
): Promise<string[]> {
  const { environment, template } = stack
  if (!environment) return []
  const services = await missingServices(template, deployed, using.cloudFormation)
  if (services.length > 0)
    return [
      `the region ${environment.region} has no ${services.join(' and no ')}, which the stack needs. Choose another region in aws.environment${services.includes('SES') ? ', or set mail.sender to null' : ''}`,
    ]
  const reasons = await namesOfOtherStages(stack, using)
  const existing = await existingIdentity(template, deployed, using.ses)
  if (existing !== undefined && !reasons.some((reason) => reason.includes(existing)))
    reasons.push(
      `the account has the mail identity ${existing} already, so the stack cannot create it. If a program uses it, choose another domain in mail.sender. Otherwise delete it: aws sesv2 delete-email-identity --email-identity ${existing}`,
    )
  const unverified = await unverifiedIdentity(template, deployed, using.ses)
  if (unverified !== undefined)
    reasons.push(
      `SES has not verified the mail identity ${unverified} of this stack, and Cognito refuses to send from it. Set verified to false in mail.sender until it is verified`,
    )
  return reasons
}

async function missingTable(
  { template }: SynthesizedStack,
  { dynamodb }: PreflightClients,
): Promise<string | undefined> {
  const TableName = constantOutput(template, 'TableName')
  if (TableName === undefined) return undefined
  try {
    await dynamodb.send(new DescribeTableCommand({ TableName }))
    return undefined
  } catch (thrown) {
    if ((thrown as Error).name !== 'ResourceNotFoundException') throw thrown
    return `there is no table ${TableName}, which storage.restoredTable of the profile names. Restore it with npx commerce table restore`
  }
}

/** Statuses of a stack without resources: it was never created, or its creation failed and was taken back. */
const withoutResources = ['REVIEW_IN_PROGRESS', 'ROLLBACK_COMPLETE']

/** Returns nothing for a stack that is not deployed yet. */
async function deployedRelease(name: string, using: PreflightClients): Promise<DeployedRelease | undefined> {
  const found = await stackNamed(name, using)
  if (!found || withoutResources.includes(found.StackStatus ?? '')) return undefined
  const functions = await releasedFunctions(name, using)
  const kept = functions.flatMap(({ versions }) => versions)
  const live = functions.flatMap((one) => one.versions.filter(({ number }) => one.live.includes(number)))
  const templates = await deployedTemplates(name, using)
  const output = (key: string) => found.Outputs?.find(({ OutputKey }) => OutputKey === key)?.OutputValue
  return {
    template: templates[0] ?? {},
    templates,
    table: output('TableName'),
    release: output('Release'),
    releases: releasesOf(functions),
    shards: { live: live.map(shardsOfVersion), kept: kept.map(shardsOfVersion) },
  }
}

/** Returns the template of a stack, and those of its nested stacks. */
async function deployedTemplates(name: string, { cloudFormation }: Clients): Promise<Template[]> {
  const templates: Template[] = []
  for (const StackName of [name, ...(await nestedStacks(name, cloudFormation))]) {
    const { TemplateBody = '{}' } = await cloudFormation.send(new GetTemplateCommand({ StackName }))
    templates.push(JSON.parse(TemplateBody))
  }
  return templates
}

function shardsOfVersion({ environment }: Version): ShardSettings {
  return recordedShards(environment)
}

async function stackNamed(StackName: string, { cloudFormation }: Clients): Promise<Stack | undefined> {
  try {
    return (await cloudFormation.send(new DescribeStacksCommand({ StackName }))).Stacks?.[0]
  } catch (thrown) {
    if (!(thrown as Error).message.includes('does not exist')) throw thrown
    return undefined
  }
}

/** Returns the value of an output that is a constant of the template. */
function constantOutput({ Outputs }: Template, name: string): string | undefined {
  const value = Outputs?.[name]?.Value
  return typeof value === 'string' ? value : undefined
}
