import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { measureCosts } from './costs.ts'
import { type DeliveryCost, deliveriesAsMarkdown, deliveryCosts } from './delivery-costs.ts'
import type { Cost } from './meter.ts'

let costs: Map<string, Cost>
beforeAll(async () => {
  const measured = await measureCosts(process.env.DYNAMODB_ENDPOINT ?? '', 25, 100)
  costs = new Map(measured.map((cost) => [cost.request, cost]))
})

function costOf(request: string): Cost {
  const cost = costs.get(request)
  if (!cost) throw new Error(`${request} was not measured`)
  return cost
}

describe('orders at DynamoDB', () => {
  test('a create is one request and at most five write units', () => {
    const { status, requests, tableWriteUnits, indexEntries, readUnits } = costOf('create an order')
    expect([status, requests, readUnits]).toEqual([201, 1, 0])
    expect(tableWriteUnits + indexEntries).toBeLessThanOrEqual(5)
  })
  test('a create costs the same with a trace and 500 bytes of baggage', () => {
    const { request: _, ...plain } = costOf('create an order')
    expect(costOf('create an order with a trace and 500 bytes of baggage')).toMatchObject(plain)
  })
  test('a page of 25 with their events is at most three read units', () =>
    expect(costOf('list page 1 of 25').readUnits).toBeLessThanOrEqual(3))
  test('a replay is one request', () =>
    expect(costOf('replay it')).toMatchObject({ status: 201, requests: 1 }))
  test('a read is one request and one unit', () => {
    expect(costOf('read it')).toMatchObject({ status: 200, requests: 1, readUnits: 1, tableWriteUnits: 0 })
  })
  test('an Admin’s read in another tenant is two more requests', () => {
    expect(costOf('read it as an Admin of another tenant')).toMatchObject({
      status: 200,
      requests: 3,
      tableWriteUnits: 0,
    })
  })
  test('a denied read is audited in one write, and counted in one, because many share a record', () => {
    expect(costOf('read another tenant’s')).toMatchObject({ status: 404, requests: 4, tableWriteUnits: 2 })
  })
  test('health makes no request', () => expect(costOf('ask for health').requests).toBe(0))
  test('every page is one request, and the hundredth costs the same as the first', () => {
    const [first, last] = [costOf('list page 1 of 25'), costOf('list page 100')]
    expect([first.requests, last.requests]).toEqual([1, 1])
    expect(last.readUnits).toBeLessThanOrEqual(1.1 * first.readUnits)
  })
  test('a filter without matches stops at the read budget', () => {
    const { requests, readUnits } = costOf('list, filtered to nothing')
    // 1,000 orders of about 370 bytes, read in pages of a hundred at 4 KB for each unit.
    expect(requests).toBeLessThanOrEqual(10)
    expect(readUnits).toBeLessThanOrEqual(110)
  })
})

describe('discount codes at DynamoDB', () => {
  const units = ({ tableWriteUnits, indexEntries }: Cost) => tableWriteUnits + indexEntries

  test('a create is one request and at most eight write units', () => {
    const cost = costOf('create a code')
    expect(cost).toMatchObject({ status: 201, requests: 1, readUnits: 0 })
    expect(units(cost)).toBeLessThanOrEqual(8)
  })
  test('a read is one request and one unit', () =>
    expect(costOf('read a code')).toMatchObject({
      status: 200,
      requests: 1,
      readUnits: 1,
      tableWriteUnits: 0,
    }))
  test('an update is two requests, and one if it is rejected', () => {
    expect(costOf('change a code')).toMatchObject({
      status: 200,
      requests: 2,
      tableWriteUnits: 4,
      indexEntries: 0,
    })
    expect(costOf('change a code by a stale tag')).toMatchObject({
      status: 412,
      requests: 1,
      tableWriteUnits: 0,
    })
  })
  test('a soft delete is one request, and a repetition changes nothing', () => {
    expect(costOf('delete a code softly')).toMatchObject({ status: 204, requests: 1, readUnits: 0 })
    expect(costOf('delete a code softly again')).toMatchObject({
      status: 204,
      requests: 1,
      tableWriteUnits: 0,
    })
  })
  test('a restore, a share and a hard delete are two requests each', () => {
    for (const request of ['restore a code', 'share a code', 'delete a code for good']) {
      expect([request, costOf(request).requests]).toEqual([request, 2])
    }
  })
  test('the checks of holds add four units to a hard delete: two for the code, two for the tenant', () => {
    // Two each for the code, its lock and the audit record.
    expect(costOf('delete a code for good')).toMatchObject({ tableWriteUnits: 6 + 4 })
  })
  test('a search by text does not read other codes', () => {
    for (const request of ['find a code by its text', 'list codes by their text']) {
      const { status, requests } = costOf(request)
      expect([request, status]).toEqual([request, 200])
      expect(requests).toBeLessThanOrEqual(3)
    }
  })
})

describe('money at DynamoDB', () => {
  test('a refund is two requests besides the provider, and its replay one', () => {
    expect(costOf('refund a charge')).toMatchObject({ status: 201, requests: 2, readUnits: 0 })
    expect(costOf('replay a refund')).toMatchObject({ status: 201, requests: 1 })
    expect(costOf('be refused a refund')).toMatchObject({ status: 409, requests: 2 })
  })
  test('an event is received in one request, a duplicate too, and handled in three', () => {
    expect(costOf('receive an event')).toMatchObject({ status: 202, requests: 1 })
    expect(costOf('receive it again')).toMatchObject({ status: 202, requests: 1 })
    expect(costOf('handle it').requests).toBe(3)
    expect(costOf('handle it again')).toMatchObject({ requests: 1, tableWriteUnits: 0 })
  })
  test('a replayed verification is one read, because it is not counted', () =>
    expect(costOf('replay a verification')).toMatchObject({
      status: 200,
      requests: 1,
      readUnits: 1,
      tableWriteUnits: 0,
    }))
  test('a discount is published by the write of its cart, and one that stays the same writes none', () => {
    expect(costOf('verify a discount on a cart')).toMatchObject({ status: 200, tableWriteUnits: 4 })
    expect(costOf('verify it again with another key')).toMatchObject({ status: 200, tableWriteUnits: 2 })
  })
  test('the other codes of a cart are one request more, and a wrong code is counted in three windows', () => {
    const [first, second, unknown] = [
      costOf('verify a discount on a cart'),
      costOf('verify a second code on the cart'),
      costOf('verify an unknown code on the same cart'),
    ]
    expect([first.status, second.status, unknown.status]).toEqual([200, 200, 200])
    expect([second.requests, unknown.requests]).toEqual([first.requests + 1, first.requests + 1 + 3])
  })
  test('a change of a cart with codes is one request more than one without', () => {
    expect(costOf('handle a change of a cart with two codes').requests).toBe(costOf('handle it').requests + 1)
  })
})

describe('the data of events at DynamoDB', () => {
  const units = (request: string) => {
    const { tableWriteUnits, indexEntries } = costOf(request)
    return tableWriteUnits + indexEntries
  }

  test.each(['create an order', 'refund a charge'])('costs no unit more with the fields: %s', (request) => {
    const least = units(`${request}, its event with id and tenant`)
    expect(units(`${request}, its event with its fields`)).toBe(least)
  })
})

describe('deliveries to subscribers', () => {
  let deliveries: Map<string, DeliveryCost>
  let section: string
  beforeAll(async () => {
    const measured = await deliveryCosts(process.env.DYNAMODB_ENDPOINT ?? '')
    deliveries = new Map(measured.map((cost) => [cost.request, cost]))
    section = deliveriesAsMarkdown(measured)
  })

  test('a success at the first attempt is one write unit, and no message', () =>
    expect(deliveries.get('deliver it at the first attempt')).toMatchObject({
      requests: 2,
      tableWriteUnits: 1,
      messages: 0,
    }))
  test('an event without subscribers is one read, and no message', () =>
    expect(deliveries.get('look for the subscribers of an event, without any')).toMatchObject({
      requests: 1,
      tableWriteUnits: 0,
      messages: 0,
    }))
  test('are as many units as the page of the benchmark says', async () => {
    const page = await readFile(join(import.meta.dirname, 'README.md'), 'utf8')
    expect(page).toContain(section)
  })
})
