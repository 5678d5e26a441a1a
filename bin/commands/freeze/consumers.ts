import {
  GetEventSourceMappingCommand,
  GetFunctionCommand,
  type LambdaClient,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda'
import { GetScheduleCommand, type SchedulerClient, UpdateScheduleCommand } from '@aws-sdk/client-scheduler'
import type { StackResource } from '../stack/stack-resources.ts'

/** The clients that disable and enable what invokes a consumer. */
interface Clients {
  lambda: LambdaClient
  scheduler: SchedulerClient
}

/** A mapping of a queue, or a schedule. */
export interface ConsumerTrigger extends StackResource {
  isMapping: boolean
}

/** A consumer with what invokes it. */
export interface Consumer {
  functionName: string
  triggers: readonly ConsumerTrigger[]
}

/** A function with this tag has a queue or a schedule that `unfreeze` enables. */
const pausedTag = 'commerce:paused'

/** The states of a mapping that is enabled, or will be. */
const enabledStates = new Set(['Creating', 'Enabling', 'Enabled', 'Updating'])

/**
 * Disables what is enabled, and notes it in a tag of the function. The tag is written first: after an interruption,
 * `unfreeze` knows all that was disabled.
 */
export async function pauseConsumer(consumer: Consumer, clients: Clients): Promise<void> {
  const enabled: ConsumerTrigger[] = []
  for (const trigger of consumer.triggers) if (await isEnabled(trigger, clients)) enabled.push(trigger)
  if (enabled.length === 0) return
  const { arn, noted } = await notesOf(consumer, clients)
  // Logical ids, because a deployment may replace a mapping or a schedule.
  const value = [...new Set([...noted, ...enabled.map(({ logicalId }) => logicalId)])].join(' ')
  await clients.lambda.send(new TagResourceCommand({ Resource: arn, Tags: { [pausedTag]: value } }))
  for (const trigger of enabled) await setEnabled(trigger, false, clients)
}

/** Enables what the tag notes, and removes it. @returns whether there was anything */
export async function resume(consumer: Consumer, clients: Clients): Promise<boolean> {
  const { arn, noted } = await notesOf(consumer, clients)
  if (noted.length === 0) return false
  for (const trigger of consumer.triggers)
    if (noted.includes(trigger.logicalId)) await setEnabled(trigger, true, clients)
  await clients.lambda.send(new UntagResourceCommand({ Resource: arn, TagKeys: [pausedTag] }))
  return true
}

async function notesOf({ functionName: FunctionName }: Consumer, { lambda }: Pick<Clients, 'lambda'>) {
  const { Configuration, Tags = {} } = await lambda.send(new GetFunctionCommand({ FunctionName }))
  return { arn: Configuration?.FunctionArn ?? '', noted: Tags[pausedTag]?.split(' ') ?? [] }
}

async function isEnabled({ physicalId, isMapping }: ConsumerTrigger, clients: Clients): Promise<boolean> {
  if (isMapping) return enabledStates.has((await mappingAt(physicalId, clients)).State ?? '')
  return (await clients.scheduler.send(new GetScheduleCommand({ Name: physicalId }))).State === 'ENABLED'
}

async function setEnabled(trigger: ConsumerTrigger, enabled: boolean, clients: Clients): Promise<void> {
  const { physicalId, isMapping } = trigger
  if (isMapping) {
    await clients.lambda.send(new UpdateEventSourceMappingCommand({ UUID: physicalId, Enabled: enabled }))
    return
  }
  const { Arn, CreationDate, LastModificationDate, $metadata, ...schedule } = await clients.scheduler.send(
    new GetScheduleCommand({ Name: physicalId }),
  )
  const { ScheduleExpression, FlexibleTimeWindow, Target } = schedule
  // An update sets what it leaves out to its default.
  const definition = { ...schedule, Name: physicalId, ScheduleExpression, FlexibleTimeWindow, Target }
  const State = enabled ? 'ENABLED' : 'DISABLED'
  await clients.scheduler.send(new UpdateScheduleCommand({ ...definition, State }))
}

export function mappingAt(UUID: string, { lambda }: Pick<Clients, 'lambda'>) {
  return lambda.send(new GetEventSourceMappingCommand({ UUID }))
}
