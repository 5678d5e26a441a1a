import type { StripeEvent } from '#shared/webhooks/stripe-event.ts'
import { idAt } from '#test/support/ids.ts'
import { stripeEventOf } from '#test/support/stripe-events.ts'
import { Client, type History } from './client.ts'
import { type Payout, type Report, shownAs } from './provider.ts'
import type { Random } from './random.ts'
import { notify, notifyAsStripe } from './webhook-sender.ts'
import { otherThan } from './workload.ts'
import type { World } from './world.ts'

/**
 * Sends the events of the provider until the service acknowledges them: late, early, twice and in any order. Some of
 * them name another tenant, or a refund that does not exist. Half of the reports are events of Stripe.
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
    const random = client.random.fork('stripe')
    if (random.chance(0.5)) {
      for (const [id, event] of Object.entries(stripeEvents(payout, occurredAt, random))) {
        const name = `evt_${id}_${client.name}`
        while (!(await notifyAsStripe(client, { ...event, id: name }, times))) await scheduler.sleep(30_000)
        history.stripeEvents.set(name, id === 'fit')
      }
      provider.upcoming -= 1
      return
    }
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

/** Returns the event of a payout as Stripe sends it, and sometimes one that differs from the refund in one way. */
function stripeEvents(payout: Payout, occurredAt: number, random: Random): Record<string, StripeEvent> {
  const { account, providerRefundId: id, chargeId: charge, amount, tenant, requestName } = payout
  const metadata = { refund_id: payout.refundId, tenant_id: tenant, request: requestName }
  const status = shownAs(payout.status)
  const type = random.pick(['refund.updated', 'charge.refund.updated', 'refund.failed'])
  const object = { id, charge, amount, currency: 'eur', status, metadata }
  const created = Math.floor(occurredAt / 1000)
  const fit = stripeEventOf(type, object, { account, created })
  if (!random.chance(0.15)) return { fit }
  const others: Partial<StripeEvent>[] = [
    { livemode: true },
    { account: `acct_${otherThan(tenant)}` },
    { data: { object: { ...object, charge: 'charge-of-another' } } },
    { data: { object: { ...object, amount: amount + 1 } } },
    { data: { object: { ...object, metadata: {} } } },
    { data: { object: { ...object, metadata: { ...metadata, tenant_id: otherThan(tenant) } } } },
    { data: { object: { ...object, metadata: { ...metadata, request: 'another' } } } },
  ]
  return { misfit: { ...fit, ...random.pick(others) }, fit }
}
