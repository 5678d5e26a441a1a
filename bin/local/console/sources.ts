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
import { deadLettersOutput, queueOutput } from '#lib/function-entries.ts'
import type { FaultDescription } from '#shared/platform/base/failure.ts'
import type { JobLine } from '#shared/platform/base/log.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { DeployedStack } from '../../commands/deployment.ts'
import { type Subscription, subscribe } from '../../commands/published-events.ts'
import type { LocalAws } from '../environment.ts'
import { ownJson, sentMails } from '../mail.ts'
import { accessOf, type ServiceFile } from '../service-file.ts'
import type { Entry } from './activity.ts'
import { entriesOf } from './table-entries.ts'

/** A part of the local run that the console reads again and again. */
export interface Source {
  name: string
  /** The pause between two reads. */
  milliseconds: number
  /** Returns what is new, or the current state. */
  read(): Promise<Entry[]>
}

/** Why messages of queues failed last, by their ids, which dead letters keep. */
export type Failures = Map<string, { reason: string; attempts: number }>

/** Failures beyond this number are forgotten, the oldest first. */
const maxFailures = 1000

/** Returns the requests and log lines that the engine appends to its file. Adds the failures that they report. */
export function activitySource(file: string, failures: Failures): Source {
  let [offset, rest, lines] = [0, '', 0]
  return {
    name: 'requests',
    milliseconds: 100,
    async read() {
      const handle = await open(file)
      try {
        const { size } = await handle.stat()
        const { buffer } = await handle.read(Buffer.alloc(size - offset), 0, size - offset, offset)
        offset = size
        // A character of several bytes may be cut off: JSON of the engine is ASCII only.
        const complete = `${rest}${buffer.toString('latin1')}`.split('\n')
        rest = complete.pop() ?? ''
        return complete.map((line) => {
          lines += 1
          const entry = asEntry({ id: String(lines), ...JSON.parse(line) })
          addFailure(entry, failures)
          return entry
        })
      } finally {
        await handle.close()
      }
    },
  }
}

/** Returns a line of the engine's file. A log line that is JSON becomes `fields`. */
function asEntry(entry: Entry): Entry {
  if (entry.kind !== 'log') return entry
  const { line, ...rest } = entry
  try {
    const fields = JSON.parse(String(line))
    return { ...rest, fields, correlation_id: fields.correlation_id ?? null }
  } catch {
    return { ...rest, fields: { message: line } }
  }
}

function addFailure({ fields }: Entry, failures: Failures): void {
  const { message_id: id, fault, attempt } = (fields ?? {}) as Partial<JobLine> & { fault?: FaultDescription }
  if (id === undefined || fault === undefined) return
  const reason = [fault.name, fault.message].filter(Boolean).join(': ')
  failures.set(id, { reason, attempts: attempt ?? 1 })
  if (failures.size > maxFailures) failures.delete(failures.keys().next().value ?? '')
}

/** Subscribes to the event bus. Reading it waits up to 20 s for the next event. */
export function eventSource(access: DeployedStack['access'], bus: string): Source {
  let subscription: Promise<Subscription> | undefined
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

/** Reads the stream of the table from its start. */
export function tableSource(access: DeployedStack['access'], TableName: string): Source {
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
        return entriesOf(unmarshall(NewImage ?? OldImage) as Item, NewImage === undefined)
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

/** Returns the mails that the engine accepted instead of sending them. */
export function mailSource(aws: LocalAws): Source {
  return {
    name: 'mail',
    milliseconds: 500,
    async read() {
      const mails = await sentMails(aws)
      return mails.map(({ at, to, ...mail }) => ({
        kind: 'mail',
        ...mail,
        at: Date.parse(at),
        to: to.join(', '),
      }))
    },
  }
}

/** Returns the refunds that the local payment provider paid. */
export function payoutSource(endpoint: string): Source {
  type Refund = { id: string; created: number } & Record<string, unknown>
  return {
    name: 'payment provider',
    milliseconds: 500,
    async read() {
      const response = await fetch(`${endpoint}/refunds?limit=100`)
      if (!response.ok) throw new Error(`/refunds returned ${response.status}`)
      const { data } = (await response.json()) as { data: Refund[] }
      // The provider lists the newest first.
      return data.toReversed().map(({ id, created, account, charge, amount, currency, status }) => ({
        kind: 'payout',
        id,
        at: created * 1000,
        ...{ account, charge, amount, currency, status },
      }))
    },
  }
}

/** Returns how many messages each queue holds, and the dead letters themselves. Looking at a message does not take it. */
export function queueSource(service: ServiceFile, failures: Failures): Source {
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
      const { messages } = await ownJson<Answer>(accessOf(service), '/_ministack/sqs/messages')
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
