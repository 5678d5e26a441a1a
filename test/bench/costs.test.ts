import { beforeAll, describe, expect, test } from '@jest/globals'
import { measureCosts } from './costs.ts'
import type { Cost } from './meter.ts'

let costs: Map<string, Cost>
beforeAll(async () => {
  const measured = await measureCosts(process.env.DYNAMODB_ENDPOINT ?? '', 25, 100)
  costs = new Map(measured.map((cost) => [cost.request, cost]))
}, 60_000)

function costOf(request: string): Cost {
  const cost = costs.get(request)
  if (!cost) throw new Error(`${request} was not measured`)
  return cost
}

describe('at DynamoDB', () => {
  test('an order is one request and at most five write units', () => {
    const { status, requests, tableWriteUnits, indexEntries, readUnits } = costOf('create an order')
    expect([status, requests, readUnits]).toEqual([201, 1, 0])
    expect(tableWriteUnits + indexEntries).toBeLessThanOrEqual(5)
  })
  test('a replay is one request', () =>
    expect(costOf('replay it')).toMatchObject({ status: 201, requests: 1 }))
  test('a read is one request and one unit', () => {
    expect(costOf('read it')).toMatchObject({ status: 200, requests: 1, readUnits: 1, tableWriteUnits: 0 })
  })
  test('an Admin’s read elsewhere is two requests more', () => {
    expect(costOf('read it as an Admin of another tenant')).toMatchObject({
      status: 200,
      requests: 3,
      tableWriteUnits: 0,
    })
  })
  test('a denied read is audited in one write', () => {
    expect(costOf('read another tenant’s')).toMatchObject({ status: 404, requests: 3, tableWriteUnits: 1 })
  })
  test('health asks nothing', () => expect(costOf('ask for health').requests).toBe(0))
  test('a page is one request wherever it lies, and the hundredth costs what the first does', () => {
    const [first, last] = [costOf('list page 1 of 25'), costOf('list page 100')]
    expect([first.requests, last.requests]).toEqual([1, 1])
    expect(last.readUnits).toBeLessThanOrEqual(1.1 * first.readUnits)
  })
  test('a filter that finds nothing stops at the read budget', () => {
    const { requests, readUnits } = costOf('list, filtered to nothing')
    // 1,000 orders of some 300 bytes, read in pages of a hundred at 4 KB a unit.
    expect(requests).toBeLessThanOrEqual(10)
    expect(readUnits).toBeLessThanOrEqual(110)
  })
})

describe('a discount code at DynamoDB', () => {
  const units = ({ tableWriteUnits, indexEntries }: Cost) => tableWriteUnits + indexEntries

  test('is created in one request and at most eight write units', () => {
    const cost = costOf('create a code')
    expect(cost).toMatchObject({ status: 201, requests: 1, readUnits: 0 })
    expect(units(cost)).toBeLessThanOrEqual(8)
  })
  test('is read in one request and one unit', () =>
    expect(costOf('read a code')).toMatchObject({
      status: 200,
      requests: 1,
      readUnits: 1,
      tableWriteUnits: 0,
    }))
  test('is changed in two requests, and refused in one', () => {
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
  test('is deleted softly in one request, and a second time changes nothing', () => {
    expect(costOf('delete a code softly')).toMatchObject({ status: 204, requests: 1, readUnits: 0 })
    expect(costOf('delete a code softly again')).toMatchObject({
      status: 204,
      requests: 1,
      tableWriteUnits: 0,
    })
  })
  test('is restored, shared and deleted for good in two requests each', () => {
    for (const request of ['restore a code', 'share a code', 'delete a code for good']) {
      expect([request, costOf(request).requests]).toEqual([request, 2])
    }
  })
  test('is found by its text without reading the others', () => {
    for (const request of ['find a code by its text', 'list codes by their text']) {
      const { status, requests } = costOf(request)
      expect([request, status]).toEqual([request, 200])
      expect(requests).toBeLessThanOrEqual(3)
    }
  })
})

describe('money at DynamoDB', () => {
  test('a refund is two requests beside the provider, its replay one', () => {
    expect(costOf('refund a charge')).toMatchObject({ status: 201, requests: 2, readUnits: 0 })
    expect(costOf('replay a refund')).toMatchObject({ status: 201, requests: 1 })
    expect(costOf('be refused a refund')).toMatchObject({ status: 409, requests: 2 })
  })
  test('an event is received in one request, again or not, and handled in three', () => {
    expect(costOf('receive an event')).toMatchObject({ status: 202, requests: 1 })
    expect(costOf('receive it again')).toMatchObject({ status: 202, requests: 1 })
    expect(costOf('handle it').requests).toBe(3)
    expect(costOf('handle it again')).toMatchObject({ requests: 1, tableWriteUnits: 0 })
  })
  test('a replayed verification is one read, as it is not counted', () =>
    expect(costOf('replay a verification')).toMatchObject({
      status: 200,
      requests: 1,
      readUnits: 1,
      tableWriteUnits: 0,
    }))
  test('a discount that is unknown costs the requests of one that applies, less the code', () => {
    const [applied, unknown] = [costOf('verify a discount on a cart'), costOf('verify an unknown code')]
    expect([applied.status, unknown.status]).toEqual([200, 200])
    expect(applied.requests - unknown.requests).toBeLessThanOrEqual(1)
  })
})
