import { expect, test } from '@jest/globals'
import { settleByOperator } from '#bin/commands/refunds/settle-refund.ts'
import { newId } from '#shared/platform/base/clock.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import { findRefund, startWrites } from '#shared/refunds/refund-store.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { apply } from './apply.ts'

const tenant = 'acme'
const runtime = memoryRuntime()
const { table, clock, settings } = runtime

async function start(request: { charge_id: string; amount: number }): Promise<Refund> {
  const of = { id: newId(clock, 64), tenant_id: tenant, account: 'acct_acme', request_name: 'request-1' }
  const refund = makeRefund(request, of)
  await apply(runtime, { writes: startWrites(refund, settings) })
  return refund
}

test.each([
  ['the same charge and amount', { charge_id: 'ch_1', amount: 700 }],
  ['others', { charge_id: 'ch_2', amount: 900 }],
])(
  'a refund of %s is not settled with a payout that the provider answered for another',
  async (_, request) => {
    const paid = await start({ charge_id: 'ch_1', amount: 700 })
    const payout = { provider_refund_id: `re_${paid.id}`, currency: 'EUR' }
    const context = { table, settings, now: clock.now(), alert: () => {} }
    const report = { status: 'succeeded' as const, at: paid.created_at, ...payout }
    await apply(runtime, (await settleRefund(paid, report, context)).effects)
    const waiting = await start(request)
    const finding = { outcome: 'paid', providerRefundId: payout.provider_refund_id, currency: 'EUR' } as const
    const settled = settleByOperator(
      { table, clock, name: 'jane' },
      { tenant, id: waiting.id, settings, ...finding },
    )
    await expect(settled).rejects.toThrow(
      `the payout ${payout.provider_refund_id} is that of the refund ${paid.id}`,
    )
    expect(await findRefund(table, tenant, waiting.id)).toMatchObject({ status: 'pending' })
  },
)
