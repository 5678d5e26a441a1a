import type { DynamoDBRecord } from 'aws-lambda'
import * as v from 'valibot'
import type { Subscription } from '#functions/subscriptions.ts'
import type { TimeRange } from '../events/replay.ts'
import type { DeployedStack } from '../stack/deployment.ts'
import { invokeFunction } from '../stack/invoke-function.ts'
import {
  type DeadLetter,
  type DeadLetters,
  hiddenSeconds,
  type LetterSelection,
  standing,
} from './dead-letters.ts'
import { itemsWithEvents, knownTasks, type Period, type Rebuilt, rebuilt } from './rebuild-events.ts'
import type { ItemFilter, TableChanges } from './table-changes.ts'

/** The kind of table changes that a function receives. */
export type StreamSource = Extract<Subscription['source'], { stream: string }>['stream']

/** The dependencies of a redrive. */
export interface Redrive {
  letters: DeadLetters
  changes: TableChanges
  /** Lets the function handle changes. @throws Error unless it handled all of them */
  handle(records: DynamoDBRecord[]): Promise<void>
  /** Milliseconds since 1970. */
  now(): number
}

export interface Redriven {
  /** Messages whose changes were handled, and which were deleted. */
  messages: number
  /** Changes read from the stream again, or from messages that hold their change. */
  from_stream: number
  /** Items read from the table because their changes are no longer in the stream. */
  from_table: number
  /** Messages that remain in the queue. */
  left: number
  /** The number of changes whose events cannot be rebuilt. */
  lost: number
  /** The reasons why messages remain, and each change that is lost, in sentences. */
  faults: string[]
}

/** The message that Lambda sends to the on-failure destination of a stream: a position without the changes. */
export const FailedBatch = v.object({
  DDBStreamBatchInfo: v.object({
    streamArn: v.string(),
    shardId: v.string(),
    startSequenceNumber: v.pipe(v.string(), v.digits()),
    endSequenceNumber: v.pipe(v.string(), v.digits()),
    approximateArrivalOfFirstRecord: v.pipe(v.string(), v.isoTimestamp()),
    approximateArrivalOfLastRecord: v.pipe(v.string(), v.isoTimestamp()),
    batchSize: v.optional(v.number()),
  }),
})
type BatchInfo = v.InferOutput<typeof FailedBatch>['DDBStreamBatchInfo']

/** The message of a function that set a change aside (`SetAside`). */
export const SetAsideChange = v.object({
  reason: v.string(),
  change: v.looseObject({ dynamodb: v.looseObject({}) }),
})

const Letter = v.union([FailedBatch, SetAsideChange])

interface BatchLetter {
  letter: DeadLetter
  batch: BatchInfo
}

/**
 * Lets a function handle its failed batches of the table's stream again, and removes each handled message. Changes that
 * are no longer in the stream are rebuilt from the table, where items keep their tasks and the events of their creation
 * and latest change. A message with a lost change stays. A repeated redrive is harmless: events keep their ids, and task
 * handlers accept duplicates.
 */
export async function redriveStream(
  source: StreamSource,
  redrive: Redrive,
  selection: LetterSelection = {},
): Promise<Redriven> {
  const { letters, changes } = redrive
  const counts = { messages: 0, from_stream: 0, from_table: 0 }
  const faults = new Set<string>()
  const lost = new Set<string>()
  const expired: BatchLetter[] = []
  const failed: DeadLetter[] = []
  /** The changes of messages that hold one: the function may set one aside again, in another message. */
  const handled = new Set<string>()
  const started = redrive.now()
  // The function may set changes aside in new messages, of which this run says why.
  const until = started + hiddenSeconds * 1000
  for await (const batch of standing(letters, { ...selection, until, sent: new Set() }))
    for (const letter of batch) await attempt([letter], () => handleLetter(letter))
  if (expired.length > 0)
    await attempt(
      expired.map(({ letter }) => letter),
      async () => {
        let isWhole = true
        for await (const found of fromTable(source, periodOf(expired.map(({ batch }) => batch)), redrive))
          isWhole = (await handleFound(found, 'from_table')) && isWhole
        return isWhole
      },
    )
  // Put back last, or this run would receive them again.
  for (const letter of failed) await letters.putBack(letter)
  return { ...counts, left: failed.length, lost: lost.size, faults: [...faults, ...lost] }

  /** @returns whether nothing is lost; undefined if that is known later */
  async function handleLetter(letter: DeadLetter): Promise<boolean | undefined> {
    const message = v.parse(Letter, JSON.parse(letter.body))
    if ('change' in message) {
      const change = message.change as DynamoDBRecord
      const { SequenceNumber: number = '' } = change.dynamodb ?? {}
      // A duplicate of the stream is older. One that was sent since comes from this redrive, and would not be the last.
      if (handled.has(number) && letter.sentAt.getTime() > started - marginMilliseconds)
        throw new Error(`the function of an older release set it aside: ${message.reason}`)
      handled.add(number)
      return handleFound(known[source]([change]), 'from_stream')
    }
    const batch = message.DDBStreamBatchInfo
    const read = await changes.between(batch)
    const isWhole = await handleFound(known[source](read.records.filter(isRelevant[source])), 'from_stream')
    if (!read.expired) return isWhole
    expired.push({ letter, batch })
    return undefined
  }

  /** @returns whether nothing is lost */
  async function handleFound(found: Rebuilt, count: 'from_stream' | 'from_table'): Promise<boolean> {
    counts[count] += await handleAll(found.records, redrive)
    for (const change of found.lost) lost.add(change)
    return found.lost.length === 0
  }

  /**
   * Removes messages if their changes were handled, and keeps them after an error.
   * @param handle returns whether all were handled; undefined if that is known later
   */
  async function attempt(messages: DeadLetter[], handle: () => Promise<boolean | undefined>): Promise<void> {
    let isHandled: boolean | undefined = false
    try {
      isHandled = await handle()
      if (isHandled) for (const letter of messages) await letters.remove(letter)
    } catch (thrown) {
      isHandled = false
      faults.add((thrown as Error).message)
    }
    if (isHandled) counts.messages += messages.length
    if (isHandled === false) failed.push(...messages)
  }
}

/**
 * Lets a function handle the items again that changed in a time, without any dead letter: a mapping that was off for more
 * than a day leaves none. They are rebuilt from the table as in `redriveStream`.
 * @returns the number of items, and a sentence for each lost change
 * @throws Error unless the function handled all of them; a repeated redrive is harmless
 */
export async function redriveWindow(
  source: StreamSource,
  { from, to }: TimeRange,
  redrive: Pick<Redrive, 'changes' | 'handle' | 'now'>,
): Promise<{ from_table: number; lost: string[] }> {
  const lost: string[] = []
  let from_table = 0
  for await (const found of fromTable(source, withMargin(from.getTime(), to.getTime()), redrive)) {
    from_table += await handleAll(found.records, redrive)
    lost.push(...found.lost)
  }
  return { from_table, lost }
}

/** Rebuilds the changes of a period from the items of the table. */
async function* fromTable(
  source: StreamSource,
  period: Period,
  { changes, now }: Pick<Redrive, 'changes' | 'now'>,
): AsyncGenerator<Rebuilt> {
  const filter = source === 'outbox' ? itemsWithEvents(period) : unfinishedTasks(now())
  for await (const records of changes.asNew(filter)) yield known[source](records, period)
}

/** The limits of one event: the batch size of the stream's mapping, and less than the 6 MB of an invocation. */
const maxRecords = 100
const maxCharacters = 4_000_000

/** @returns how many changes were handled */
async function handleAll(records: DynamoDBRecord[], { handle }: Pick<Redrive, 'handle'>): Promise<number> {
  let event: DynamoDBRecord[] = []
  let characters = 0
  for (const record of records) {
    const { length } = eventText([record])
    if (event.length === maxRecords || characters + length > maxCharacters) {
      await handle(event)
      event = []
      characters = 0
    }
    event.push(record)
    characters += length
  }
  if (event.length > 0) await handle(event)
  return records.length
}

/** Separates the changes that a function of this release can handle. */
const known: Record<StreamSource, (records: readonly DynamoDBRecord[], period?: Period) => Rebuilt> = {
  outbox: rebuilt,
  tasks: knownTasks,
}

/** Equal to the filters of the event source mappings. */
const isRelevant: Record<StreamSource, (record: DynamoDBRecord) => boolean> = {
  outbox: ({ dynamodb }) => dynamodb?.NewImage?.outbox?.M?.correlation_id?.S !== undefined,
  tasks: ({ eventName, dynamodb }) =>
    eventName === 'INSERT' && dynamodb?.NewImage?.task?.M?.queue?.S !== undefined,
}

/** A commit is dated when it is decided, its change when it arrives. A minute covers both and the clock skew. */
const marginMilliseconds = 60_000

function withMargin(from: number, to: number): Period {
  return { from: from - marginMilliseconds, to: to + marginMilliseconds }
}

/** Returns the time in which expired batches changed items. */
function periodOf(batches: readonly BatchInfo[]): Period {
  const firsts = batches.map((batch) => Date.parse(batch.approximateArrivalOfFirstRecord))
  const lasts = batches.map((batch) => Date.parse(batch.approximateArrivalOfLastRecord))
  return withMargin(Math.min(...firsts), Math.max(...lasts))
}

/** Returns a filter for tasks. A task has no time, so every task that is neither done nor expired is queued again. */
function unfinishedTasks(now: number): ItemFilter {
  return {
    FilterExpression:
      'attribute_exists(#task) AND NOT #state IN (:handled, :ignored, :sent) AND (attribute_not_exists(#over) OR #over > :now)',
    ExpressionAttributeNames: { '#task': 'task', '#state': 'state', '#over': 'expires_at' },
    ExpressionAttributeValues: {
      ':handled': 'handled',
      ':ignored': 'ignored',
      ':sent': 'sent',
      ':now': Math.floor(now / 1000),
    },
  }
}

/** Returns an event of the stream as a function receives it. */
export function eventText(records: readonly DynamoDBRecord[]): string {
  return JSON.stringify({ Records: records }, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  )
}

/** Invokes a function on AWS as the stream would. */
export function invoking(functionName: string, access: DeployedStack['access']): Redrive['handle'] {
  return async (records) => {
    const result = await invokeFunction(functionName, eventText(records), access)
    const { batchItemFailures } = result as { batchItemFailures: unknown[] }
    if (batchItemFailures.length > 0) throw new Error(`${functionName} could not handle all: see its log`)
  }
}
