import { beforeAll, describe, expect, test } from '@jest/globals'
import { stageTemplates } from '#test/infrastructure/stage-templates.ts'
import { localSettings } from '#test/support/settings.ts'
import { costsPage } from './aws/page.ts'
import { costsAsMarkdown, measureCosts } from './costs.ts'
import { type DeliveryCost, deliveriesAsMarkdown, deliveryCosts } from './delivery-costs.ts'
import { measureLargeTenant } from './large-tenant.ts'
import type { Cost } from './meter.ts'

/**
 * What a guarantee says of the requests at DynamoDB. How many units and bytes each request takes is in the table of
 * `npm run bench`, and no test asserts it.
 */

const pageSize = 25
const endpoint = process.env.DYNAMODB_ENDPOINT ?? ''
let measured: Cost[]
let costs: Map<string, Cost>
beforeAll(async () => {
  measured = await measureCosts(endpoint, pageSize, 100)
  costs = new Map(measured.map((cost) => [cost.request, cost]))
})

function costOf(request: string): Cost {
  const cost = costs.get(request)
  if (!cost) throw new Error(`${request} was not measured`)
  return cost
}

describe('one transaction holds the effect, its record and its events', () => {
  test.each([
    ['create an order', 201],
    ['create an order with a trace and 500 bytes of baggage', 201],
    ['create an order, its event with its fields', 201],
    ['create a code', 201],
    ['receive an event', 202],
  ])('%s: one request, and no read', (request, status) => {
    expect(costOf(request)).toMatchObject({ status, requests: 1, readUnits: 0 })
  })

  test.each([
    ['replay it', 201],
    ['replay a code', 201],
    ['replay a refund', 201],
    ['receive it again', 202],
  ])('%s: one request', (request, status) => {
    expect(costOf(request)).toMatchObject({ status, requests: 1 })
  })
})

describe('nothing is written by', () => {
  test.each([
    ['read it', 200],
    ['read it as an Admin of another tenant', 200],
    ['list page 1 of 25', 200],
    ['read a code', 200],
    ['change a code by a stale tag', 412],
    ['delete a code softly again', 204],
    // A replay is not counted as a try.
    ['replay a verification', 200],
    ['handle it again', undefined],
  ])('%s', (request, status) => {
    expect(costOf(request)).toMatchObject({ status, tableWriteUnits: 0, indexEntries: 0 })
  })
})

test('a discount that stays the same does not write its cart again', () => {
  const [first, again] = ['verify a discount on a cart', 'verify it again with another key'].map(costOf)
  expect(again?.tableWriteUnits).toBeLessThan(first?.tableWriteUnits ?? 0)
})

test('health does not depend on the table', () => expect(costOf('ask for health').requests).toBe(0))

describe('a list', () => {
  test('reads a page in one request, and the hundredth costs what the first costs', () => {
    const [first, last] = [costOf('list page 1 of 25'), costOf('list page 100')]
    expect([first.requests, last.requests]).toEqual([1, 1])
    expect(last.readUnits).toBeLessThanOrEqual(1.1 * first.readUnits)
  })

  test('reads 25 orders with their events in at most five units', () => {
    expect(costOf('list page 1 of 25').readUnits).toBeLessThanOrEqual(5)
  })

  test('stops at the read budget if its filter matches nothing', () => {
    const pages = localSettings['lists.readBudget'] / pageSize
    expect(costOf('list, filtered to nothing').readUnits).toBeLessThanOrEqual(
      1.1 * pages * costOf('list page 1 of 25').readUnits,
    )
  })
})

describe('in a tenant with twenty times as many codes', () => {
  let few: Cost[]
  let many: Cost[]
  beforeAll(async () => {
    few = await measureLargeTenant(endpoint, 120)
    many = await measureLargeTenant(endpoint, 2400)
  })

  test.each(['list', 'list by text', 'find by text'])('the request costs the same: %s', (name) => {
    const [first, second] = [few, many].map((all) => all.find(({ request }) => request === name))
    expect(first?.status).toBe(200)
    expect(second?.requests).toBe(first?.requests)
    expect(second?.readUnits).toBeLessThanOrEqual(1.1 * (first?.readUnits ?? 0))
  })
})

describe('deliveries to subscribers', () => {
  let deliveries: DeliveryCost[]
  beforeAll(async () => {
    deliveries = await deliveryCosts(endpoint)
  })
  const costOfWork = (work: string) => deliveries.find(({ request }) => request === work)

  test('a success at the first attempt sends no message', () =>
    expect(costOfWork('deliver it at the first attempt')?.messages).toBe(0))

  test('a sweep without subscribers reads one unit', () =>
    expect(costOfWork('sweep no subscribers')).toMatchObject({ readUnits: 1, tableWriteUnits: 0 }))

  test('the pages of figures can be made from what the bench measures', async () => {
    const { stacks: prod } = await stageTemplates('prod')
    const page = `\n${costsAsMarkdown(measured)}\n${deliveriesAsMarkdown(deliveries)}`
    expect(costsPage({ prod }, page)).toContain('| create an order |')
  })
})
