import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { refundStatuses } from '#shared/refunds/refund-states.ts'
import {
  type Define,
  parseTime,
  settings,
  settingsOf,
  stack,
  stackOf,
  tableOf,
  tenant,
  UsageError,
} from './options.ts'
import { printRecord, printRecords } from './output.ts'

/** Defines the commands on the refunds of a tenant. */
export function defineRefundCommands(define: Define): void {
  define(
    'refunds list',
    'List the refunds of a tenant, oldest first, with amounts in minor units.',
    'refunds list --tenant acme --status pending',
  )
    .addOption(tenant)
    .addOption(new Option('--status <status>', 'only refunds in this status').choices(refundStatuses))
    .addOption(stack)
    .action(async ({ tenant, status, stack }) => {
      const { refundsOf } = await import('../commands/refunds.ts')
      const columns = ['id', 'charge_id', 'amount', 'currency', 'status', 'created_at', 'updated_at']
      await printRecords(refundsOf(await tableOf(stack), tenant, status), ...columns)
    })
  define(
    'refunds reconcile',
    'Compare the ledger of a tenant with the refunds that the payment provider created between two times, in each account that the tenant has or had. It prints the differences, the payouts that the service did not request (`unrelated`, which are no differences) and the sums of both sides in minor units. It exits with 1 if there are differences.',
    'refunds reconcile --tenant acme',
    'refunds reconcile --tenant acme --from 2026-01-01 --to 2026-02-01 --settings profiles/prod.json --stack commerce-prod',
  )
    .addOption(tenant)
    .option('--from <time>', 'a date or a time in UTC, by default a day before --to', parseDateOrTime)
    .option(
      '--to <time>',
      'a date or a time in UTC, exclusive; by default now with --from, else the start of today',
      parseDateOrTime,
    )
    .addOption(settings)
    .addOption(stack)
    .action(async ({ tenant, from, to, settings, stack }) => {
      // The local profile would send the key of the stage to an address of this machine.
      if (stack !== undefined && settings === undefined) throw new UsageError('--stack requires --settings')
      const { comparison, rangeOf } = await import('../commands/refunds.ts')
      const profile = await settingsOf(settings)
      const range = rangeOf({ from, to }, profile, Date.now())
      const { findings, summary } = await comparison(await stackOf(stack), {
        tenant,
        settings: profile,
        ...range,
      })
      const columns = ['finding', 'refund_id', 'provider_refund_id', 'provider_status', 'provider_amount']
      await printRecords(findings, ...columns, 'ledger_amount')
      printRecord(summary)
      if (summary.differences > 0) process.exitCode = 1
    })
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
