import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { type Payment, paymentItem } from './payment-saga.ts'
import { clock, pay, provider, service, tenant } from './payments.ts'

const ownPayment = async () => {
  const [item] = await service.items(tenant, 'order')
  if (!item) throw new Error('no payment is in the table')
  return { ...item, tenant } as unknown as Payment
}

/** Expects an immediate retry to finish the same payout, without waiting for a lease. */
async function expectToResume() {
  const from = clock.now()
  const answer = await pay()
  expect([answer.status, answer.json.error?.code]).toEqual([201, undefined])
  expect(clock.now() - from).toBeLessThan(1000)
  expect([new Set(provider.calls).size, provider.payouts.size]).toEqual([1, 1])
  expect((await pay()).body).toBe(answer.body)
  expect((await service.items(tenant, 'order')).map(({ state }) => state)).toEqual(['paid'])
}

describe('after the payout', () => {
  test.each([
    ['lose-request', 12],
    ['throttle', 3],
    ['unavailable', 12],
  ] as const)(
    'an outcome that cannot be stored (%s) is a retryable failure, and the retry stores it',
    async (fault, attempts) => {
      // For all attempts of the transaction. Afterwards the table works again.
      provider.afterPay = () => service.inject(fault, 0, attempts)
      const answer = await pay()
      expect(outcome(answer)).toBe('503 DEPENDENCY.unavailable')
      service.endFaults(fault)
      provider.afterPay = () => {}
      await expectToResume()
    },
  )

  test('an outcome whose every response was lost is stored and replayed', async () => {
    provider.afterPay = () => service.inject('lose-answer', 0, Number.POSITIVE_INFINITY)
    expect((await pay()).json.error.retryable).toBe(true)
    service.faults.reset()
    const replay = await pay()
    expect(replay).toMatchObject({ status: 201, headers: { 'Idempotency-Status': 'replayed' } })
    expect(provider.calls).toHaveLength(1)
  })

  test('a provider that used up the budget leaves no lease to wait for', async () => {
    provider.afterPay = () => clock.advance(2000)
    const answer = await pay({ 'X-Request-Timeout': '1500' })
    if (answer.status !== 201) expect(answer.json.error.code).toBe('DEPENDENCY.timeout')
    provider.afterPay = () => {}
    await expectToResume()
  })

  test('a provider that failed at the end of the budget leaves no lease to wait for', async () => {
    provider.conducts = ['lose-answer']
    provider.afterPay = () => clock.advance(2000)
    const answer = await pay({ 'X-Request-Timeout': '1500' })
    expect(outcome(answer)).toBe('504 DEPENDENCY.timeout')
    provider.afterPay = () => {}
    await expectToResume()
  })

  test('a table failure while the lease is released hides neither the error nor its retryability', async () => {
    provider.conducts = ['lose-answer']
    provider.afterPay = () => service.faults.inject({ when: () => true, fault: 'in-progress' })
    const answer = await pay()
    expect(outcome(answer)).toBe('504 DEPENDENCY.timeout')
  })

  test('an outcome that the table rejects stays pending, because the payout happened, and the retry stores it', async () => {
    provider.conducts = ['down']
    await pay()
    const payment = await ownPayment()
    const { state } = await itemOf(payment)
    await service.table.put({
      item: paymentItem(payment, 'void'),
      condition: { matches: { state: 'pending' } },
    })
    const refused = await pay()
    expect(outcome(refused)).toBe('500 TRANSIENT.error')
    expect(provider.payouts.size).toBe(1)
    await service.table.put({ item: paymentItem(payment, state), condition: { matches: { state: 'void' } } })
    await expectToResume()
  })

  test('an outcome that cannot be stored stays pending, and a retry after the fix stores it', async () => {
    provider.afterPay = () => service.inject('too-large')
    const first = await pay()
    expect(outcome(first)).toBe('500 TRANSIENT.error')
    provider.afterPay = () => {}
    await expectToResume()
  })
})

async function itemOf({ id }: Payment) {
  const item = (await service.items(tenant, 'order')).find((one) => one.id === id)
  if (!item) throw new Error('no payment is in the table')
  return item as unknown as { state: Parameters<typeof paymentItem>[1] }
}

describe('before the payout', () => {
  test('a takeover whose response was lost is recognized as its own', async () => {
    provider.conducts = ['down']
    await pay()
    // The calls of the next request: its rejected transaction, then the takeover.
    service.inject('lose-answer', 1)
    await expectToResume()
  })

  test('a saga whose response was lost is not paid twice', async () => {
    service.inject('lose-answer')
    await expectToResume()
  })

  test('a saga whose every response was lost is found by the retry and paid', async () => {
    service.inject('lose-answer', 0, 12)
    expect((await pay()).json.error.code).toBe('DEPENDENCY.unavailable')
    expect(provider.calls).toEqual([])
    clock.advance(31_000)
    expect((await pay()).status).toBe(201)
    expect([provider.payouts.size, (await service.items(tenant, 'order')).length]).toEqual([1, 1])
  })

  test('a key is replayed although its record conflicts and another of its writes is rejected', async () => {
    const first = await pay()
    service.inject('conflict-and-refusal')
    const replay = await pay()
    expect([replay.status, replay.body]).toEqual([201, first.body])
  })
})
