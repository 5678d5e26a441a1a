import { parseArgs } from 'node:util'
import { EventBridgeClient, ListArchivesCommand, StartReplayCommand } from '@aws-sdk/client-eventbridge'
import { needed, run } from './command.ts'
import { type DeployedStack, deployedStack, outputOf } from './deployment.ts'

const usage = `usage: npm run -s replay -- --from TIME --to TIME --stack NAME
Sends the events that were published between two times (RFC 3339) to the subscribers again, from the bus's archive.
They keep their ids, so that whoever has handled one sees that it comes again.`

/** @throws Error with a sentence for an invalid time, or a window that is empty or not yet over */
export function windowOf(from: string, to: string, now: number): { start: Date; end: Date } {
  const [start, end] = [new Date(from), new Date(to)]
  for (const [name, time] of [['from', start] as const, ['to', end] as const])
    if (Number.isNaN(time.getTime()))
      throw new Error(`--${name} is no time: write it as 2026-01-31T12:00:00Z`)
  if (start >= end) throw new Error('--from must lie before --to')
  if (end.getTime() > now) throw new Error('--to must not lie in the future')
  return { start, end }
}

/** Starts a replay. @returns its name; it continues without this command */
export async function replay(
  stack: DeployedStack,
  { start, end }: { start: Date; end: Date },
): Promise<string> {
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

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { from: text, to: text, stack: text } })
  if (values.stack === undefined)
    throw new Error('the local engine has no archive of events to replay: name a --stack')
  const window = windowOf(needed(values.from, 'from'), needed(values.to, 'to'), Date.now())
  console.log(JSON.stringify({ replay: await replay(await deployedStack(values.stack), window) }))
}

if (import.meta.main) await run(usage, main)
