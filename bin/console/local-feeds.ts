import { open } from 'node:fs/promises'
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
} from '@aws-sdk/client-dynamodb-streams'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { deadLetterNames } from '#functions/subscriptions.ts'
import { deadLettersOutput, queueOutput } from '#lib/functions/function-names.ts'
import type { FaultDescription } from '#shared/platform/base/failure.ts'
import type { JobLine } from '#shared/platform/base/log.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { type Item, ownerOf } from '#shared/platform/table/keys.ts'
import { type BusSubscription, subscribe } from '../commands/events/published-events.ts'
import type { DeployedStack } from '../commands/stack/deployment.ts'
import type { LocalAws } from '../local/environment.ts'
import { ownJson, sentMails } from '../local/mail.ts'
import { awsAccessOf, type ServiceFile } from '../local/service-file.ts'
import type { ConsoleEntry } from './activity.ts'
import { entriesOf } from './table-entries.ts'

/** A part of the local run that the console reads again and again. */
export interface Feed {
  name: string
  /** The pause between two reads. */
  milliseconds: number
  /** Returns what is new, or the current state. */
  read(): Promise<ConsoleEntry[]>
}

/** What one feed learns for another. */
interface Links {
  /** Why messages of queues failed last, by their ids, which dead letters keep. */
  failures: Map<string, { reason: string; attempts: number }>
  /** The ids of messages of the service, by those that the mail service gave their mails. */
  messages: Map<string, string>
  /** The correlation ids and states of mails, by the ids of their messages. */
  mails: Map<string, Pick<ConsoleEntry, 'correlation_id' | 'state'>>
}

export function links(): Links {
  return { failures: new Map(), messages: new Map(), mails: new Map() }
}

/** Links beyond this number are forgotten, the oldest first. */
const maxLinks = 10_000

function link<Value>(map: Map<string, Value>, id: string, value: Value): void {
  map.set(id, value)
  if (map.size > maxLinks) map.delete(map.keys().next().value ?? '')
}

/** Returns the requests and log lines that the engine appends to its file. Adds the failures and mails that they report. */
export function activityFeed(
  file: string,
  known: Links,
): Feed & {
  /** Returns the entry of the next line, if it has one. */
  parse(line: string): ConsoleEntry[]
} {
  let [offset, rest, lines] = [0, '', 0]
  const parse = (line: string): ConsoleEntry[] => {
    lines += 1
    const { message_id, ...entry } = { id: String(lines), ...JSON.parse(line) }
    if (entry.kind === 'mailed') {
      if (message_id) link(known.messages, entry.id, message_id)
      return []
    }
    const shown = asEntry(entry)
    addFailure(shown, known)
    return [shown]
  }
  return {
    name: 'requests',
    milliseconds: 100,
    parse,
    async read() {
      const handle = await open(file)
      try {
        const { size } = await handle.stat()
        const { buffer } = await handle.read(Buffer.alloc(size - offset), 0, size - offset, offset)
        offset = size
        // A character of several bytes may be cut off: JSON of the engine is ASCII only.
        const complete = `${rest}${buffer.toString('latin1')}`.split('\n')
        rest = complete.pop() ?? ''
        return complete.flatMap(parse)
      } finally {
        await handle.close()
      }
    },
  }
}

/** Returns a line of the engine's file. A log line that is JSON becomes `fields`. */
function asEntry(entry: ConsoleEntry): ConsoleEntry {
  if (entry.kind !== 'log') return entry
  const { line, ...rest } = entry
  try {
    const fields = JSON.parse(String(line))
    return { ...rest, fields, correlation_id: fields.correlation_id ?? null }
  } catch {
    return { ...rest, fields: { message: line } }
  }
}

function addFailure({ fields }: ConsoleEntry, { failures }: Links): void {
  const { message_id: id, fault, attempt } = (fields ?? {}) as Partial<JobLine> & { fault?: FaultDescription }
  if (id === undefined || fault === undefined) return
  const reason = [fault.name, fault.message].filter(Boolean).join(': ')
  link(failures, id, { reason, attempts: attempt ?? 1 })
}

/** Subscribes to the event bus. Reading it waits up to 20 s for the next event. */
export function eventFeed(access: DeployedStack['access'], bus: string): Feed {
  let subscription: Promise<BusSubscription> | undefined
  return {
    name: 'events',
    milliseconds: 0,
    async read() {
      subscription ??= subscribe(access, bus, 'commerce-console')
      const events = await (await subscription).receive()
      return events.map((event) => ({ kind: 'event', id: event.event_id, ...event }))
    },
  }
}

/** Reads the stream of the table from its start. Adds the states of mails. */
export function tableFeed(access: DeployedStack['access'], TableName: string, { mails }: Links): Feed {
  const streams = new DynamoDBStreamsClient(access)
  let iterator: string | undefined
  return {
    name: 'table',
    milliseconds: 250,
    async read() {
      const ShardIterator = iterator ?? (await startOf(streams, TableName))
      // An iterator is valid for 15 minutes. After a failure the stream is read again from its start.
      iterator = undefined
      // At most 1,000 changes: reading all at once would slow the engine down during an import.
      const { Records = [], NextShardIterator } = await streams.send(new GetRecordsCommand({ ShardIterator }))
      iterator = NextShardIterator
      return Records.flatMap(({ dynamodb }) => {
        const { NewImage, OldImage = {} } = dynamodb ?? {}
        const item = unmarshall(NewImage ?? OldImage) as Item
        const { message_id, correlation_id, state } = item
        if (ownerOf(item.pk).kind === 'mail')
          link(mails, String(message_id), { correlation_id: String(correlation_id), state })
        return entriesOf(item, NewImage === undefined)
      })
    },
  }
}

async function startOf(streams: DynamoDBStreamsClient, TableName: string): Promise<string | undefined> {
  const { Streams: [stream] = [] } = await streams.send(new ListStreamsCommand({ TableName }))
  const StreamArn = stream?.StreamArn
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }))
  // The engine keeps all changes of a table in one shard.
  const ShardId = StreamDescription?.Shards?.[0]?.ShardId
  const from = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' } as const
  return (await streams.send(new GetShardIteratorCommand(from))).ShardIterator
}

/** Returns the mails that the engine accepted instead of sending them. A password reset has no correlation id. */
export function mailFeed(aws: LocalAws, { messages, mails }: Links): Feed {
  return {
    name: 'mail',
    milliseconds: 500,
    async read() {
      const sent = await sentMails(aws)
      return sent.map(({ at, to, ...mail }) => ({
        kind: 'mail',
        ...mail,
        ...mails.get(messages.get(mail.id) ?? ''),
        at: Date.parse(at),
        to: to.join(', '),
      }))
    },
  }
}

/** Returns the refunds of the local payment provider. */
export function payoutFeed(endpoint: string): Feed {
  type Refund = {
    id: string
    created: number
    metadata: { refund_id?: string; tenant_id?: string }
  } & Record<string, unknown>
  return {
    name: 'payment provider',
    milliseconds: 500,
    async read() {
      const response = await fetch(`${endpoint}/refunds?limit=100`)
      if (!response.ok) throw new Error(`/refunds returned ${response.status}`)
      const { data } = (await response.json()) as { data: Refund[] }
      // The provider lists the newest first.
      return data
        .toReversed()
        .map(({ id, created, account, charge, amount, currency, status, metadata }) => ({
          ...{
            kind: 'payout',
            id,
            at: created * 1000,
            refund_id: metadata.refund_id,
            tenant: metadata.tenant_id,
          },
          ...{ account, charge, amount, currency, status },
        }))
    },
  }
}

/** Returns how many messages each queue holds, and the dead letters themselves. Looking at a message does not take it. */
export function queueFeed(service: ServiceFile, { failures }: Links): Feed {
  const { outputs } = service
  interface Message {
    MessageId: string
    Body: string
    SentTimestamp: number
    IsVisible: boolean
  }
  type Answer = { messages: Record<string, Record<string, Record<string, Message[]>>> }
  return {
    name: 'queues',
    milliseconds: 500,
    async read() {
      const { messages } = await ownJson<Answer>(awsAccessOf(service), '/_ministack/sqs/messages')
      const byUrl = new Map(
        Object.values(messages).flatMap((regions) =>
          Object.values(regions).flatMap(Object.entries<Message[]>),
        ),
      )
      return deadLetterNames.map((name) => {
        const waiting = byUrl.get(outputs[queueOutput(name as TaskQueue)] ?? '') ?? []
        const letters = byUrl.get(outputs[deadLettersOutput(name)] ?? '') ?? []
        return {
          kind: 'queue',
          id: name,
          waiting: waiting.filter(({ IsVisible }) => IsVisible).length,
          in_progress: waiting.filter(({ IsVisible }) => !IsVisible).length,
          dead_letters: letters.map(({ MessageId, Body, SentTimestamp }) => ({
            id: MessageId,
            at: SentTimestamp * 1000,
            body: Body,
            ...failures.get(MessageId),
          })),
        }
      })
    },
  }
}
