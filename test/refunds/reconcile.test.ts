import { beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { startBudget, systemClock, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import type { ProviderRefund, ProviderRefunds } from '#shared/refunds/provider-refunds.ts'
import { type ReconciledPart, reconcile } from '#shared/refunds/reconcile.ts'
import type { LedgerEntry } from '#shared/refunds/refund-store.ts'
import { idAt } from '#test/support/ids.ts'
import { runs } from '#test/support/runs.ts'
import { newMemoryTable, newTable, openTable } from '#test/support/tables.ts'

const tenant = 'acme'
const account = 'acct_acme'
const hour = 3_600_000
const start = Date.UTC(2026, 0, 1)

let table: Table
let providerRefunds: ProviderRefund[]
let found: string[]
/** The account of each refund of the provider. */
let accountOf: (providerRefund: ProviderRefund) => string
/** Called before a refund is looked up. */
let beforeFind: (id: string | undefined) => void | Promise<void>

beforeEach(async () => {
  table = openTable(await newTable())
  providerRefunds = []
  found = []
  beforeFind = () => {}
  accountOf = () => account
})

/** The refunds of a provider in memory, which lists the newest first like Stripe. */
const provider: ProviderRefunds = {
  async *list({ account: asked, from, to }) {
    const own = providerRefunds.filter((providerRefund) => accountOf(providerRefund) === asked)
    const listed = own.filter(({ createdAt }) => createdAt >= from && createdAt < to)
    yield* listed.toSorted((a, b) => b.createdAt - a.createdAt)
  },
  async find({ account: asked, id, refundId }) {
    found.push(id ?? refundId)
    await beforeFind(id)
    const own = providerRefunds.filter((providerRefund) => accountOf(providerRefund) === asked)
    return own.find((providerRefund) =>
      id === undefined ? providerRefund.refundId === refundId : providerRefund.id === id,
    )
  },
}

function payoutOf(refundId: string, changes: Partial<ProviderRefund> = {}): ProviderRefund {
  const createdAt = Math.floor(timeOf(refundId) / 1000) * 1000
  const id = `re_${refundId}`
  const sums = { amount: 700, currency: 'EUR', status: 'succeeded' as const }
  return { id, refundId, tenant, requestName: 'request-1', chargeId: 'ch_1', ...sums, createdAt, ...changes }
}

async function book(
  refundId: string,
  changes: Partial<LedgerEntry> = {},
  missing: (keyof LedgerEntry)[] = [],
): Promise<void> {
  const entry: Partial<LedgerEntry> = {
    account,
    refund_id: refundId,
    charge_id: 'ch_1',
    kind: 'payout',
    amount: 700,
    currency: 'EUR',
    provider_refund_id: `re_${refundId}`,
    at: timestamp(timeOf(refundId)),
    ...changes,
  }
  for (const field of missing) delete entry[field]
  const key = { ...keyOf(tenant, 'ledger', refundId), sk: `${refundId}#${entry.kind}` }
  await table.put({ item: { ...key, ...entry }, condition: 'none' })
}

async function storeRefund(id: string, status: string, of = account): Promise<void> {
  const refund = { id, tenant_id: tenant, account: of, charge_id: 'ch_1', amount: 700, status, version: 1 }
  await table.put({ item: { ...keyOf(tenant, 'refund', id), ...refund }, condition: 'none' })
}

async function compare(from = start, to = start + hour, of = account): Promise<ReconciledPart[]> {
  const budget = startBudget(systemClock, 60_000)
  const parts: ReconciledPart[] = []
  const range = { tenant, account: of, from, to }
  for await (const part of reconcile(range, { table, providerRefunds: provider, budget })) parts.push(part)
  return parts
}

const kinds = (parts: readonly ReconciledPart[]) =>
  parts.flatMap(({ differences }) => differences.map(({ finding, refund_id }) => `${finding} ${refund_id}`))

describe('a payout that two refunds have', () => {
  test.each(['the first', 'the second'])('and that names %s is a difference of the other', async (named) => {
    const [one, two] = [idAt(start + 1), idAt(start + 2)]
    const refundId = named === 'the first' ? one : two
    providerRefunds.push(payoutOf(one, { refundId }))
    for (const id of [one, two]) await book(id, { provider_refund_id: `re_${one}` })
    expect(kinds(await compare())).toEqual([`fields_differ ${refundId}`])
  })
})

describe('the payout of a refund whose metadata names', () => {
  async function totals(refundId: string, ...more: ProviderRefund[]) {
    const id = idAt(start + 1)
    providerRefunds.push(payoutOf(id, { refundId }), ...more)
    for (const one of [id, ...more.map(({ refundId: other }) => String(other))]) await book(one)
    return (await compare()).flatMap((part) => part.totals)
  }

  test('another refund is counted once', async () => {
    const other = idAt(start + 2)
    expect(await totals(other, payoutOf(other))).toEqual([{ currency: 'EUR', provider: 1400, ledger: 1400 }])
  })

  test('no refund is counted', async () => {
    expect(await totals('order-1')).toEqual([{ currency: 'EUR', provider: 700, ledger: 700 }])
  })
})

describe('a range', () => {
  test('without refunds has no differences', async () => {
    expect(await compare()).toEqual([
      { from: start, compared: 0, differences: [], unrelated: [], totals: [] },
    ])
  })

  test('with the same refunds on both sides has none, and nothing is looked up', async () => {
    for (const at of [0, 1, 2, hour - 1]) {
      const id = idAt(start + at)
      providerRefunds.push(payoutOf(id))
      await book(id)
    }
    const [part] = await compare()
    expect(part).toEqual({
      from: start,
      compared: 4,
      differences: [],
      unrelated: [],
      totals: [{ currency: 'EUR', provider: 2800, ledger: 2800 }],
    })
    expect(found).toEqual([])
  })

  test('has the differences of both sides, with the sums of each currency', async () => {
    const [unbooked, unpaid, changed, reversed] = [1, 2, 3, 4].map((at) => idAt(start + at)) as [
      string,
      string,
      string,
      string,
    ]
    providerRefunds.push(
      payoutOf(unbooked),
      payoutOf(changed, { amount: 900, currency: 'USD' }),
      payoutOf(reversed, { status: 'failed' }),
    )
    await book(unpaid)
    await book(changed)
    await book(reversed)
    const [part] = await compare()
    expect(part?.differences.map(({ finding, refund_id }) => [refund_id, finding])).toEqual([
      [unbooked, 'not_in_ledger'],
      [changed, 'fields_differ'],
      [reversed, 'not_reversed'],
      [unpaid, 'not_at_provider'],
    ])
    expect(part?.totals).toEqual([
      { currency: 'EUR', provider: 700, ledger: 2100 },
      { currency: 'USD', provider: 900, ledger: 0 },
    ])
  })

  describe('prints', () => {
    const id = idAt(start + 1500)
    const names = { refund_id: id, provider_refund_id: `re_${id}`, charge_id: 'ch_1', status: 'succeeded' }
    const paid = { provider_status: 'succeeded', provider_amount: 900, provider_currency: 'USD' }
    const booked = { ledger_amount: 700, ledger_currency: 'EUR' }

    test.each([
      [
        'both sides',
        [true, true],
        { finding: 'fields_differ', created_at: start + 1000, ...paid, ...booked },
      ],
      ['the provider alone', [true, false], { finding: 'not_in_ledger', created_at: start + 1000, ...paid }],
      [
        'the ledger alone',
        [false, true],
        { finding: 'not_at_provider', created_at: start + 1500, ...booked },
      ],
    ])('%s of a difference', async (_, [isPaid, isBooked], { created_at, ...expected }) => {
      if (isPaid) providerRefunds.push(payoutOf(id, { amount: 900, currency: 'USD' }))
      if (isBooked) await book(id)
      await storeRefund(id, 'succeeded')
      const [part] = await compare()
      expect(part?.differences).toEqual([{ ...names, ...expected, created_at: timestamp(created_at) }])
    })
  })

  test('counts the net of a reversed refund', async () => {
    const id = idAt(start)
    providerRefunds.push(payoutOf(id, { status: 'failed' }))
    await book(id)
    await book(id, { kind: 'reversal', amount: -700 })
    const [part] = await compare()
    expect(part).toMatchObject({
      compared: 1,
      differences: [],
      totals: [{ currency: 'EUR', provider: 0, ledger: 0 }],
    })
  })

  test('has each of two payouts of one refund, and only one is a difference', async () => {
    const id = idAt(start)
    providerRefunds.push(payoutOf(id), payoutOf(id, { id: 're_second', createdAt: start + 60_000 }))
    await book(id)
    const [part] = await compare()
    expect(part?.differences).toMatchObject([{ finding: 'paid_twice', provider_refund_id: 're_second' }])
    expect(part?.totals).toEqual([{ currency: 'EUR', provider: 1400, ledger: 700 }])
  })
})

test('a payout and its reversal that the provider does not have are one difference', async () => {
  const id = idAt(start)
  await book(id)
  await book(id, { kind: 'reversal', amount: -700 })
  expect(kinds(await compare())).toEqual([`not_at_provider ${id}`])
})

describe('a payout that the service did not request', () => {
  test.each([undefined, 'an-id-of-another-program'])(
    'with the refund id %s is listed and no difference',
    async (refundId) => {
      providerRefunds.push(payoutOf(idAt(start), { refundId, id: 're_by_hand' }))
      const [part] = await compare()
      expect(part).toMatchObject({
        compared: 0,
        differences: [],
        unrelated: [{ finding: 'unrelated', provider_refund_id: 're_by_hand', provider_amount: 700 }],
        totals: [],
      })
    },
  )

  test('is not listed if it failed', async () => {
    providerRefunds.push(payoutOf(idAt(start), { refundId: undefined, status: 'failed' }))
    expect(await compare()).toMatchObject([{ unrelated: [] }])
  })

  test('is compared if the ledger names it', async () => {
    const id = idAt(start)
    providerRefunds.push(payoutOf(id, { refundId: undefined, amount: 900 }))
    await book(id)
    expect(kinds(await compare())).toEqual([`fields_differ ${id}`])
  })
})

describe('a refund at a border of the range', () => {
  test('that the provider created after the range is no difference, and none in the next range', async () => {
    const id = idAt(start + hour - 1)
    providerRefunds.push(payoutOf(id, { createdAt: start + hour + 5000 }))
    await book(id)
    expect(kinds(await compare())).toEqual([])
    expect(kinds(await compare(start + hour, start + 2 * hour))).toEqual([])
  })

  test('that differs is found only in the range in which the provider created it', async () => {
    const id = idAt(start + hour - 1)
    providerRefunds.push(payoutOf(id, { createdAt: start + hour + 5000, amount: 900 }))
    await book(id)
    expect(kinds(await compare())).toEqual([])
    expect(kinds(await compare(start + hour, start + 2 * hour))).toEqual([`fields_differ ${id}`])
  })

  test('that the provider created before the range differs only there, as its clock may be behind', async () => {
    const id = idAt(start + hour)
    providerRefunds.push(payoutOf(id, { createdAt: start + hour - 1000, amount: 900 }))
    await book(id)
    expect(kinds(await compare(start + hour, start + 2 * hour))).toEqual([])
    expect(kinds(await compare())).toEqual([`fields_differ ${id}`])
  })

  test('that the provider does not have is found in the range of the ledger', async () => {
    const id = idAt(start + hour - 1)
    await book(id)
    expect(kinds(await compare())).toEqual([`not_at_provider ${id}`])
    expect(kinds(await compare(start + hour, start + 2 * hour))).toEqual([])
  })
})

describe('a refund in another account of the tenant', () => {
  const former = 'acct_former'
  let id: string
  beforeEach(async () => {
    id = idAt(start)
    await book(id, { account: former })
    await storeRefund(id, 'succeeded', former)
    accountOf = () => former
  })

  test('is compared in that account alone', async () => {
    providerRefunds.push(payoutOf(id, { amount: 900 }))
    expect(await compare()).toMatchObject([{ compared: 0, differences: [] }])
    expect(kinds(await compare(start, start + hour, former))).toEqual([`fields_differ ${id}`])
    expect(found).toEqual([`re_${id}`])
  })

  test('that the provider does not know is a difference of that account', async () => {
    expect(kinds(await compare())).toEqual([])
    expect(kinds(await compare(start, start + hour, former))).toEqual([`not_at_provider ${id}`])
  })
})

describe('a refund that changes during the comparison', () => {
  test('to the state in the ledger is no difference', async () => {
    const id = idAt(start)
    providerRefunds.push(payoutOf(id, { status: 'pending' }))
    await book(id)
    beforeFind = () => {
      providerRefunds = [payoutOf(id)]
    }
    expect(kinds(await compare())).toEqual([])
    expect(found).toEqual([`re_${id}`])
  })

  test('by an entry in the ledger is no difference', async () => {
    const id = idAt(start)
    providerRefunds.push(payoutOf(id))
    const { readRange } = table
    table.readRange = async (range) => {
      const read = await readRange(range)
      await book(id)
      return read
    }
    expect(kinds(await compare())).toEqual([])
  })
})

test('an entry without the id of the provider is looked up by its refund', async () => {
  const id = idAt(start)
  await book(id, {}, ['provider_refund_id'])
  expect(kinds(await compare())).toEqual([`not_at_provider ${id}`])
  expect(found).toEqual([id])
})

describe('more refunds than one part holds', () => {
  /** Books refunds at these times and pays them, except those whose index is in `unpaid` or `unbooked`. */
  async function many(
    times: readonly number[],
    { unpaid = [], unbooked = [] }: Record<string, number[]> = {},
  ) {
    table = openTable(newMemoryTable())
    const ids = times.map((at) => idAt(start + at))
    for (const [index, id] of ids.entries()) {
      if (!unpaid.includes(index)) providerRefunds.push(payoutOf(id))
      if (!unbooked.includes(index)) await book(id)
    }
    return ids
  }

  test('are compared in parts without gaps, newest first', async () => {
    const times = Array.from({ length: 1700 }, (_, n) => n * 2000)
    const ids = await many(times, { unpaid: [3, 900], unbooked: [4, 1699] })
    const parts = await compare()
    expect(parts.length).toBeGreaterThan(3)
    expect(parts.at(-1)?.from).toBe(start)
    expect(parts.reduce((sum, { compared }) => sum + compared, 0)).toBe(1700)
    expect(kinds(parts).toSorted()).toEqual(
      [
        `not_at_provider ${ids[3]}`,
        `not_at_provider ${ids[900]}`,
        `not_in_ledger ${ids[4]}`,
        `not_in_ledger ${ids[1699]}`,
      ].toSorted(),
    )
  })

  test('in one second are one part', async () => {
    await many(Array.from({ length: 700 }, (_, n) => 5000 + n))
    const [first] = await compare()
    expect(first).toMatchObject({ compared: 700, differences: [] })
  })

  test('that only the ledger has are compared in parts', async () => {
    const times = Array.from({ length: 1100 }, (_, n) => n * 3000)
    await many(times, { unpaid: times.map((_, index) => index) })
    const parts = await compare()
    expect(parts.length).toBeGreaterThan(1)
    expect(kinds(parts)).toHaveLength(1100)
  })
})

test('random histories have exactly the differences that were planted, however the range is split', async () => {
  const refund = fc.record({
    at: fc.integer({ min: 0, max: hour - 1 }),
    delay: fc.integer({ min: -5000, max: 20_000 }),
    difference: fc.constantFrom('same', 'same', 'same', 'unbooked', 'unpaid', 'amount', 'reversed'),
  })
  const history = fc.record({
    refunds: fc.array(refund, { maxLength: 40 }),
    borders: fc.array(fc.integer({ min: 1, max: hour - 1 }), { maxLength: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(history, async ({ refunds, borders }) => {
      table = openTable(newMemoryTable())
      providerRefunds = []
      const planted: string[] = []
      for (const { at, delay, difference } of refunds) {
        const id = idAt(start + at)
        const createdAt = Math.floor((start + at + delay) / 1000) * 1000
        const name = {
          same: '',
          unbooked: 'not_in_ledger',
          unpaid: 'not_at_provider',
          amount: 'fields_differ',
          reversed: 'not_reversed',
        }[difference]
        if (name) planted.push(`${name} ${id}`)
        if (difference !== 'unpaid')
          providerRefunds.push(
            payoutOf(id, {
              createdAt,
              ...(difference === 'amount' && { amount: 1 }),
              ...(difference === 'reversed' && { status: 'failed' as const }),
            }),
          )
        if (difference !== 'unbooked') await book(id)
      }
      // The provider may create a refund a little before or after the hour.
      const edges = [start - hour, ...borders.map((at) => start + at), start + 2 * hour].toSorted(
        (a, b) => a - b,
      )
      const seen: string[] = []
      for (const [index, to] of edges.entries()) {
        const from = edges[index - 1]
        if (from !== undefined && from < to) seen.push(...kinds(await compare(from, to)))
      }
      expect(seen.toSorted()).toEqual(planted.toSorted())
    }),
    runs(100),
  )
})
