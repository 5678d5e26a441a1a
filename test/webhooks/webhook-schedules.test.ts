import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { findCart, linesOf } from '#shared/carts/cart-store.ts'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { publishedEvents } from '#shared/platform/events/outbox.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import type { WebhookEvent } from '#shared/webhooks/webhook-event.ts'
import { settingsAt } from '#test/faults/refund-service.ts'
import {
  type FakePaymentProvider,
  startPaymentProvider,
} from '#test/support/payment-provider/payment-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { signed } from '#test/support/signed-events.ts'
import { type Blow, mortalProcesses, someBlows } from '../faults/killable-processes.ts'
import { movableClock } from '../faults/payment-saga.ts'
import { eventFor, inOrder, isPoison, type Subjects, type Telling, tellings } from './random-events.ts'

/** What happens to an event: a sender sends it, or the queue hands it over; in any order, and however often. */
interface Act {
  act: 'send' | 'handle'
  event: number
  blows: (Blow | null)[]
  /** Together with the one before it. */
  atOnce: boolean
  landing: boolean
}

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    act: fc.constantFrom('send' as const, 'handle' as const),
    event: fc.nat(7),
    blows: someBlows,
    atOnce: fc.boolean(),
    landing: fc.boolean(),
  }),
  { maxLength: 16 },
)

const clock = movableClock()
const processes = mortalProcesses()
let provider: FakePaymentProvider
let service: Service
let runs = 0
beforeAll(async () => {
  provider = await startPaymentProvider()
  const settings = settingsAt(provider.endpoint, 5000)
  service = await startService({ clock, client: processes.client, settings })
})
afterAll(() => provider.stop())

async function subjectsOf(tenant: string): Promise<Subjects> {
  const made = async (path: string, body: object) => {
    const headers = { 'Idempotency-Key': crypto.randomUUID() }
    const { json } = await service.call({ method: 'POST', path, as: { tenant }, headers, body })
    return json.id as string
  }
  const order = () => made('/v1/orders', { cart_id: 'c', amount_minor: 1, currency: 'EUR' })
  const refund = () => made('/v1/refunds', { charge_id: 'ch_pending_1', amount: 1 })
  const [orders, refunds] = [await Promise.all([order(), order()]), await Promise.all([refund(), refund()])]
  return { tenant, cart: `cart-of-${tenant}`, orders, refunds }
}

function send(event: WebhookEvent, blows: (Blow | null)[] = []) {
  const body = JSON.stringify(event)
  const headers = signed(body, { at: new Date(clock.now()) })
  const call = { method: 'POST', path: '/v1/webhooks/events', headers, body }
  return processes.run(blows, () => service.call(call))
}

/** @returns undefined when it failed or died: then it comes again */
function handle({ event_id }: WebhookEvent, blows: (Blow | null)[] = []) {
  const budget = startBudget(clock, 10_000)
  const table = dynamodbTable(processes.client, service.tableName, clock, budget)
  const { settings } = service
  return processes.run(blows, () => handleEvent(event_id, { table, clock, settings })).catch(() => undefined)
}

async function play(told: Telling[], schedule: Act[], order: number[]): Promise<void> {
  const subjects = await subjectsOf(`told-${runs++}`)
  const events = told.map((telling) => eventFor(telling, subjects))
  let under: Promise<unknown>[] = []
  for (const { act, event: at, blows, atOnce, landing } of schedule) {
    if (!atOnce) await Promise.all(under.splice(0))
    const event = events[at % events.length] as WebhookEvent
    under.push(act === 'send' ? send(event, blows) : handle(event, blows))
    if (landing) under.push(processes.land())
  }
  await Promise.all(under)
  under = []

  // The faults are over: senders that heard nothing send again, and the queue brings what is not handled.
  const places = events.map((event, at) => ({ event, place: order[at] ?? 0 }))
  const last = places.toSorted((a, b) => a.place - b.place).map(({ event }) => event)
  for (const event of last) expect((await send(event))?.status).toBe(202)
  for (const event of last) await handle(event)
  await processes.land()
  for (const [at, event] of events.entries()) {
    const poisoned = isPoison(told[at] as Telling)
    expect(await handle(event)).toBe(poisoned ? undefined : 'known')
    const kept = await service.table.get(inboxKey(event.event_id))
    expect(kept?.state).toBe(poisoned ? 'received' : 'handled')
  }
  const sound = inOrder(events.filter((_, at) => !isPoison(told[at] as Telling)))
  await expectCart(sound, subjects)
  await expectMoney(sound, subjects)
}

async function expectCart(sound: WebhookEvent[], { tenant, cart }: Subjects) {
  const updates = sound.filter(({ type }) => type === 'cart.updated')
  const latest = updates.findLast(({ data }) => data.amount_minor !== undefined)
  const owned = updates.findLast(({ data }) => data.user_id !== undefined)
  const known = await findCart(service.table, tenant, cart)
  expect([known?.amount_minor, known?.occurred_at]).toEqual([latest?.data.amount_minor, latest?.occurred_at])
  expect([known?.owner?.subject, known?.owner?.occurred_at]).toEqual([
    owned?.data.user_id,
    owned?.occurred_at,
  ])

  const cards = new Map<unknown, unknown[]>()
  for (const { type, data, occurred_at } of sound.toReversed()) {
    if (type === 'giftcard.applied') cards.set(data.giftcard_id, [data.amount, occurred_at])
  }
  const lines = await linesOf(service.table, tenant, cart)
  const applied = lines.filter(({ kind }) => kind === 'giftcard')
  expect(new Map(applied.map((line) => [line.name, [line.amount_minor, line.occurred_at]]))).toEqual(cards)

  const tax = sound.findLast(({ type }) => type === 'tax.recalculated')
  const taxes = lines.filter(({ kind }) => kind === 'tax').map(({ occurred_at }) => occurred_at)
  expect(taxes).toEqual(tax ? [tax.occurred_at] : [])
}

async function expectMoney(sound: WebhookEvent[], { tenant, refunds, orders }: Subjects) {
  const toldOf = (kind: string, ids: string[]) =>
    ids.filter((id) => sound.some(({ type, data }) => type === kind && data.id === id)).toSorted()
  const paid = toldOf('order.paid', orders)
  const settled = toldOf('refund.succeeded', refunds)
  const ledger = await service.items(tenant, 'ledger')
  expect(ledger.map(({ refund_id }) => refund_id)).toEqual(settled)
  const refundItems = await service.items(tenant, 'refund')
  const orderItems = await service.items(tenant, 'order')
  const statusOf = (items: object[]) => items.map((item) => (item as { status: string }).status)
  expect(statusOf(refundItems)).toEqual(
    refunds.toSorted().map((id) => (settled.includes(id) ? 'succeeded' : 'pending')),
  )
  expect(statusOf(orderItems)).toEqual(orders.toSorted().map((id) => (paid.includes(id) ? 'paid' : 'active')))
  const published = [...refundItems, ...orderItems].flatMap(publishedEvents)
  const of = (kind: string) => published.filter(({ type }) => type === kind).map(({ data }) => data.id)
  expect([of('order.paid'), of('refund.succeeded')]).toEqual([paid, settled])
}

test('in whatever order, however often and with whatever failures events come, what happened decides', async () => {
  const order = fc.array(fc.nat(1000), { minLength: 8, maxLength: 8 })
  await fc.assert(fc.asyncProperty(tellings, acts, order, play), { numRuns: 150, seed: 20_260_402 })
}, 300_000)

test('an event is received whatever JSON its data holds, and kept to the last digit', async () => {
  const data = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 20 }), { maxKeys: 5 })
  const edges = [{ '': 1 }, { n: 1e300 }, { n: 5e-324 }, { n: 2 ** 60 }, { n: -1e126 }, { s: '\ud800' }]
  const check = async (more: Record<string, unknown>) => {
    const event = {
      event_id: crypto.randomUUID(),
      type: 'loyalty.earned',
      occurred_at: '2026-01-01T00:00:00.000Z',
      data: { ...more, id: 'l1', tenant_id: 'any' },
    }
    expect((await send(event))?.status).toBe(202)
    expect(await handle(event)).toBe('handled')
    const kept = await service.table.get(inboxKey(event.event_id))
    expect(JSON.parse(String(kept?.event))).toEqual(JSON.parse(JSON.stringify(event)))
  }
  const examples = edges.map((edge): [Record<string, unknown>] => [edge])
  await fc.assert(fc.asyncProperty(data, check), { numRuns: 100, seed: 20_260_403, examples })
}, 60_000)
