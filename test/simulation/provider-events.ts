import { idAt } from '#test/support/ids.ts'
import { Client, type History } from './client.ts'
import type { Report } from './provider.ts'
import { notify } from './webhook-sender.ts'
import { otherThan } from './workload.ts'
import type { World } from './world.ts'

/**
 * Sends the events of the provider until the service acknowledges them: late, early, twice and in any order. Some of
 * them name another tenant, or a refund that does not exist.
 */
export function sendReports(world: World, history: History): void {
  const { provider, scheduler } = world
  let count = 0
  provider.onReport = async ({ type, payout, occurredAt, delay, times }: Report) => {
    count += 1
    provider.upcoming += 1
    const client = new Client(`provider-${payout.providerRefundId}-${count}`, world, history)
    const occurred_at = new Date(occurredAt).toISOString()
    const tenant = payout.account.slice(payout.account.indexOf('_') + 1)
    const send = async (event_id: string, data: { id: string; tenant_id?: string }) => {
      while (!(await notify(client, { event_id, type, occurred_at, data }, times)))
        await scheduler.sleep(30_000)
    }
    await scheduler.sleep(delay)
    await send(`event-${client.name}`, {
      id: payout.refundId,
      ...(client.random.chance(0.5) && { tenant_id: tenant }),
    })
    if (client.random.chance(0.08)) {
      const misfits = [
        { id: payout.refundId, tenant_id: otherThan(tenant) },
        { id: idAt(scheduler.now, (length) => client.random.bytes(length)) },
      ]
      history.misfits.add(`misfit-${client.name}`)
      await send(`misfit-${client.name}`, client.random.pick(misfits))
    }
    provider.upcoming -= 1
  }
}
