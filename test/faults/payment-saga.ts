import * as v from 'valibot'
import { systemClock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { created, defineEndpoint, type Endpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create, replace } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { startService } from '#test/support/service.ts'

/** The provider's handling of one call. */
type Conduct =
  | 'pay'
  /** Fails temporarily without paying. */
  | 'down'
  /** The caller's code throws before the payout. */
  | 'break'
  /** Pays once `hold` resolves. */
  | 'slow'

interface Provider {
  /** The handling of the next calls, in order; later calls pay. */
  conducts: Conduct[]
  /** The payouts by the caller's key. A key is paid once. */
  payouts: Map<string, number>
  /** The keys of all calls, in order. */
  calls: string[]
  /** The promise that 'slow' awaits. */
  hold: Promise<void>
  /** Runs after a payout, before its response. */
  afterPay: () => void
  pay(key: string): Promise<string>
}

export function inMemoryProvider(): Provider {
  const provider: Provider = {
    conducts: [],
    payouts: new Map(),
    calls: [],
    hold: Promise.resolve(),
    afterPay: () => {},
    async pay(key) {
      provider.calls.push(key)
      const conduct = provider.conducts.shift() ?? 'pay'
      const paid = provider.payouts.has(key)
      if (conduct === 'slow') await provider.hold
      if (conduct === 'down') throw fail('DEPENDENCY.unavailable')
      if (conduct === 'break' && !paid) throw new TypeError('a mistake in the code')
      if (!paid) provider.payouts.set(key, 1)
      provider.afterPay()
      return `payout of ${key}`
    },
  }
  return provider
}

/** A test endpoint that pays outside the table, like refunds. */
export function payEndpoint(provider: Provider): Endpoint {
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
    uses: [],
    table: { put: ['order'] },
    impact: 'Nothing.',
  })
  return defineEndpoint(route, {
    decide: ({ body }, { newId, scope }) => ({
      state: { id: newId(), tenant: scope.tenant, amount: body.amount },
    }),
    saga: () => ({
      finishedBy: 'caller',
      start: (payment: Payment) => ({ writes: [create(paymentItem(payment, 'pending'))] }),
      execute: ({ id }) => provider.pay(`key-${id}`),
      outcome(payment, payout) {
        const { id, amount } = payment
        const write = replace(paymentItem(payment, 'paid'), { state: 'pending' }, 'CONFLICT.soft_deleted')
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

/** Starts a service in which a first payment with one key is in progress until it is released. */
export async function startPending(settings: Settings, clock = systemClock) {
  const held = Promise.withResolvers<void>()
  const provider = Object.assign(inMemoryProvider(), { conducts: ['slow'], hold: held.promise })
  const service = await startService({ settings, clock, extra: [payEndpoint(provider)] })
  const call = { method: 'POST', path: '/tests/pay', as: { role: 'Editor' }, body: { amount: 5 } }
  const pay = () => service.call({ ...call, headers: { 'Idempotency-Key': 'same' } })
  const first = pay()
  while (provider.calls.length === 0) await new Promise((wake) => setImmediate(wake))
  const release = async () => {
    held.resolve()
    return first
  }
  return { service, pay, release, provider }
}
