import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { deadLettersAt } from '#bin/commands/dead-letters/dead-letters.ts'
import {
  discardLetter,
  type Inspection,
  listLetters,
  showLetter,
} from '#bin/commands/dead-letters/inspect-dead-letters.ts'
import { handleReceived, sendEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { startFakeAws } from '../support/fake-aws.ts'
import { fakeQueue } from '../support/fake-queue.ts'

const dead = fakeQueue()
const aws = await startFakeAws(dead.operations)
const service = await startService()
beforeEach(() => dead.empty())
afterAll(() => aws.stop())

const listed = async (inspection: Inspection) => (await listLetters(inspection)).map(({ summary }) => summary)
const letters = deadLettersAt(`${aws.endpoint}/dead`, aws.access)
const webhooks: Inspection = { name: 'webhooks', letters, table: service.table, attempts: 5 }
const relay: Inspection = { name: 'events.relay', letters, table: service.table }
const operator = { table: service.table, clock: service.runtime.clock, name: 'jane' }

/** Receives an event that no attempt can handle. @returns the event and the id of its dead letter */
async function poison(attempts: number) {
  const event = eventOf('order.paid', { id: 'jane@example.com', tenant_id: 'acme' })
  await sendEvent(service, event)
  for (let n = 0; n < attempts; n += 1) await handleReceived(service, event.event_id).catch(() => undefined)
  return { event, message_id: dead.put(event.event_id, 'acme') }
}

describe('a poisoned webhook', () => {
  test('is listed with its event, the number of attempts and the reason, without its values', async () => {
    const { event, message_id } = await poison(3)
    expect(await listed(webhooks)).toEqual([
      {
        message_id,
        at: '2026-01-31T12:00:00.000Z',
        event_id: event.event_id,
        type: 'order.paid',
        attempts: 3,
        reason: 'NOT_FOUND.order',
      },
    ])
  })

  test('is shown with the event', async () => {
    const { event, message_id } = await poison(1)
    expect(await showLetter(webhooks, message_id)).toMatchObject({ event, attempts: 1 })
  })

  test('stays in the queue, visible for other commands, after a list and a look', async () => {
    const { message_id } = await poison(1)
    await listed(webhooks)
    await showLetter(webhooks, message_id)
    expect(await listed(webhooks)).toHaveLength(1)
  })

  test('is removed by discard, and no other message is', async () => {
    const [first, second] = [await poison(1), await poison(1)]
    await discardLetter(webhooks, first.message_id, operator)
    expect(dead.left()).toEqual([second.event.event_id])
  })

  test('is recorded in the audit of its tenant by discard', async () => {
    const { event, message_id } = await poison(1)
    await discardLetter(webhooks, message_id, operator)
    const [record] = (await service.items('acme', 'audit')).filter(
      ({ after }) => (after as { message_id?: string } | undefined)?.message_id === message_id,
    )
    expect(record).toMatchObject({
      actor_id: 'jane',
      action: 'dead_letters.discard',
      target: 'dead_letters/webhooks',
      after: { event_id: event.event_id, attempts: 1 },
    })
  })

  test('that was handled again in the meantime keeps its state', async () => {
    const { event } = await poison(1)
    await service.table.update({
      update: { pk: `inbox#${event.event_id}`, sk: 'event' },
      set: { state: 'handled' },
      condition: 'none',
    })
    await handleReceived(service, event.event_id)
    const item = await service.table.get({ pk: `inbox#${event.event_id}`, sk: 'event' })
    expect(item).toMatchObject({ state: 'handled', failed_attempts: 1 })
  })
})

describe.each([
  ['deliveries', { tenant: 'acme', subscriber: 's', delivery: 'd', attempt: 2 }, 's'],
  ['published_events', { detail: { type: 'order.placed', data: { id: 'o', tenant_id: 'acme' } } }, undefined],
])('a message of the queue %s', (name, body, group) => {
  const inspection: Inspection = { name, letters, table: service.table, attempts: 5 }

  test('is recorded in the audit of the tenant in its body by discard', async () => {
    const message_id = dead.put(body, group)
    await discardLetter(inspection, message_id, operator)
    const records = (await service.items('acme', 'audit')).filter(
      ({ target }) => target === `dead_letters/${name}`,
    )
    expect(records).toMatchObject([{ action: 'dead_letters.discard', after: { message_id } }])
  })

  test('that nobody can read is discarded', async () => {
    await discardLetter(inspection, dead.put('not JSON', group), operator)
    expect(dead.left()).toEqual([])
  })
})

test('a message whose event has expired is listed with the attempts of its queue', async () => {
  const message_id = dead.put('unknown', 'acme')
  expect(await listed(webhooks)).toMatchObject([{ message_id, attempts: 5, reason: undefined }])
})

test('a message that the queue does not have is refused by its id, and nothing is removed', async () => {
  dead.put('e-1', 'acme')
  await expect(discardLetter(webhooks, 'other', operator)).rejects.toThrow(/\bother\b/)
  expect(dead.left()).toEqual(['e-1'])
})

describe('a failed batch of the stream', () => {
  const at = '2026-01-31T12:00:00Z'
  const batch = {
    ...{ streamArn: 'arn', shardId: 'shard', startSequenceNumber: '1', endSequenceNumber: '9', batchSize: 3 },
    ...{ approximateArrivalOfFirstRecord: at, approximateArrivalOfLastRecord: at },
  }
  const requestContext = { condition: 'RetryAttemptsExhausted', approximateInvokeCount: 31 }

  test('is listed with its attempts, its reason and the number of its changes', async () => {
    const responseContext = { functionError: 'Unhandled' }
    dead.put({ requestContext, responseContext, DDBStreamBatchInfo: batch })
    expect(await listed(relay)).toMatchObject([
      { attempts: 31, reason: 'RetryAttemptsExhausted: Unhandled', changes: 3 },
    ])
  })

  test('is discarded without an audit record, because it belongs to no tenant', async () => {
    const message_id = dead.put({ requestContext, DDBStreamBatchInfo: batch })
    expect(await discardLetter(relay, message_id, operator)).toMatchObject({ message_id, changes: 3 })
    expect(dead.left()).toEqual([])
  })

  test('that nobody can read is listed', async () => {
    dead.put('not JSON')
    expect(await listed(relay)).toMatchObject([{ reason: expect.stringContaining('the message is') }])
  })
})
