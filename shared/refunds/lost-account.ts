import type { WorkContext } from '../platform/request/context.ts'
import { isRefusedLongerThanADay } from '../platform/table/pending-entries.ts'
import type { Refund } from './refund.ts'

/** Raises an alarm if a refund is a day old and its account at the provider refuses the service. */
export function alertIfAccountLost(
  thrown: unknown,
  { id, tenant_id: tenant }: Refund,
  { log, correlation, now }: Pick<WorkContext, 'log' | 'correlation' | 'now'>,
): void {
  if (isRefusedLongerThanADay(thrown, id, now())) log.alert('PROVIDER_ACCOUNT_LOST', correlation, { tenant })
}
