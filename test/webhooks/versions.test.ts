import { describe, expect, test } from '@jest/globals'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create } from '#shared/platform/table/table.ts'
import type { Handler } from '#shared/webhooks/handler.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import { OrderPaidReport, type ReceivedEvent, receivedEvents } from '#shared/webhooks/received-events.ts'
import { handleReceived, sendEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { eventOf } from '#test/support/signed-events.ts'

const service = await startService()

/** Notes by which handler an event came to be handled. */
const noting =
  (by: string): Handler =>
  async ({ event_id }, { tenant }) => ({
    writes: [create({ ...keyOf(tenant, 'cart', event_id), by })],
  })
const twoVersions: ReceivedEvent[] = [
  { definition: OrderPaidReport, handler: noting('first') },
  { definition: { ...OrderPaidReport, version: 2 }, handler: noting('second') },
]

async function receive(version?: number | string, type = 'order.paid'): Promise<string> {
  const event = eventOf(type, { id: 'x', tenant_id: 'versions' }, version === undefined ? {} : { version })
  expect((await sendEvent(service, event)).status).toBe(202)
  return event.event_id
}
const handle = (id: string, events?: ReceivedEvent[]) => handleReceived(service, id, events)
const handledBy = async (id: string) => (await service.table.get(keyOf('versions', 'cart', id)))?.by
const stateOf = async (id: string) => (await service.table.get(inboxKey(id)))?.state

describe('a received event', () => {
  test.each([
    [undefined, 'first'],
    [1, 'first'],
    ['v1', 'first'],
    [2, 'second'],
    ['v2', 'second'],
  ])('of version %s is handled by the %s handler of its type', async (version, by) => {
    const id = await receive(version)
    expect(await handle(id, twoVersions)).toBe('handled')
    expect(await handledBy(id)).toBe(by)
  })

  test.each([0, 'v0', '1', 'v1.0', 1.5])('of no version %j is rejected', async (version) => {
    const answer = await sendEvent(service, eventOf('order.paid', { id: 'x' }, { version }))
    expect([answer.status, Object.keys(answer.json.error.details.fields)]).toEqual([400, ['version']])
  })

  test('of an unknown version stays queued, and is handled once the version is known', async () => {
    const id = await receive(2)
    for (let attempt = 0; attempt < 2; attempt += 1)
      await expect(handle(id)).rejects.toThrow('an event has an unknown version')
    expect([await stateOf(id), await handledBy(id)]).toEqual(['received', undefined])
    expect(await handle(id, twoVersions)).toBe('handled')
    expect([await stateOf(id), await handledBy(id)]).toEqual(['handled', 'second'])
  })

  test('of a type without a handler changes nothing in any version', async () => {
    const id = await receive(7, 'parcel.packed')
    expect(await handle(id)).toBe('ignored')
  })
})

test('each version of a type has one handler', () => {
  const names = receivedEvents.map(({ definition: { type, version } }) => `${type}.v${version}`)
  expect(new Set(names).size).toBe(names.length)
})
