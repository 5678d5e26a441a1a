import { expect, test } from '@jest/globals'
import { cellLimits, hoursOfCopy, ordersOfMonth, ordersOfTenant, reachedAt } from './cells.ts'
import type { MeasuredRequest } from './request-costs.ts'

const measured = (request: string, readUnits: number, writeUnits: number): MeasuredRequest => ({
  request,
  readUnits,
  writeUnits,
  charged: true,
})
const requests = [
  measured('create an order', 0, 5),
  measured('read it', 1, 0),
  measured('list page 1 of 25', 2, 0),
]
const limitOf = (what: string, of = requests) => {
  const found = cellLimits(of).find((one) => one.what === what)
  if (!found) throw new Error(what)
  return reachedAt(found)
}

test('the write units of a table are reached by orders, a quarter of the requests', () => {
  expect(limitOf('write units of a table')).toBe(40_000 / (5 / 4))
})

test('the read units of a table are reached by two reads and a list of four requests', () => {
  expect(limitOf('read units of a table')).toBe(40_000 / ((2 * 1 + 2) / 4))
})

test('the limits follow the measured units', () => {
  const dearer = [measured('create an order', 0, 10), ...requests.slice(1)]
  expect(limitOf('write units of a new table', dearer)).toBe(limitOf('write units of a new table') / 2)
})

test('the smallest limit is the first', () => {
  const reached = cellLimits(requests).map(reachedAt)
  expect(reached).toEqual(reached.toSorted((one, other) => one - other))
})

test('a request that the benchmark does not have is an error', () => {
  expect(() => cellLimits(requests.slice(1))).toThrow('the benchmark has no request "create an order"')
})

test('the executions that the stage reserves serve no request of the mix', () => {
  expect(limitOf('concurrent executions without a reservation')).toBe((1000 - 745) / 0.02)
})

test('a month has a quarter of its requests as orders', () => {
  expect(ordersOfMonth(4)).toBe(43_800 * 60)
})

test('a partition takes 500 orders a second', () => {
  expect(ordersOfTenant(4)).toBe(2000)
})

test('a copied order is an item and an entry of the index', () => {
  expect(hoursOfCopy(3.6e6, 2000)).toBe(1)
})
