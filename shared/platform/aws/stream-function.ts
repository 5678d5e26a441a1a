import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { lazy } from '../base/cached-load.ts'
import type { Log } from '../base/log.ts'
import { serviceName } from '../base/metrics.ts'
import type { Item } from '../table/keys.ts'
import { powertoolsLog } from './powertools-log.ts'
import { sendAll } from './sqs.ts'

/** The dependencies of work on a stream. It needs neither settings nor the table. */
export interface StreamContext {
  log: Log
  /** Returns the name or address of a resource that the stack passes to the function. */
  environment(name: string): string | undefined
  /** Moves a change to the dead letters of the function at once, so that the stream goes on. */
  setAside(sequenceNumber: string, reason: string): Promise<void>
}

/** The environment variable that holds the address of the dead letters of a function that the stream feeds. */
export const deadLettersVariable = 'DEAD_LETTERS_URL'

/** A dead letter that a function wrote itself. Those of Lambda name a part of the stream instead. */
interface SetAside {
  reason: string
  change: DynamoDBRecord
}

/**
 * Turns work on the records of the table's stream into a function. The stream redelivers from the first failed record,
 * and records that keep failing go to the dead-letter queue.
 * @param work returns the sequence number of the first stream record that failed
 */
export function streamFunction(
  work: (records: readonly DynamoDBRecord[], context: StreamContext) => Promise<string | undefined>,
): (event: DynamoDBStreamEvent) => Promise<DynamoDBBatchResponse> {
  const log = lazy(() => powertoolsLog(serviceName, process.env))
  return async ({ Records }) => {
    const failed = await work(Records, {
      log: log(),
      environment: (name) => process.env[name],
      async setAside(sequenceNumber, reason) {
        const record = Records.find(({ dynamodb }) => dynamodb?.SequenceNumber === sequenceNumber)
        const letter: SetAside = { reason, change: withoutData(record ?? {}) }
        const url = process.env[deadLettersVariable] ?? ''
        const [isLost] = await sendAll(url, [{ body: JSON.stringify(letter), group: 'changes' }])
        if (isLost) throw new Error('a change could not be set aside')
      },
    })
    return { batchItemFailures: failed === undefined ? [] : [{ itemIdentifier: failed }] }
  }
}

/** Returns a change with what its events and its task need, and without the data of its item. */
function withoutData({ eventName, dynamodb = {} }: DynamoDBRecord): DynamoDBRecord {
  const { SequenceNumber, OldImage, NewImage } = dynamodb
  const kept = (image: Image | undefined) =>
    image && Object.fromEntries(Object.entries(image).filter(([name]) => keptAttributes.includes(name)))
  const [before, after] = [kept(OldImage), kept(NewImage)]
  return {
    ...(eventName && { eventName }),
    dynamodb: {
      ...(SequenceNumber !== undefined && { SequenceNumber }),
      ...(before && { OldImage: before }),
      ...(after && { NewImage: after }),
    },
  }
}

type Image = NonNullable<NonNullable<DynamoDBRecord['dynamodb']>['NewImage']>

const keptAttributes = ['pk', 'sk', 'tenant_id', 'outbox', 'task']

/** Returns the item in an image of a stream record. */
export function itemInImage(image: unknown): Item | undefined {
  return image === undefined ? undefined : (unmarshall(image as Record<string, AttributeValue>) as Item)
}
