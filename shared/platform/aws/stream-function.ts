import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { lazy } from '../base/cached-load.ts'
import type { Log } from '../base/log.ts'
import { serviceName } from '../base/metrics.ts'
import type { Item } from '../table/keys.ts'
import { powertoolsLog } from './powertools-log.ts'

/** The dependencies of work on a stream. It needs neither settings nor the table. */
export interface StreamContext {
  log: Log
  /** Returns the name or address of a resource that the stack passes to the function. */
  environment(name: string): string | undefined
}

/**
 * Turns work on the records of the table's stream into a function. The stream redelivers from the first failed record,
 * and records that keep failing go to the dead-letter queue.
 * @param work returns the sequence number of the first record that failed
 */
export function streamFunction(
  work: (records: readonly DynamoDBRecord[], context: StreamContext) => Promise<string | undefined>,
): (event: DynamoDBStreamEvent) => Promise<DynamoDBBatchResponse> {
  const log = lazy(() => powertoolsLog(serviceName, process.env))
  return async ({ Records }) => {
    const failed = await work(Records, { log: log(), environment: (name) => process.env[name] })
    return { batchItemFailures: failed === undefined ? [] : [{ itemIdentifier: failed }] }
  }
}

/** Returns the item in an image of a record. */
export function itemOf(image: unknown): Item | undefined {
  return image === undefined ? undefined : (unmarshall(image as Record<string, AttributeValue>) as Item)
}
