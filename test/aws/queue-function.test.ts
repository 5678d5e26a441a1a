import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { SQSRecord } from 'aws-lambda'
import { type BatchWork, processBatch, queueFunction } from '#shared/platform/aws/queue-function.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { localSettings } from '#test/support/settings.ts'

/** The timeout of the functions that queues invoke. */
const timeoutMilliseconds = 30_000
const never = new Promise<never>(() => {})

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

const records = (count: number, receives = 1): SQSRecord[] =>
  Array.from({ length: count }, (_, n) => {
    return {
      messageId: `m${n}`,
      body: `b${n}`,
      attributes: { ApproximateReceiveCount: String(receives) },
    } as SQSRecord
  })

/** Processes a batch in virtual time. @returns what it did, and how long it took in milliseconds */
async function run(
  batch: readonly SQSRecord[],
  work: (body: string) => Promise<unknown>,
  makeVisible?: BatchWork['makeVisible'],
) {
  const visible: [string, number][] = []
  const logged: object[] = []
  const started = Date.now()
  const works = batch.map(({ body }) => work(body))
  const processing = processBatch(batch, works, {
    runtime: {
      clock: { ...systemClock, jitter: () => 1 },
      log: { job: (line: object) => logged.push(line) } as never,
    },
    failure: 'EVENT_NOT_HANDLED',
    milliseconds: 10_000,
    async makeVisible(record, seconds) {
      visible.push([record.messageId, seconds])
      await makeVisible?.(record, seconds)
    },
  })
  let result: Awaited<typeof processing> | undefined
  void processing.then((returned) => {
    result = returned
  })
  while (!result) await jest.advanceTimersByTimeAsync(100)
  const failed = result.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
  return { visible, logged, failed, milliseconds: Date.now() - started }
}

describe('a batch of messages', () => {
  test('that are all handled returns none of them', async () => {
    expect(await run(records(10), async () => undefined)).toMatchObject({ failed: [], visible: [] })
  })

  test('returns only the message that failed, after a pause that grows with its attempts', async () => {
    const work = async (body: string) => {
      if (body === 'b1') throw new Error('fault')
    }
    const { failed, visible, logged } = await run(records(3, 2), work)
    expect(failed).toEqual(['m1'])
    expect(visible).toEqual([['m1', 8]])
    expect(logged).toMatchObject([{ code: 'EVENT_NOT_HANDLED', failed: 1 }])
  })

  test('does not outlive its function while its dependencies hang', async () => {
    const { milliseconds } = await run(records(10), () => never)
    expect(milliseconds).toBeLessThan(timeoutMilliseconds)
  })

  test('does not outlive its function while the queue hangs too', async () => {
    const { milliseconds, failed } = await run(
      records(10),
      () => never,
      () => never,
    )
    expect(milliseconds).toBeLessThan(timeoutMilliseconds)
    expect(failed).toHaveLength(10)
  })

  test('returns failed messages although the queue rejects their pause', async () => {
    const rejecting = () => Promise.reject(new Error('fault'))
    expect((await run(records(2), rejecting, rejecting)).failed).toEqual(['m0', 'm1'])
  })
})

test('slow work is done on all messages of a batch, because each receive of a message counts as an attempt', async () => {
  const worked: string[] = []
  const work = async (body: string) => {
    await new Promise((resolve) => setTimeout(resolve, 8000))
    worked.push(body)
  }
  const options = { queue: 'webhooks', failure: 'EVENT_NOT_HANDLED', settings: localSettings } as const
  const handled = queueFunction(options, work)({ Records: records(10) })
  await jest.advanceTimersByTimeAsync(timeoutMilliseconds)
  expect(worked).toHaveLength(10)
  expect(await handled).toEqual({ batchItemFailures: [] })
})
