import { beforeEach } from '@jest/globals'
import type { Answer } from '#test/support/service.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { useFaultyService } from './faulty-service.ts'
import { inMemoryProvider, movableClock, payEndpoint } from './payment-saga.ts'

/** The service of a test file of payments, with its clock and its provider. */
export const clock = movableClock()
export const provider = inMemoryProvider()
export const service = await useFaultyService({ clock, extra: [payEndpoint(provider)] })
/** The tenant of the current test. */
export let tenant: string
beforeEach(() => {
  Object.assign(provider, { ...inMemoryProvider(), pay: provider.pay })
  tenant = uniqueTenant('payer')
})

/** Calls POST /tests/pay with a key for each test. */
export function pay(headers: Record<string, string> = {}, amount = 5): Promise<Answer> {
  return service.call({
    method: 'POST',
    path: '/tests/pay',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': `key-of-${tenant}`, ...headers },
    body: { amount },
  })
}
