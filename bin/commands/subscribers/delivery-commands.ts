import { Option } from '@commander-js/extra-typings'
import { deliveryStates } from '#shared/deliveries/delivery.ts'
import { type Define, stack, tenant } from '../../cli/options.ts'
import { printFields, withProgress } from '../../cli/output.ts'
import { failedAttempt } from '../ask/query.ts'
import { anyTenant, correlationId, from, limit, printAnswer, to, verbose } from '../ask/question-options.ts'
import { subscriberOperatorAt } from './subscriber-commands.ts'

/** Defines the commands on the deliveries of events to subscribers. */
export function defineDeliveryCommands(define: Define): void {
  defineTest(define)
  defineList(define)
  defineResend(define)
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
      const { testSubscriber } = await import('./test-subscriber.ts')
      const operator = await subscriberOperatorAt(stack)
      const { accepted, ...attempt } = await withProgress((report) => {
        report('wait for the answer')
        return testSubscriber(operator, { tenant, subscriber: id })
      })
      printFields({ accepted, ...attempt })
      if (!accepted) process.exitCode = 1
    })
}

function defineList(define: Define): void {
  define(
    'deliveries list',
    'List the recorded deliveries of a tenant with their attempts, the latest event first. Without --tenant it lists the failed ones of all tenants, by the time of the failure. A delivery is recorded at its first attempt, or when it is suspended; before, it is a message in a queue. The data of events is not printed.',
    'deliveries list --from 12h --stack commerce-prod',
    'deliveries list --tenant acme --subscriber SUBSCRIBER_ID --status failed-attempt --from 2026-01-31T12:00:00Z',
  )
    .addOption(anyTenant)
    .addOption(from)
    .addOption(to)
    .option('--subscriber <id>', 'only those to this subscriber')
    .addOption(
      new Option(
        '--status <state>',
        'only in this state, or with a failed attempt whatever came after it',
      ).choices([...deliveryStates, failedAttempt]),
    )
    .addOption(correlationId)
    .addOption(limit)
    .addOption(verbose)
    .addOption(stack)
    .action(async ({ tenant, subscriber, status, correlationId, ...options }) => {
      const { readDeliveries } = await import('../ask/lists.ts')
      const filters = { tenant, status, target: subscriber, correlationId }
      const columns = [
        'id',
        'tenant_id',
        'subscriber_id',
        'type',
        'state',
        'attempted',
        'latest',
        'answer',
        'next_at',
      ]
      await printAnswer(readDeliveries, options, filters, { columns })
    })
}

function defineResend(define: Define): void {
  define(
    'deliveries resend',
    'Send a recorded delivery again, with the same event id. Its attempts start over. It prints the state: waiting, or suspended while the subscriber is paused or disabled. It refuses a delivery that has expired, and those of a blocked tenant.',
    'deliveries resend DELIVERY_ID --tenant acme',
  )
    .argument('<id>', 'the delivery')
    .addOption(tenant)
    .addOption(stack)
    .action(async (id, { tenant, stack }) => {
      const { resend } = await import('./deliveries.ts')
      printFields({ id, state: await resend(await subscriberOperatorAt(stack), tenant, id) })
    })
}
