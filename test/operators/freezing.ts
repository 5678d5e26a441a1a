import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { SFNClient } from '@aws-sdk/client-sfn'
import type { FrozenStack } from '#bin/commands/freeze/freeze.ts'
import { pascalCase } from '#lib/functions/function-names.ts'
import { lazy } from '#shared/platform/base/cached-load.ts'
import { type SynthesisOptions, withProvisioned } from '#test/infrastructure/stage-settings.ts'
import { type Resource, type Synthesis, synthesize } from '#test/infrastructure/synthesis.ts'
import { movableClock } from '#test/support/clocks.ts'
import { answering, awsError } from '#test/support/fake-clients.ts'
import { startHttpServer } from '#test/support/http-server.ts'

/** What a freeze changes, by the logical ids of a stack. */
export interface StackState {
  /** Reserved concurrency; absent for a function without. */
  concurrency: Record<string, number>
  /** Provisioned concurrency of aliases; absent for an alias without. */
  provisioned: Record<string, number>
  /** Whether the mappings of queues and streams are enabled. */
  mappings: Record<string, boolean>
  /** Whether the schedules are enabled. */
  schedules: Record<string, boolean>
}

/** Returns the state that the templates of production define. */
export async function definedState(options: SynthesisOptions = {}): Promise<StackState> {
  return stateIn(await synthesize('prod', { changes: withProvisioned, ...options }))
}

function stateIn({ template }: Synthesis): StackState {
  const ofType = <Value>(type: string, read: (properties: Record<string, never>) => Value | undefined) =>
    Object.fromEntries(
      Object.entries(template.Resources).flatMap(([id, { Type, Properties }]) => {
        const value = Type === type ? read(Properties) : undefined
        return value === undefined ? [] : [[id, value]]
      }),
    )
  return {
    concurrency: ofType<number>('AWS::Lambda::Function', (one) => one.ReservedConcurrentExecutions),
    provisioned: ofType<number>(
      'AWS::Lambda::Alias',
      ({ ProvisionedConcurrencyConfig: config }: Resource['Properties']) =>
        config?.ProvisionedConcurrentExecutions,
    ),
    mappings: ofType('AWS::Lambda::EventSourceMapping', ({ Enabled = true }) => Enabled),
    schedules: ofType('AWS::Scheduler::Schedule', ({ State = 'ENABLED' }) => State === 'ENABLED'),
  }
}

export interface FakeStack extends StackState {
  stack: FrozenStack
  baseUrl: string
  /** The commands that changed something. */
  changes: string[]
  /** The names of the running imports. */
  running: string[]
  /** Invocations of a function in the last minutes, by its logical id. Each reading returns one less. */
  invocations: Record<string, number>
  /** The consumers of the stream, by their logical ids, whose last batch failed. */
  problems: Set<string>
  /** The resources that a deployment has replaced since the start: their physical ids are others. */
  replaced: Set<string>
  /** The refused changes of a function whose provisioned concurrency was removed, while Lambda removes it. */
  releasing: number
  /** The aliases that invoke a second version: Lambda accepts no change of their provisioned concurrency. */
  weighted: Set<string>
  /** The requests that the gateway still accepts after its functions have stopped. */
  late: number
  /** Fails the change with this number, as an interruption does. */
  failing: number
  /** The schedules' definitions other than their state, as they were last written. */
  definitions: Record<string, unknown>
  now(): number
  stop(): Promise<void>
}

/** Reading templates takes longer than a test. */
const production = lazy(() => synthesize('prod', { changes: withProvisioned }))

/** Fakes the services of AWS that a freeze uses, with the resources of production. Time is virtual. */
export async function fakeStack(): Promise<FakeStack> {
  const prod = await production()
  const state = stateIn(prod)
  const tags: Record<string, Record<string, string>> = {}
  const removed = new Set<string>()
  const clock = movableClock(Date.parse('2026-01-31T12:00:00Z'))
  const idOf = (start: string) => {
    const found = Object.keys(prod.template.Resources).find((id) => id.replace(/[0-9A-F]{8}$/, '') === start)
    if (!found) throw new Error(`there is no resource ${start}`)
    return found
  }
  const isStopped = (operation: string) => state.concurrency[idOf(pascalCase(operation))] === 0
  const { url: baseUrl, stop } = await startHttpServer((request, response) => {
    const stopped = isStopped(request.method === 'POST' ? 'orders.create' : 'orders.list')
    if (stopped && fake.late > 0) fake.late -= 1
    else if (stopped) response.setHeader('Retry-After', '5').writeHead(503)
    else response.writeHead(401)
    response.end()
  })

  const fakeOf = answering({
    ListStackResources: ({ StackName }) => ({
      StackResourceSummaries: Object.entries(prod.stacks[StackName]?.Resources ?? {}).map(
        ([id, { Type }]) => ({
          ResourceType: Type,
          LogicalResourceId: id,
          // Nested stacks are named by their path.
          PhysicalResourceId: Type === 'AWS::CloudFormation::Stack' ? id : physicalId(id),
        }),
      ),
    }),
    PutFunctionConcurrency: ({ FunctionName, ReservedConcurrentExecutions }) => {
      const alias = aliasOf(FunctionName)
      const isReleasing = removed.has(alias) && fake.releasing > 0
      if (isReleasing) fake.releasing -= 1
      if (isReleasing || (state.provisioned[alias] ?? 0) > ReservedConcurrentExecutions)
        throw awsError('InvalidParameterValueException')
      change(`concurrency ${FunctionName}`)
      state.concurrency[ownId(FunctionName)] = ReservedConcurrentExecutions
    },
    DeleteFunctionConcurrency: ({ FunctionName }) => {
      change(`no concurrency ${FunctionName}`)
      delete state.concurrency[ownId(FunctionName)]
    },
    GetFunction: ({ FunctionName }) => ({
      Configuration: {
        FunctionArn: `arn:${FunctionName}`,
        Timeout: prod.template.Resources[ownId(FunctionName)]?.Properties.Timeout,
      },
      Concurrency: { ReservedConcurrentExecutions: state.concurrency[ownId(FunctionName)] },
      Tags: tags[`arn:${FunctionName}`],
    }),
    GetAlias: ({ FunctionName }) => ({
      RoutingConfig: fake.weighted.has(aliasOf(FunctionName))
        ? { AdditionalVersionWeights: { 2: 0.1 } }
        : undefined,
    }),
    UpdateAlias: ({ FunctionName, RoutingConfig }) => {
      change(`alias ${FunctionName}`)
      if (Object.keys(RoutingConfig.AdditionalVersionWeights).length === 0)
        fake.weighted.delete(aliasOf(FunctionName))
    },
    GetProvisionedConcurrencyConfig: ({ FunctionName }) => {
      const RequestedProvisionedConcurrentExecutions = state.provisioned[aliasOf(FunctionName)]
      if (RequestedProvisionedConcurrentExecutions === undefined)
        throw awsError('ProvisionedConcurrencyConfigNotFoundException')
      return { RequestedProvisionedConcurrentExecutions }
    },
    PutProvisionedConcurrencyConfig: ({ FunctionName, ProvisionedConcurrentExecutions }) => {
      const reserved = state.concurrency[ownId(FunctionName)] ?? Number.POSITIVE_INFINITY
      if (ProvisionedConcurrentExecutions > reserved) throw awsError('InvalidParameterValueException')
      change(`provisioned ${FunctionName}`)
      state.provisioned[aliasOf(FunctionName)] = ProvisionedConcurrentExecutions
    },
    DeleteProvisionedConcurrencyConfig: ({ FunctionName }) => {
      if (fake.weighted.has(aliasOf(FunctionName))) throw awsError('InvalidParameterValueException')
      change(`no provisioned ${FunctionName}`)
      delete state.provisioned[aliasOf(FunctionName)]
      removed.add(aliasOf(FunctionName))
    },
    TagResource: ({ Resource, Tags }) => {
      change(`tag ${Resource}`)
      tags[Resource] = { ...tags[Resource], ...Tags }
    },
    UntagResource: ({ Resource, TagKeys }) => {
      change(`untag ${Resource}`)
      for (const key of TagKeys) delete tags[Resource]?.[key]
    },
    GetEventSourceMapping: ({ UUID }) => ({
      State: state.mappings[ownId(UUID)] ? 'Enabled' : 'Disabled',
      LastProcessingResult: fake.problems.has(ownId(UUID)) ? 'PROBLEM: Function call failed' : 'OK',
    }),
    UpdateEventSourceMapping: ({ UUID, Enabled }) => {
      change(`mapping ${UUID}`)
      state.mappings[ownId(UUID)] = Enabled
    },
    GetSchedule: ({ Name }) => {
      const { ScheduleExpression, FlexibleTimeWindow, Target } =
        prod.template.Resources[ownId(Name)]?.Properties ?? {}
      const State = state.schedules[ownId(Name)] ? 'ENABLED' : 'DISABLED'
      const readOnly = { Arn: 'arn', CreationDate: new Date(clock.now()) }
      return { Name, ScheduleExpression, FlexibleTimeWindow, Target, State, ...readOnly }
    },
    UpdateSchedule: ({ Name, State, ...definition }) => {
      change(`schedule ${Name}`)
      state.schedules[ownId(Name)] = State === 'ENABLED'
      fake.definitions[ownId(Name)] = JSON.parse(JSON.stringify(definition))
    },
    ListExecutions: () => ({ executions: fake.running.map((name) => ({ name })) }),
    GetMetricStatistics: ({ Dimensions: [{ Value }] }) => {
      const count = fake.invocations[ownId(Value)] ?? 0
      if (count > 0) fake.invocations[ownId(Value)] = count - 1
      return { Datapoints: count > 0 ? [{ Sum: count }] : [] }
    },
  })
  const region = { region: 'eu-west-1' }
  const fake: FakeStack = {
    ...state,
    stack: {
      name: 'commerce-prod',
      cloudFormation: fakeOf(new CloudFormationClient(region)),
      lambda: fakeOf(new LambdaClient(region)),
      scheduler: fakeOf(new SchedulerClient(region)),
      stepFunctions: fakeOf(new SFNClient(region)),
      cloudWatch: fakeOf(new CloudWatchClient(region)),
      clock,
    },
    baseUrl,
    changes: [],
    running: [],
    invocations: {},
    problems: new Set(),
    replaced: new Set(),
    releasing: 0,
    weighted: new Set(),
    late: 0,
    failing: Number.POSITIVE_INFINITY,
    definitions: {},
    now: clock.now,
    stop,
  }
  return fake

  function physicalId(id: string): string {
    return `${fake.replaced.has(id) ? 'replaced' : 'physical'}-${id}`
  }

  /** Returns the logical id of a resource that exists. */
  function ownId(physical: string): string {
    const id = physical.replace(/^\w+-/, '')
    if (physical !== physicalId(id)) throw new Error(`${physical} does not exist`)
    return id
  }

  /** Returns the logical id of the alias of a function. */
  function aliasOf(functionName: string): string {
    const start = ownId(functionName).replace(/[0-9A-F]{8}$/, 'Live')
    return idOf(start)
  }

  function change(text: string): void {
    if (fake.changes.length + 1 === fake.failing) throw new Error('interrupted')
    fake.changes.push(text)
  }
}
