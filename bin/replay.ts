import { EventBridgeClient, ListArchivesCommand, StartReplayCommand } from '@aws-sdk/client-eventbridge'
import { command, printLine, timeOf } from './command.ts'
import { type DeployedStack, namedStack, outputOf } from './deployment.ts'

const usage = `usage: npm run -s replay -- --from TIME --to TIME --stack NAME
Publishes the archived events between two times again, such as 2026-01-31T12:00:00Z. They keep their ids, so consumers
recognize duplicates. It needs a stack on AWS, because the local run has no archive.`

/** @throws Error with a sentence for an invalid time, or a window that is empty or not yet over */
export function windowOf(from: string, to: string, now: number): { start: Date; end: Date } {
  const [start, end] = [timeOf('from', from), timeOf('to', to)]
  if (start >= end) throw new Error('--from must be before --to')
  if (end.getTime() > now) throw new Error('--to must not be in the future')
  return { start, end }
}

/** Starts a replay. @returns its name; it continues without this command */
async function replay(stack: DeployedStack, { start, end }: { start: Date; end: Date }): Promise<string> {
  const client = new EventBridgeClient(stack.access)
  const name = outputOf(stack, 'EventBusName')
  const { Archives: archives = [] } = await client.send(new ListArchivesCommand({}))
  const archive = archives.find(({ EventSourceArn }) => EventSourceArn?.endsWith(`:event-bus/${name}`))
  if (!archive?.EventSourceArn) throw new Error(`the event bus ${name} has no archive`)
  const bus = archive.EventSourceArn
  const ReplayName = `${name}-${start.getTime()}-${end.getTime()}`
  await client.send(
    new StartReplayCommand({
      ReplayName,
      EventSourceArn: bus.replace(/:event-bus\/.*$/, `:archive/${archive.ArchiveName}`),
      EventStartTime: start,
      EventEndTime: end,
      Destination: { Arn: bus },
    }),
  )
  return ReplayName
}

if (import.meta.main)
  await command(usage, { from: 'required', to: 'required', stack: 'required' }, async (values) => {
    const window = windowOf(values.from, values.to, Date.now())
    printLine({ replay: await replay(await namedStack(values.stack), window) })
  })
