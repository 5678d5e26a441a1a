import { marshall } from '@aws-sdk/util-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { AttributeValue, DynamoDBRecord } from 'aws-lambda'
import { enqueueTasks } from '#functions/platform/enqueue-tasks/handler.ts'
import type { QueueMessage } from '#shared/platform/aws/sqs.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { requestCode } from '#test/support/one-time-codes.ts'
import { sendEvent } from '#test/support/received-events.ts'
import { type Service, startService } from '#test/support/service.ts'
import { eventOf } from '#test/support/signed-events.ts'

let service: Service
const sent: [TaskQueue, QueueMessage][] = []
beforeAll(async () => {
  service = await startService()
})

/** Runs a request and queues the tasks of the items that it created. */
async function groupsAfter(request: () => Promise<unknown>): Promise<string[]> {
  const before = new Set((await itemsOf(service.tableName)).map(({ pk, sk }) => `${pk} ${sk}`))
  await request()
  const created = (await itemsOf(service.tableName)).filter(({ pk, sk }) => !before.has(`${pk} ${sk}`))
  const records = created.map((item): DynamoDBRecord => {
    const NewImage = marshall(item, { removeUndefinedValues: true }) as Record<string, AttributeValue>
    return { eventName: 'INSERT', dynamodb: { NewImage, SequenceNumber: String(item.sk) } }
  })
  sent.length = 0
  await enqueueTasks(records, {} as never, async (queue, messages) => {
    sent.push(...messages.map((message) => [queue, message] as [TaskQueue, QueueMessage]))
    return messages.map(() => false)
  })
  return sent.map(([queue, { group }]) => `${queue} of ${group}`)
}

const receive = (data: Record<string, unknown>) => () =>
  sendEvent(service, eventOf('parcel.packed', { id: crypto.randomUUID(), ...data }))

describe('the queues serve tenants with few messages first: a message is grouped', () => {
  test.each([
    ['the tenant that it names', { tenant_id: 'acme' }, 'acme'],
    ['the public tenant without one', {}, 'public'],
    ['the public tenant if it names none that exists', { tenant_id: 'no tenant' }, 'public'],
    ['the public tenant if it names a list', { tenant_id: ['acme'] }, 'public'],
  ])('for a received event by %s', async (_, data, group) => {
    expect(await groupsAfter(receive(data))).toEqual([`webhooks of ${group}`])
  })

  test('for an import by its tenant', async () => {
    const upload = () =>
      service.call({
        method: 'POST',
        path: '/imports',
        as: { tenant: 'acme', role: 'Editor' },
        headers: { 'Content-Type': 'text/csv' },
        body: 'email\na@example.com\n',
      })
    expect(await groupsAfter(upload)).toEqual(['imports of acme'])
  })

  test('for a mail by its user, without the address', async () => {
    const groups = await groupsAfter(() => requestCode(service, 'jane@example.com'))
    const [first] = groups
    expect(groups).toHaveLength(1)
    expect(first).toMatch(/^mail of [\w-]{16,128}$/)
    expect(await groupsAfter(() => requestCode(service, 'Jane@example.com'))).toEqual([first])
  })

  test('for a password reset by the public tenant', async () => {
    const reset = () =>
      service.call({ method: 'POST', path: '/password/reset', body: { email: 'jane@example.com' } })
    expect(await groupsAfter(reset)).toEqual(['password_resets of public'])
  })
})
