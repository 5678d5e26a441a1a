import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { SESv2Client } from '@aws-sdk/client-sesv2'
import { STSClient } from '@aws-sdk/client-sts'
import type { PreflightClients } from '#bin/commands/preflight/preflight.ts'
import { answering, awsError } from '#test/support/fake-clients.ts'

interface Version {
  release?: string | undefined
  table?: string | undefined
  /** The record of the setting storage.shards. */
  shards?: string | undefined
  at: number
}

interface Deployed {
  /** By number. Numbers are not used again. */
  versions: Map<string, Version>
  published: number
  /** The versions of each alias, by its name. */
  aliases: Map<string, { FunctionVersion: string; Description?: string; RoutingConfig?: object }>
  tags: Record<string, string>
  /** The provisioned concurrency of the alias `live`. */
  provisioned?: number | undefined
  /** The reserved concurrency. */
  reserved?: number
}

/**
 * A fake of CloudFormation, STS, DynamoDB and Lambda with the functions of the stack of prod; some are in a nested stack. There is
 * one table, `restored-1`.
 */
export interface FakeFunctions {
  clients: PreflightClients
  /** The status of the stack; nothing if there is no such stack. */
  status: string | undefined
  /** The outputs of the stack, by name. */
  outputs: Record<string, string>
  /** The template of the stack, and that of its nested stack. */
  template: object
  nested: object
  /** The templates of the other stacks, by name. */
  others: Record<string, object>
  /** The executions that all functions of the account may have, and what those outside of the stack reserve. */
  quota: number
  reservedByOthers: number
  /** The types of resources that the region does not have. */
  missingTypes: string[]
  /** The mail identities of the account. */
  identities: string[]
  /** Whether SES has verified them. */
  isVerified: boolean
  functions: Map<string, Deployed>
  /** Publishes a version of each function and moves its alias, as a deployment does. */
  deploy(
    release: string | undefined,
    options?: { table?: string; shards?: string | undefined; without?: string[] },
  ): void
  /** Stops with an error before this many further changes. */
  failAfter(changes: number): void
  /** The version that each function serves. */
  live(): Record<string, string | undefined>
  /** The release that each function serves. */
  serving(): Record<string, string | undefined>
}

/** Returns the record of a release: shards for writes and for reads of all tenants, and of `large`. */
export function recordOf(all: [writes: number, reads: number], large = all): string {
  const [writes, reads] = all
  const tenants = { large: { writes: large[0], reads: large[1] } }
  return JSON.stringify({ default: { writes, reads }, tenants })
}

export function fakeFunctions(names: readonly string[]): FakeFunctions {
  const functions = new Map<string, Deployed>()
  let hour = 0
  let changesLeft = Number.POSITIVE_INFINITY
  const functionOf = (name: string) => {
    const found = functions.get(name)
    if (!found) throw awsError('ResourceNotFoundException')
    return found
  }
  /** Returns a function that is about to change. */
  const changed = (name: string) => {
    if (changesLeft-- <= 0) throw awsError('interrupted')
    return functionOf(name)
  }
  const isShifting = ({ aliases }: Deployed) =>
    Object.keys(Object(aliases.get('live')?.RoutingConfig).AdditionalVersionWeights ?? {}).length > 0
  const provision = (name: string, executions: number | undefined) => {
    const one = changed(name)
    if (isShifting(one)) throw awsError('InvalidParameterValueException')
    one.provisioned = executions
  }
  const resource = (ResourceType: string, PhysicalResourceId: string, LogicalResourceId = 'x') => ({
    ...{ ResourceType, PhysicalResourceId, LogicalResourceId },
  })
  const resourcesOf = (some: readonly string[]) =>
    some
      .filter((name) => functions.has(name))
      .flatMap((name) => [
        resource('AWS::Lambda::Function', name, name),
        resource('AWS::Lambda::Alias', `arn:aws:lambda:us-east-1:111122223333:function:${name}:live`),
      ])

  const fakeOf = answering({
    GetCallerIdentity: () => ({ Account: '111122223333' }),
    DescribeTable({ TableName }) {
      if (TableName !== 'restored-1') throw awsError('ResourceNotFoundException')
    },
    DescribeType({ TypeName }) {
      if (fake.missingTypes.includes(TypeName)) throw awsError('TypeNotFoundException')
    },
    GetEmailIdentity({ EmailIdentity }) {
      if (!fake.identities.includes(EmailIdentity)) throw awsError('NotFoundException')
      return { VerifiedForSendingStatus: fake.isVerified }
    },
    DescribeStacks() {
      if (fake.status === undefined) throw awsError('ValidationError', 'Stack with id s does not exist')
      const outputs = Object.entries(fake.outputs)
      const Outputs = outputs.map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue }))
      return { Stacks: [{ StackStatus: fake.status, Outputs }] }
    },
    GetTemplate({ StackName }) {
      const isOther = ['commerce-local', 'commerce-dev', 'commerce-staging'].includes(StackName)
      const own = StackName === 'nested' ? fake.nested : fake.template
      const template = isOther ? fake.others[StackName] : own
      if (!template) throw awsError('ValidationError', `Stack with id ${StackName} does not exist`)
      return { TemplateBody: JSON.stringify(template) }
    },
    GetAccountSettings() {
      const own = [...functions.values()].reduce((sum, { reserved = 0 }) => sum + reserved, 0)
      const UnreservedConcurrentExecutions = fake.quota - fake.reservedByOthers - own
      return { AccountLimit: { ConcurrentExecutions: fake.quota, UnreservedConcurrentExecutions } }
    },
    GetFunctionConcurrency: ({ FunctionName }) => ({
      ReservedConcurrentExecutions: functionOf(FunctionName).reserved,
    }),
    ListStackResources: ({ StackName }) => ({
      StackResourceSummaries:
        StackName === 'nested'
          ? resourcesOf(names.slice(1))
          : [...resourcesOf(names.slice(0, 1)), resource('AWS::CloudFormation::Stack', 'nested')],
    }),
    ListVersionsByFunction({ FunctionName }) {
      const { versions } = functionOf(FunctionName)
      const listed = [...versions].map(([Version, { release, table, shards, at }]) => ({
        Version,
        LastModified: `2026-01-01T${String(at).padStart(2, '0')}:00:00.000+0000`,
        Environment: {
          Variables: {
            ...(release && { RELEASE: release }),
            ...(table && { TABLE_NAME: table }),
            ...(shards && { STORAGE_SHARDS: shards }),
          },
        },
      }))
      return { Versions: [{ ...listed.at(-1), Version: '$LATEST' }, ...listed] }
    },
    ListAliases: ({ FunctionName }) => ({
      Aliases: [...functionOf(FunctionName).aliases].map(([Name, alias]) => ({ Name, ...alias })),
    }),
    GetAlias: ({ FunctionName, Name }) => functionOf(FunctionName).aliases.get(Name),
    GetFunction({ FunctionName }) {
      const { tags, reserved } = functionOf(FunctionName)
      return {
        Configuration: { FunctionArn: FunctionName },
        Tags: tags,
        Concurrency: { ReservedConcurrentExecutions: reserved },
      }
    },
    GetProvisionedConcurrencyConfig({ FunctionName }) {
      const { provisioned } = functionOf(FunctionName)
      if (provisioned === undefined) throw awsError('ProvisionedConcurrencyConfigNotFoundException')
      return { RequestedProvisionedConcurrentExecutions: provisioned }
    },
    PutProvisionedConcurrencyConfig({ FunctionName, ProvisionedConcurrentExecutions }) {
      provision(FunctionName, ProvisionedConcurrentExecutions)
    },
    DeleteProvisionedConcurrencyConfig({ FunctionName }) {
      provision(FunctionName, undefined)
    },
    TagResource({ Resource, Tags }) {
      Object.assign(changed(Resource).tags, Tags)
    },
    UntagResource({ Resource, TagKeys }) {
      const { tags } = changed(Resource)
      for (const key of TagKeys) delete tags[key]
    },
    DeleteFunction({ FunctionName, Qualifier }) {
      const { versions, aliases } = changed(FunctionName)
      if ([...aliases.values()].some(({ FunctionVersion }) => FunctionVersion === Qualifier))
        throw awsError('ResourceConflictException')
      if (!versions.delete(Qualifier)) throw awsError('ResourceNotFoundException')
    },
    DeleteAlias({ FunctionName, Name }) {
      if (!changed(FunctionName).aliases.delete(Name)) throw awsError('ResourceNotFoundException')
    },
    CreateAlias({ FunctionName, Name, ...alias }) {
      const { aliases } = changed(FunctionName)
      if (aliases.has(Name)) throw awsError('ResourceConflictException')
      aliases.set(Name, alias)
    },
    UpdateAlias({ FunctionName, Name, ...changes }) {
      const { aliases, provisioned } = changed(FunctionName)
      const before = aliases.get(Name)
      const alias = { ...before, ...changes }
      // Requests reach the old version until the new one has allocated its provisioned concurrency.
      const isDelayed = provisioned !== undefined && before?.FunctionVersion !== alias.FunctionVersion
      const RoutingConfig = { AdditionalVersionWeights: { [before?.FunctionVersion ?? '']: 1 } }
      aliases.set(Name, isDelayed ? { ...alias, RoutingConfig } : alias)
    },
  })
  const live = () =>
    [...functions].map(([name, { aliases }]) => [name, aliases.get('live')?.FunctionVersion] as const)
  const region = { region: 'us-east-1' }

  const fake: FakeFunctions = {
    clients: {
      cloudFormation: fakeOf(new CloudFormationClient(region)),
      lambda: fakeOf(new LambdaClient(region)),
      sts: fakeOf(new STSClient(region)),
      dynamodb: fakeOf(new DynamoDBClient(region)),
      ses: fakeOf(new SESv2Client(region)),
    },
    status: 'UPDATE_COMPLETE',
    outputs: {},
    template: {},
    nested: {},
    others: {},
    quota: 1000,
    reservedByOthers: 0,
    missingTypes: [],
    identities: [],
    isVerified: false,
    functions,
    deploy(release, { table = 'orders-table', shards, without = [] } = {}) {
      hour += 1
      for (const name of names) {
        if (without.includes(name)) continue
        const one = functions.get(name) ?? {
          versions: new Map(),
          published: 0,
          aliases: new Map(),
          tags: {},
        }
        one.published += 1
        one.versions.set(`${one.published}`, { release, table, shards, at: hour })
        one.aliases.set('live', { FunctionVersion: `${one.published}` })
        functions.set(name, one)
      }
    },
    failAfter(changes) {
      changesLeft = changes
    },
    live: () => Object.fromEntries(live()),
    serving: () =>
      Object.fromEntries(
        live().map(([name, number = '']) => [name, functions.get(name)?.versions.get(number)?.release]),
      ),
  }
  return fake
}
