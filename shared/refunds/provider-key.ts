import { fail } from '../platform/base/failure.ts'
import { noKey } from '../platform/base/secrets.ts'
import type { WorkContext } from '../platform/request/context.ts'

/**
 * Returns the API key of the payment provider.
 * @throws DEPENDENCY.unavailable until an operator has stored one
 */
export async function providerKey({ secret }: Pick<WorkContext, 'secret'>): Promise<string> {
  const key = await secret('payments')
  if (key !== noKey) return key
  throw fail('DEPENDENCY.unavailable', { details: { dependency: 'payments' }, causedByCaller: true })
}
