import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { systemClock } from '#shared/platform/clock.ts'
import { startBudget } from '#shared/platform/limits/budget.ts'
import { powertoolsLog } from '#shared/platform/logging/log.ts'
import { comeAgain } from '#shared/platform/queue/webhook-queue.ts'
import { deployedSettings } from '#shared/platform/settings/deployed.ts'
import { dynamodbClient } from '#shared/platform/table/dynamodb-client.ts'
import { dynamodbTable } from '#shared/platform/table/dynamodb-table.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { pauseBefore } from '#shared/webhooks/retry-pause.ts'

const log = powertoolsLog('commerce-api')
const budgetMilliseconds = 10_000

/** Handles queued events one by one. One that fails comes again after a pause, alone, until the queue gives it up. */
export async function handler({ Records }: SQSEvent): Promise<SQSBatchResponse> {
  const failed: SQSRecord[] = []
  for (const record of Records) {
    try {
      await handleEvent(record.body, {
        table: dynamodbTable(
          dynamodbClient(),
          process.env.TABLE_NAME ?? '',
          systemClock,
          startBudget(systemClock, budgetMilliseconds),
        ),
        clock: systemClock,
        settings: deployedSettings(),
      })
    } catch (fault) {
      log.worked({ code: 'EVENT_NOT_HANDLED', done: 0, failed: 1, fault })
      failed.push(record)
      await postpone(record)
    }
  }
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }
}

/** If this fails, the message comes again after the queue's own pause. */
async function postpone({ attributes, receiptHandle }: SQSRecord): Promise<void> {
  const seconds = pauseBefore(Number(attributes.ApproximateReceiveCount) + 1, systemClock)
  await comeAgain(process.env.WEBHOOKS_QUEUE_URL ?? '', receiptHandle, seconds).catch(() => undefined)
}
