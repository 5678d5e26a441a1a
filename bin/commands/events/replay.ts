import { EventBridgeClient, ListArchivesCommand, StartReplayCommand } from '@aws-sdk/client-eventbridge'
import { UsageError } from '../../cli/options.ts'
import { type DeployedStack, outputOf } from '../stack/deployment.ts'

/** A time from a start to an end. */
export interface TimeRange {
  from: Date
  to: Date
}

/** @throws UsageError for a window that is empty or not yet over */
export function checkWindow({ from, to }: TimeRange, now: number): void {
  if (from >= to) throw new UsageError('--from must be before --to')
  if (to.getTime() > now) throw new UsageError('--to must not be in the future')
}

/** Starts a replay. @returns its name; it continues without this command */
export async function startReplay(stack: DeployedStack, { from, to }: TimeRange): Promise<string> {
  const client = new EventBridgeClient(stack.access)
  const name = outputOf(stack, 'EventBusName')
  const { Archives: archives = [] } = await client.send(new ListArchivesCommand({}))
  const archive = archives.find(({ EventSourceArn }) => EventSourceArn?.endsWith(`:event-bus/${name}`))
  if (!archive?.EventSourceArn) throw new Error(`the event bus ${name} has no archive`)
  const bus = archive.EventSourceArn
  const ReplayName = `${name}-${from.getTime()}-${to.getTime()}`
  await client.send(
    new StartReplayCommand({
      ReplayName,
      EventSourceArn: bus.replace(/:event-bus\/.*$/, `:archive/${archive.ArchiveName}`),
      EventStartTime: from,
      EventEndTime: to,
      Destination: { Arn: bus },
    }),
  )
  return ReplayName
}
