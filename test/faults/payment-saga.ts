import * as v from 'valibot'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { type Failure, fail } from '#shared/platform/base/failure.ts'
import { created, defineSagaEndpoint, type Endpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create, replace } from '#shared/platform/table/table.ts'

/** How the provider takes one call. */
export type Conduct =
  | 'pay'
  /** It pays, and the caller never hears of it. */
  | 'lose-answer'
  /** It does nothing, and may another time. */
  | 'down'
  /** Neither it nor the caller is heard of again: the caller's process died before the payout, or after it. */
  | 'die-before'
  | 'die-after'
  /** The caller's code breaks before the payout. */
  | 'break'
  /** It refuses in an orderly way and for good. */
  | 'refuse'
  /** It pays after `hold` lets go. */
  | 'slow'

export interface Provider {
  /** What the next calls meet, in order; afterwards it pays. */
  conducts: Conduct[]
  /** The payouts made, by the caller's key: a key that was paid is found and not paid again. */
  payouts: Map<string, number>
  /** The keys of all calls, in order. */
  calls: string[]
  /** How many of its callers' processes died. */
  deaths: number
  /** What 'slow' waits for. */
  hold: Promise<void>
  /** Runs after a payout, before its caller hears of it. */
  afterPay: () => void
  pay(key: string): Promise<string>
}

export function inMemoryProvider(): Provider {
  const die = () => {
    provider.deaths += 1
    return new Promise<never>(() => {})
  }
  const provider: Provider = {
    conducts: [],
    payouts: new Map(),
    calls: [],
    deaths: 0,
    hold: Promise.resolve(),
    afterPay: () => {},
    async pay(key) {
      provider.calls.push(key)
      const conduct = provider.conducts.shift() ?? 'pay'
      const paid = provider.payouts.has(key)
      if (conduct === 'die-before') await die()
      if (conduct === 'slow') await provider.hold
      if (conduct === 'down') throw fail('DEPENDENCY.unavailable')
      // What is paid stays paid: the provider finds it and has nothing to refuse.
      if (conduct === 'break' && !paid) throw new TypeError('a mistake in the code')
      if (conduct === 'refuse' && !paid) throw refusal()
      if (!paid) provider.payouts.set(key, 1)
      provider.afterPay()
      if (conduct === 'lose-answer') throw fail('DEPENDENCY.timeout')
      if (conduct === 'die-after') await die()
      return `payout of ${key}`
    },
  }
  return provider
}

const refusal = (): Failure => fail('PROVIDER.duplicate')

/**
 * An endpoint of the tests that pays outside the table, as refunds do.
 * @param paidWith further attributes of a paid item
 */
export function payEndpoint(provider: Provider, paidWith: Record<string, unknown> = {}): Endpoint {
  const Body = v.strictObject({ amount: v.number() })
  const route = defineRoute({
    operation: 'tests.pay',
    method: 'POST',
    path: '/tests/pay',
    summary: 'Pay',
    description: 'Pays outside the table.',
    auth: 'bearer',
    access: 'create',
    idempotency: 'required',
    body: () => Body,
    reply: {
      status: () => 201,
      schema: () => v.strictObject({ id: v.string(), amount: v.number(), payout: v.string() }),
    },
    errors: [],
    uses: ['table.read', 'table.write'],
    impact: 'Nothing.',
  })
  return defineSagaEndpoint(route, {
    stateOf: ({ body }, { newId, scope }) => ({ id: newId(), tenant: scope.tenant, amount: body.amount }),
    saga: () => ({
      finishedBy: 'caller',
      start: (payment: Payment) => ({ writes: [create(paymentItem(payment, 'pending'))] }),
      execute: ({ id }) => provider.pay(`key-${id}`),
      outcome(payment, payout) {
        const { id, amount } = payment
        const paid = { ...paymentItem(payment, 'paid'), ...paidWith }
        const write = replace(paid, { state: 'pending' }, 'CONFLICT.soft_deleted')
        return created({ id, amount, payout }, { writes: [write] })
      },
    }),
  })
}

export interface Payment {
  id: string
  tenant: string
  amount: number
}

export function paymentItem({ id, tenant, amount }: Payment, state: string) {
  return { ...keyOf(tenant, 'order', id), id, amount, state }
}

export interface MovableClock extends Clock {
  /** Lets time pass at once. */
  advance(milliseconds: number): void
}

/** A clock that stands still but for what passes by sleeping and by `advance`; sleepers wait for real I/O only. */
export function movableClock(now = Date.now()): MovableClock {
  return {
    ...systemClock,
    now: () => now,
    jitter: () => 0,
    async sleep(milliseconds) {
      now += milliseconds
      await new Promise((resolve) => setImmediate(resolve))
    },
    advance(milliseconds) {
      now += milliseconds
    },
  }
}
