import { Option } from '@commander-js/extra-typings'
import { type Define, parseTime, stack, tableOf, tenant, UsageError } from './options.ts'
import { printRecords } from './output.ts'

const subscriber = new Option('--subscriber <id>', 'the subscriber').makeOptionMandatory()

/** Defines the commands on the deliveries of events to subscribers. */
export function defineDeliveryCommands(define: Define): void {
  defineList(define)
}

function defineList(define: Define): void {
  define(
    'deliveries list',
    'List the recorded deliveries of a subscriber with their attempts, in the order of their events. The data of events is not printed.',
    'deliveries list --tenant acme --subscriber SUBSCRIBER_ID --failed',
  )
    .addOption(tenant)
    .addOption(subscriber)
    .option('--failed', 'only those whose last attempt failed')
    .option('--from <time>', 'events from this time on, such as 2026-01-30T12:00:00Z', parseTime)
    .option('--to <time>', 'events before this time', parseTime)
    .addOption(stack)
    .action(async ({ tenant, subscriber, failed, from, to, stack }) => {
      const { listDeliveries } = await import('../commands/subscribers/deliveries.ts')
      if (from && to && from >= to) throw new UsageError('--from must be before --to')
      const selection = {
        ...(from && { from }),
        ...(to && { to }),
        ...(failed && { states: ['failed'] as const }),
      }
      const deliveries = listDeliveries(await tableOf(stack), { tenant, subscriber }, selection)
      await printRecords(deliveries, 'id', 'type', 'state', 'attempted', 'latest', 'next_at')
    })
}
