import { jest } from '@jest/globals'
import { type Budget, type Clock, startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { PaymentProvider, ProviderRequest } from '#shared/refunds/payment-provider.ts'
import { stripeProvider } from '#shared/refunds/stripe-provider.ts'
import { type Fault, startPaymentProvider } from '../support/payment-provider/payment-provider.ts'
import { type Answer, errorAnswer } from '../support/payment-provider/stripe-wire.ts'

export const apiKey = 'sk_test_123'
/** One for each test file, which stops it. */
export const fakeProvider = await startPaymentProvider()
let numbered = 0

// Time passes only where a test says so: the next timer, which limits an attempt, ends when a request gets no response.
jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
fakeProvider.whileSilent = () => {
  if (jest.getTimerCount() === 0) throw new Error('nothing limits this attempt')
  jest.advanceTimersToNextTimer()
}

interface TestClock extends Clock {
  slept: number[]
}

/** A clock that only sleeping advances. */
export function quickClock(jitter = 0): TestClock {
  const slept: number[] = []
  return {
    ...systemClock,
    slept,
    now: () => slept.reduce((whole, delay) => whole + delay, 0),
    sleep: async (milliseconds) => void slept.push(milliseconds),
    jitter: () => jitter,
  }
}

/** Returns a request that is unique in this process. */
export function request(changes: Partial<ProviderRequest> = {}): ProviderRequest {
  numbered += 1
  const own = { chargeId: `ch_${numbered}`, refundId: String(numbered), requestName: `of-${numbered}` }
  const usual = {
    usesOwnKey: false,
    requestedSince: 0,
    earliestPayoutAt: -24 * 3600 * 1000,
    mayBeLost: false,
  }
  return { account: 'acct_acme', amount: 1000, tenant: 'acme', ...usual, ...own, ...changes }
}

interface How {
  clock?: Clock
  budgetMilliseconds?: number
  attemptMilliseconds?: number
  endpoint?: string
}

export const refund = (asked: ProviderRequest, how?: How) =>
  call((provider, budget) => provider.refund(asked, budget), how)
export const find = (asked: ProviderRequest, how?: How) =>
  call((provider, budget) => provider.find(asked, budget), how)
export const adopt = (providerRefundId: string, asked: ProviderRequest, how?: How) =>
  call((provider, budget) => provider.adopt(providerRefundId, asked, budget), how)

function call<Result>(ask: (provider: PaymentProvider, budget: Budget) => Result, how: How = {}): Result {
  const { clock = quickClock(), budgetMilliseconds = 60_000, attemptMilliseconds = 2000 } = how
  const { endpoint = fakeProvider.endpoint } = how
  const provider = stripeProvider({ apiKey, endpoint, attemptMilliseconds, clock })
  return ask(provider, startBudget(clock, budgetMilliseconds))
}

export const keyOf = ({ requestName, refundId, usesOwnKey }: ProviderRequest) =>
  usesOwnKey ? `refund-${refundId}` : `request-${requestName}`
export const callsOf = (asked: ProviderRequest) =>
  fakeProvider.calls.filter(({ key }) => key === keyOf(asked))
export const paidFor = ({ account, chargeId }: ProviderRequest) =>
  fakeProvider.refunds().filter((paid) => paid.account === account && paid.charge === chargeId)

/** Fails the first requests of a key. */
export function injectFault(asked: ProviderRequest, fault: Fault, times = Number.POSITIVE_INFINITY): void {
  let left = times
  fakeProvider.faults = ({ key }) => {
    if (key !== keyOf(asked) || left === 0) return undefined
    left -= 1
    return fault
  }
}

export const answered = (how: Answer): Fault => ({ when: 'before', how })

export function error(status: number, of: Partial<Parameters<typeof errorAnswer>[1]>): Answer {
  return errorAnswer(status, { message: 'Refused.', ...of })
}
