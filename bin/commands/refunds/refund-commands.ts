import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { refundStatuses } from '#shared/refunds/refund-states.ts'
import {
  type Define,
  operatorOf,
  parseTime,
  settings,
  settingsOf,
  stack,
  stackOf,
  tenant,
  UsageError,
  yes,
} from '../../cli/options.ts'
import { assertCanAsk, confirm, printFields, printRows } from '../../cli/output.ts'
import { anyTenant, from, limit, printAnswer, to, verbose } from '../ask/question-options.ts'
import type { LookedUpOutcome } from './settle-refund.ts'

const outcome = new Option('--outcome <outcome>', 'what you found out at the payment provider')
  .choices(['failed', 'paid'] as const)
  .makeOptionMandatory()

/** Defines the commands on the refunds of a tenant. */
export function defineRefundCommands(define: Define): void {
  define(
    'refunds list',
    'List the refunds of a tenant, the latest first, with their entries in the ledger and amounts in minor units. Without --tenant it lists the pending refunds of all tenants.',
    'refunds list --to 1h --stack commerce-prod',
    'refunds list --tenant acme --status reversed --from 7d',
  )
    .addOption(anyTenant)
    .addOption(from)
    .addOption(to)
    .addOption(new Option('--status <status>', 'only refunds in this status').choices(refundStatuses))
    .option('--charge <id>', 'only refunds of this charge')
    .addOption(limit)
    .addOption(verbose)
    .addOption(stack)
    .action(async ({ tenant, status, charge, ...options }) => {
      const { readRefunds } = await import('../ask/lists.ts')
      const { withLedger } = await import('../ask/with-ledger.ts')
      const columns = ['id', 'tenant_id', 'charge_id', 'amount', 'currency', 'status', 'created_at', 'ledger']
      await printAnswer(
        readRefunds,
        options,
        { tenant, status, target: charge },
        { columns, complete: withLedger },
      )
    })
  define(
    'refunds settle',
    'End a pending refund by what you found out at the payment provider, if the service cannot: its account is closed, or its tenant leaves. With `failed`, the account shows no payout of the refund; look for refund_id in the metadata of the refunds of its charge. A refund that the provider has accepted waits for its outcome there. With `paid`, the payout is booked, unless another refund has it; to know that, all refunds of the tenant are read. It also works while the tenant is blocked. The audit records it. Whatever the provider reports later counts.',
    'refunds settle REFUND_ID --tenant acme --outcome failed --yes',
    'refunds settle REFUND_ID --tenant acme --outcome paid --provider-refund-id re_1 --currency EUR --settings profiles/prod.json --stack commerce-prod',
  )
    .argument('<id>', 'the refund')
    .addOption(tenant)
    .addOption(outcome)
    .option(
      '--provider-refund-id <id>',
      'the id of the refund at the provider: with `paid`, or if the provider had accepted it and shows that it failed',
    )
    .option('--currency <code>', 'with `paid`: the currency of the payout, such as EUR', parseCurrency)
    .addOption(settings)
    .addOption(yes)
    .addOption(stack)
    .action(async (id, { tenant, outcome, providerRefundId, currency, settings, yes, stack }) => {
      if (stack !== undefined && settings === undefined) throw new UsageError('--stack requires --settings')
      const finding = lookedUpOutcome(outcome, providerRefundId, currency)
      const { settleByOperator } = await import('./settle-refund.ts')
      await confirm(`Set the refund ${id} of ${tenant} to ${outcome}?`, yes)
      const profile = await settingsOf(settings)
      const refund = { tenant, id, settings: profile, ...finding }
      const { status, provider_refund_id } = await settleByOperator(await operatorOf(stack), refund)
      printFields({ id, status, ...(provider_refund_id && { provider_refund_id }) })
    })
  define(
    'refunds reconcile',
    'Compare the ledger of a tenant with the refunds that the payment provider created between two times, in each account that the tenant has or had. It prints the differences, the payouts that the service did not request (`unrelated`, which are no differences) and the sums of both sides in minor units. It exits with 1 if there are differences. With --adopt, it first books what the provider paid for the service since a time and the ledger lacks: at the end of a restore, when the refunds since the point in time are gone and their payouts are not. Each payout becomes a refund with its entry in the ledger, its event and an audit record; one that is pending is settled later, and one that failed is not booked. It books no payout that a refund has, so it can be repeated, also while callers repeat their requests.',
    'refunds reconcile --tenant acme',
    'refunds reconcile --tenant acme --from 2026-01-01 --to 2026-02-01 --settings profiles/prod.json --stack commerce-prod',
    'refunds reconcile --tenant acme --from 2026-01-31T12:00:00Z --adopt --settings profiles/prod.json --stack commerce-prod',
  )
    .addOption(tenant)
    .option('--from <time>', 'a date or a time in UTC, by default a day before --to', parseDateOrTime)
    .option(
      '--to <time>',
      'a date or a time in UTC, exclusive; by default now with --from, else the start of today',
      parseDateOrTime,
    )
    .option('--adopt', 'book the payouts that the ledger lacks since --from', false)
    .addOption(yes)
    .addOption(settings)
    .addOption(stack)
    .action(async ({ tenant, from, to, adopt, yes, settings, stack }) => {
      // The local profile would send the key of the stage to an address of this machine.
      if (stack !== undefined && settings === undefined) throw new UsageError('--stack requires --settings')
      if (adopt) assertCanAsk(`Book payouts of ${tenant} that the ledger lacks?`, yes)
      const { comparedAccounts, comparison, openSources, rangeOf } = await import('./refunds.ts')
      const profile = await settingsOf(settings)
      const period = rangeOf({ from, to, adopt }, profile, Date.now())
      const sources = await openSources(await stackOf(stack), profile)
      const range = { tenant, ...period, ...(await comparedAccounts(sources.table, tenant, profile)) }
      if (adopt) {
        const { adoptPayouts, missingPayouts } = await import('./adopt-payouts.ts')
        const adopting = { ...sources, operator: await operatorOf(stack), settings: profile }
        const missing = await missingPayouts(range, adopting)
        if (missing.length > 0) {
          await confirm(`Book ${missing.length} payouts of ${tenant} that the ledger lacks?`, yes)
          const columns = ['finding', 'refund_id', 'provider_refund_id', 'status', 'amount', 'currency']
          await printRows(adoptPayouts(tenant, missing, adopting), ...columns)
        }
      }
      const { findings, summary } = comparison(range, sources)
      const columns = ['finding', 'refund_id', 'provider_refund_id', 'provider_status', 'provider_amount']
      await printRows(findings, ...columns, 'ledger_amount')
      printFields(summary)
      if (summary.differences > 0) process.exitCode = 1
    })
}

/** @throws UsageError if the facts of a payout are missing, or do not belong to the outcome */
function lookedUpOutcome(
  outcome: 'failed' | 'paid',
  providerRefundId?: string,
  currency?: string,
): LookedUpOutcome {
  if (outcome === 'failed') {
    if (currency !== undefined) throw new UsageError('--currency belongs to --outcome paid')
    return { outcome, ...(providerRefundId !== undefined && { providerRefundId }) }
  }
  if (providerRefundId !== undefined && currency !== undefined) return { outcome, providerRefundId, currency }
  throw new UsageError('--outcome paid requires --provider-refund-id and --currency')
}

/** @throws InvalidArgumentError for anything but three capital letters */
function parseCurrency(text: string): string {
  if (/^[A-Z]{3}$/.test(text)) return text
  throw new InvalidArgumentError('It takes a currency code such as EUR.')
}

/** @throws InvalidArgumentError for anything but a date, which is its start in UTC, or a time in UTC */
function parseDateOrTime(text: string): Date {
  try {
    return parseTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
  } catch {
    throw new InvalidArgumentError(
      'It takes a date or a time in UTC, such as 2026-01-31 or 2026-01-31T12:00:00Z.',
    )
  }
}
