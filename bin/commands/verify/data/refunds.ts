import type { AuditRecord } from '#shared/platform/audit/audit-record.ts'
import { asIdempotencyRecord } from '#shared/platform/idempotency/idempotency-record.ts'
import { idOfEntry } from '#shared/platform/table/keys.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import type { RefundStatus } from '#shared/refunds/refund-states.ts'
import { asRefund, type LedgerEntry } from '#shared/refunds/refund-store.ts'
import { madeAt, type SharedPromise, typedOwnerOf } from './promise.ts'

type RefundFact =
  | { kind: 'refund'; refund: Payment & Pick<Refund, 'status' | 'unsettled_entry'>; at: string }
  | { kind: 'entry'; entry: Payment & Pick<LedgerEntry, 'kind'>; at: string }
  | { kind: 'lock'; at?: string }
  | { kind: 'audit'; action: string; at: string }
  /** An entry or a saga by which the service finishes a pending refund. */
  | { kind: 'unsettled' | 'saga'; at?: string }

/** What a refund and its ledger entries have in common. */
type Payment = Pick<Refund, 'account' | 'charge_id' | 'amount' | 'currency' | 'provider_refund_id'>

/** The amounts in the ledger of a refund in each status, as parts of its amount. */
const booked: Record<RefundStatus, readonly [LedgerEntry['kind'], 1 | -1][]> = {
  pending: [],
  failed: [],
  succeeded: [['payout', 1]],
  reversed: [
    ['payout', 1],
    ['reversal', -1],
  ],
}

/** The actions of which a refund in each status has at least one in the audit. An adoption is the start and the outcome. */
const audited: Record<RefundStatus, readonly string[]> = {
  pending: ['refund', 'refund.adopt'],
  failed: ['refund_failed'],
  succeeded: ['refund_succeeded', 'refund.adopt'],
  reversed: ['refund_reversed'],
}

/** The ledger is the paid and the reversed refunds, each outcome is audited, and each pending refund is worked on. */
export const refundPromise: SharedPromise<RefundFact> = {
  facts(item, state) {
    const { entity, tenant } = typedOwnerOf(item)
    switch (entity) {
      case 'refund': {
        const { id, status, unsettled_entry, updated_at: at, ...refund } = asRefund(item)
        const unsettled = unsettled_entry === undefined ? {} : { unsettled_entry }
        state(tenant, `refund/${id}`, {
          kind: 'refund',
          refund: { ...paymentOf(refund), status, ...unsettled },
          at,
        })
        break
      }
      case 'ledger': {
        const entry = item as unknown as LedgerEntry
        const { kind, at, refund_id } = entry
        state(tenant, `refund/${refund_id}`, { kind: 'entry', entry: { ...paymentOf(entry), kind }, at })
        break
      }
      case 'charge_lock':
        for (const id of [item.refund_id, ...((item.also_held_by ?? []) as string[])].map(String))
          state(tenant, `refund/${id}`, { kind: 'lock', ...madeAt(id) })
        break
      case 'audit': {
        const { target, action, at } = item as unknown as AuditRecord
        if (/^refund\/./.test(target) && action.startsWith('refund'))
          state(tenant, target, { kind: 'audit', action, at })
        break
      }
      case 'unsettled-refund':
        state(String(item.tenant), `refund/${idOfEntry(item.sk)}`, { kind: 'unsettled' })
        break
      case 'idempotency': {
        const record = asIdempotencyRecord(item)
        if (record.state !== 'pending' || record.saga.state.charge_id === undefined) break
        const { tenant_id, id } = record.saga.state
        state(String(tenant_id), `refund/${id}`, { kind: 'saga', ...madeAt(String(id)) })
      }
    }
  },

  judge(facts, _, { settings }, broken) {
    const refund = facts.find((fact) => fact.kind === 'refund')?.refund
    const entries = facts.flatMap((fact) => (fact.kind === 'entry' ? [fact.entry] : []))
    if (!refund) {
      if (entries.length > 0)
        broken(
          'the ledger is the paid and reversed refunds',
          `the ledger has ${showAll(entries)}, and there is no such refund`,
        )
      if (facts.some(({ kind }) => kind === 'lock'))
        broken(
          'a lock on a charge belongs to a paid refund',
          'it locks its charge, and there is no such refund',
        )
      if (facts.some(({ kind }) => kind === 'saga'))
        broken(
          'the ledger is the paid and reversed refunds',
          'its saga may have paid it, and there is no such refund',
        )
      return
    }
    const { status, amount } = refund
    const expected = booked[status].map(([kind, sign]) => `${kind} ${sign * amount}`)
    const kinds = entries.map((entry) => `${entry.kind} ${entry.amount}`).toSorted()
    if (String(kinds) !== String(expected))
      broken(
        'the ledger is the paid and reversed refunds',
        `it is ${status} with ${amount}, and the ledger has ${showAll(entries)}`,
      )
    else
      for (const entry of entries)
        for (const name of ['account', 'charge_id', 'currency', 'provider_refund_id'] as const)
          if (entry[name] !== refund[name])
            broken(
              "nothing of the provider's answer is lost",
              `its ${name} is ${refund[name]}, and that of its ${entry.kind} is ${entry[name]}`,
            )
    const actions = facts.flatMap((fact) => (fact.kind === 'audit' ? [fact.action] : []))
    for (const needed of [audited.pending, audited[status]])
      if (!needed.some((action) => actions.includes(action)))
        broken('outcomes are audited', `it is ${status}, and the audit has no ${needed.join(' or ')}`)
    const isWorkedOn = facts.some(({ kind }) => kind === 'unsettled' || kind === 'saga')
    if (status === 'pending' && !isWorkedOn)
      broken(
        'nothing is pending forever',
        'it is pending, and has neither a saga nor an entry among unsettled-refund',
      )
    if (status !== 'pending' && refund.unsettled_entry && !facts.some(({ kind }) => kind === 'unsettled'))
      broken(
        'nothing is pending forever',
        "it lacks facts of the provider's, and has no entry among unsettled-refund",
      )
    const isHolder = facts.some(({ kind }) => kind === 'lock')
    if (isHolder && /failed|reversed/.test(status))
      broken('a lock on a charge belongs to a paid refund', `it is ${status}, and locks its charge`)
    if (!isHolder && status === 'pending' && settings['refunds.policy'] === 'once_per_charge')
      broken('a pending refund locks its charge', 'it is pending, and does not lock its charge')
  },
}

function paymentOf({ account, charge_id, amount, currency, provider_refund_id }: Payment): Payment {
  return {
    ...{ account, charge_id, amount },
    ...(currency !== undefined && { currency }),
    ...(provider_refund_id !== undefined && { provider_refund_id }),
  }
}

function showAll(entries: readonly { kind: string; amount: number }[]): string {
  return entries.map(({ kind, amount }) => `${kind} ${amount}`).join(' and ') || 'no entry'
}

/** A payout of the provider is that of one refund. */
export const payoutPromise: SharedPromise<{ refund: string; at: string }> = {
  facts(item, state) {
    if (typedOwnerOf(item).entity !== 'refund') return
    const { id, tenant_id, account, provider_refund_id, updated_at: at } = asRefund(item)
    if (provider_refund_id !== undefined)
      state(tenant_id, `payout/${account}/${provider_refund_id}`, { refund: id, at })
  },
  judge(facts, _, __, broken) {
    if (facts.length > 1)
      broken(
        'a payout belongs to one refund',
        `it is that of ${facts.map(({ refund }) => refund).join(' and ')}`,
      )
  },
}
