import type { AuditRecord } from '#shared/platform/audit/audit-record.ts'
import { ownerOf } from '#shared/platform/table/keys.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import type { History, Intent } from './client.ts'
import { captured, chargeCurrency, type Payout, type PayoutStatus } from './provider.ts'
import { check, type Of } from './violation.ts'
import type { World } from './world.ts'

/** The states of a refund that fit each status of its payout. The event of a reversal may be the first one that arrives. */
const fitting: Record<PayoutStatus, readonly string[]> = {
  pending: [],
  succeeded: ['succeeded'],
  failed: ['failed'],
  reversed: ['reversed', 'failed'],
}

/** The provider and the refunds agree, and no charge pays more than it captured. */
export function checkRefunds({ provider: { payouts }, settings }: World, of: Of): void {
  const refunds = of('refund') as unknown as Refund[]
  const succeeded = sums(
    refunds
      .filter(({ status }) => status === 'succeeded')
      .map(({ id, charge_id, amount }) => ({ id, charge: charge_id, amount })),
  )
  const paid = sums(
    payouts
      .filter(({ status }) => status === 'succeeded')
      .map(({ refundId, chargeId, amount }) => ({ id: refundId, charge: chargeId, amount })),
  )
  const show = () => `refunds ${succeeded} | payouts ${paid}`
  check(paid === succeeded, 'payouts = succeeded refunds', show)
  for (const [charge, all] of Map.groupBy(payouts, ({ account, chargeId }) => `${account} ${chargeId}`)) {
    const sum = all.reduce((total, { amount, status }) => total + (status === 'succeeded' ? amount : 0), 0)
    check(sum <= captured, 'at most what was captured', () => `${charge} paid ${sum}`)
  }
  if (settings['refunds.policy'] === 'once_per_charge') checkChargeLocks(refunds, of)
  const payoutOf = new Map(payouts.map((payout) => [payout.refundId, payout]))
  for (const refund of refunds) {
    const payout = payoutOf.get(refund.id)
    const fits = payout ? fitting[payout.status].includes(refund.status) : refund.status === 'failed'
    check(
      fits,
      "the provider's outcome is stored",
      () => `${refund.id} is ${refund.status}, not ${payout?.status}`,
    )
    checkAnswer(refund, payout)
  }
}

/** If a charge may be refunded once, one of its paid refunds locks it. */
function checkChargeLocks(refunds: readonly Refund[], of: Of): void {
  const holders = new Set(of('charge_lock').map(({ refund_id }) => refund_id))
  for (const [charge, all] of Map.groupBy(
    refunds,
    ({ tenant_id, charge_id }) => `${tenant_id} ${charge_id}`,
  )) {
    const isPaid = all.some(({ status }) => status === 'succeeded')
    const held = all.filter(({ id }) => holders.has(id)).length
    check(
      held === (isPaid ? 1 : 0),
      'a lock on a charge belongs to a paid refund',
      () => `${charge}: ${held} locks`,
    )
  }
}

/** What the provider answered about a payout is in its refund. */
function checkAnswer({ id, status, currency, provider_refund_id }: Refund, payout: Payout | undefined): void {
  if (status !== 'succeeded' && status !== 'reversed') return
  const isWhole = currency === chargeCurrency && provider_refund_id === payout?.providerRefundId
  const show = () => `${id} of ${payout?.providerRefundId} has ${currency} and ${provider_refund_id}`
  check(isWhole, "nothing of the provider's answer is lost", show)
}

/** Each key has created one refund, whichever API key was used. */
export function checkRepeatedRefunds({ intents }: History, audit: readonly AuditRecord[]): void {
  for (const [name, targets] of refundsByRequest(intents, audit))
    check(targets.size <= 1, 'one effect per key', () => `${name} created ${targets.size} refunds`)
}

/** Returns the targets of the started refunds, by the request of a caller. */
function refundsByRequest(
  intents: readonly Intent[],
  audit: readonly AuditRecord[],
): Map<string, Set<string>> {
  const started = audit.filter(({ action, result }) => action === 'refund' && result === 'allow')
  const byCorrelation = Map.groupBy(started, ({ correlation_id }) => correlation_id)
  const created = intents.filter(({ operation }) => operation === 'refunds.create')
  const nameOf = ({ key, by, isAnother }: Intent) => `${key} of ${by?.tenant}${isAnother ? ' again' : ''}`
  const requests = [...Map.groupBy(created, nameOf)].map(([name, same]) => {
    const records = same.flatMap(({ correlations }) =>
      correlations.flatMap((id) => byCorrelation.get(id) ?? []),
    )
    return [name, new Set(records.map(({ target }) => target))] as const
  })
  return new Map(requests)
}

/** The provider has paid each request of a caller once, whatever the table has lost. */
export function checkOnePayout({ records, lost, provider }: World, { intents }: History): void {
  const audit = [...lost, ...records].flatMap(({ after }) =>
    after && ownerOf(after.pk).entity === 'audit' ? [after as unknown as AuditRecord] : [],
  )
  for (const [name, targets] of refundsByRequest(intents, audit)) {
    const payouts = provider.payouts.filter(({ madeFor }) => targets.has(`refund/${madeFor}`))
    const show = () => `${name} was paid ${payouts.map((one) => one.providerRefundId)} for ${[...targets]}`
    check(payouts.length <= 1, 'one payout for each request of a caller', show)
  }
}

/** Each change of a refund's status by the provider has one audit record. */
export function checkOutcomes({ records }: World, audit: readonly AuditRecord[]): void {
  const outcomes = audit.filter(({ actor_id }) => actor_id === 'payment_provider')
  const audited = outcomes.map(({ action, target }) => `${action} ${target}`).toSorted()
  const changes = records.flatMap(({ before, after }) => {
    if (!before || !after || before.status === after.status || ownerOf(after.pk).entity !== 'refund')
      return []
    return [`refund_${after.status} refund/${after.id}`]
  })
  const show = () => `${audited} instead of ${changes.toSorted()}`
  check(String(audited) === String(changes.toSorted()), 'outcomes are audited', show)
}

/** Returns the sums of refunds that are not 0, as sorted lines. */
function sums(entries: readonly { id: string; charge: string; amount: number }[]): string {
  const byRefund = new Map<string, number>()
  for (const { id, charge, amount } of entries) {
    byRefund.set(`${id} ${charge}`, (byRefund.get(`${id} ${charge}`) ?? 0) + amount)
  }
  return [...byRefund]
    .flatMap(([name, sum]) => (sum === 0 ? [] : [`${name} ${sum}`]))
    .toSorted()
    .join(', ')
}
