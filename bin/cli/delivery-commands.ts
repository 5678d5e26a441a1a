import { Option } from '@commander-js/extra-typings'
import { type Define, parseTime, stack, tableOf, tenant, UsageError } from './options.ts'
import { printRecord, printRecords, withProgress } from './output.ts'
import { operatorOf } from './subscriber-commands.ts'

const subscriber = new Option('--subscriber <id>', 'the subscriber').makeOptionMandatory()

/** Defines the commands on the deliveries of events to subscribers. */
export function defineDeliveryCommands(define: Define): void {
  defineTest(define)
  defineList(define)
  defineResend(define)
  defineReplay(define)
}

function defineTest(define: Define): void {
  define(
    'subscribers test',
    'Send a signed event of the type ping to a subscriber once, and print its answer: status, milliseconds and the first kilobyte of the body. A paused subscriber gets it, too. It exits with 1 if the endpoint does not accept it.',
    'subscribers test SUBSCRIBER_ID --tenant acme',
  )
    .argument('<id>', 'the subscriber')
    .addOption(tenant)
    .addOption(stack)
    .action(async (id, { tenant, stack }) => {
      const { testSubscriber } = await import('../commands/subscribers/test-subscriber.ts')
      const operator = await operatorOf(stack)
      const { accepted, ...attempt } = await withProgress((report) => {
        report('wait for the answer')
        return testSubscriber(operator, { tenant, subscriber: id })
      })
      printRecord({ accepted, ...attempt })
      if (!accepted) process.exitCode = 1
    })
}

function defineList(define: Define): void {
  define(
    'deliveries list',
    'List the recorded deliveries of a subscriber with their attempts, in the order of their events. A delivery is recorded at its first attempt, or when it is held; before, it is a message in a queue. The data of events is not printed.',
    'deliveries list --tenant acme --subscriber SUBSCRIBER_ID --failed',
  )
    .addOption(tenant)
    .addOption(subscriber)
    .option('--failed', 'only those that failed and have no further attempt')
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

function defineResend(define: Define): void {
  define(
    'deliveries resend',
    'Send a recorded delivery again, with the same event id. Its attempts start over. It prints the state: waiting, or held while the subscriber is paused or disabled. It refuses a delivery that has expired, and those of a blocked tenant.',
    'deliveries resend DELIVERY_ID --tenant acme',
  )
    .argument('<id>', 'the delivery')
    .addOption(tenant)
    .addOption(stack)
    .action(async (id, { tenant, stack }) => {
      const { resend } = await import('../commands/subscribers/deliveries.ts')
      printRecord({ id, state: await resend(await operatorOf(stack), tenant, id) })
    })
}

function defineReplay(define: Define): void {
  define(
    'deliveries replay',
    'Send the events of a time again to one subscriber, with the same event ids. Recorded deliveries are sent, as long as they are kept: those that succeeded, failed or were skipped. Others are still to be sent anyway. It leaves out those that have expired, and refuses a blocked tenant.',
    'deliveries replay --tenant acme --subscriber SUBSCRIBER_ID --from 2026-01-30T12:00:00Z --to 2026-01-31T13:00:00Z',
  )
    .addOption(tenant)
    .addOption(subscriber)
    .requiredOption('--from <time>', 'events from this time on, such as 2026-01-30T12:00:00Z', parseTime)
    .requiredOption('--to <time>', 'events before this time', parseTime)
    .addOption(stack)
    .action(async ({ tenant, subscriber, from, to, stack }) => {
      const { replayDeliveries } = await import('../commands/subscribers/deliveries.ts')
      const { checkWindow } = await import('../commands/replay.ts')
      checkWindow({ from, to }, Date.now())
      const operator = await operatorOf(stack)
      const resent = await withProgress((report) =>
        replayDeliveries(operator, { tenant, subscriber }, { window: { from, to }, report }),
      )
      printRecord({ subscriber, resent })
    })
}
