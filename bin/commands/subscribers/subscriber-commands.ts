import { InvalidArgumentError } from '@commander-js/extra-typings'
import {
  type Define,
  parseEvents,
  parseWholeNumber,
  stack,
  stackOf,
  tableOf,
  tenant,
  UsageError,
  yes,
} from '../../cli/options.ts'
import { confirm, printFields, printRows, withProgress } from '../../cli/output.ts'

/** Defines the commands on the subscribers of a tenant. */
export function defineSubscriberCommands(define: Define): void {
  defineCreate(define)
  defineList(define)
  defineUpdate(define)
  defineStates(define)
  defineSecrets(define)
  defineDelete(define)
}

function defineCreate(define: Define): void {
  define(
    'subscribers create',
    'Register an endpoint that receives events of a tenant, and print its id and the secret that signs them. The secret cannot be printed again. The URL is https and leads to public addresses; on the local run it may also lead to this machine. The command ends after some seconds: the subscriber gets all events that are published from then on.',
    'subscribers create --tenant acme --url https://shop.acme.example/hooks --events "order.placed,refund.*"',
    'subscribers create --tenant acme --url https://shop.acme.example/hooks --events "*"',
  )
    .addOption(tenant)
    .requiredOption('--url <url>', 'the endpoint')
    .requiredOption(
      '--events <types>',
      'event types, separated by commas; refund.* or * for several',
      parseEvents,
    )
    .addOption(stack)
    .action(async ({ tenant, url, events, stack }) => {
      const { createSubscriberOf } = await import('./registry.ts')
      const operator = await subscriberOperatorAt(stack)
      const created = await withProgress((report) => {
        report('register it, and wait until its events are looked for')
        return createSubscriberOf(operator, { tenant, url, events })
      })
      printFields(created)
    })
}

function defineList(define: Define): void {
  define(
    'subscribers list',
    'List the subscribers of a tenant without their secrets, oldest first.',
    'subscribers list --tenant acme',
  )
    .addOption(tenant)
    .addOption(stack)
    .action(async ({ tenant, stack }) => {
      const { listSubscribers } = await import('./registry.ts')
      const columns = ['id', 'url', 'events', 'state', 'reason', 'created_at']
      await printRows(await listSubscribers(await tableOf(stack), tenant), ...columns)
    })
}

function defineUpdate(define: Define): void {
  define(
    'subscribers update',
    'Change the URL or the events of a subscriber. Deliveries that are still to be sent go to the new URL.',
    'subscribers update SUBSCRIBER_ID --tenant acme --events "order.*"',
  )
    .argument('<id>', 'the subscriber')
    .addOption(tenant)
    .option('--url <url>', 'the new endpoint')
    .option('--events <types>', 'the new event types, separated by commas', parseEvents)
    .addOption(stack)
    .action(async (id, { tenant, url, events, stack }) => {
      if (url === undefined && events === undefined) throw new UsageError('give --url, --events or both')
      const { updateSubscriber } = await import('./registry.ts')
      const fields = { ...(url !== undefined && { url }), ...(events && { events }) }
      printFields(
        await updateSubscriber(await subscriberOperatorAt(stack), { tenant, subscriber: id }, fields),
      )
    })
}

function defineStates(define: Define): void {
  define(
    'subscribers pause',
    'Send no events to a subscriber until it is resumed. They are recorded as suspended, and deleted after deliveries.retentionDays.',
    'subscribers pause SUBSCRIBER_ID --tenant acme',
  )
    .argument('<id>', 'the subscriber')
    .addOption(tenant)
    .addOption(stack)
    .action(async (id, { tenant, stack }) => {
      const { pauseSubscriber } = await import('./registry.ts')
      printFields(await pauseSubscriber(await subscriberOperatorAt(stack), { tenant, subscriber: id }))
    })
  define(
    'subscribers resume',
    'Send events again to a subscriber that is paused, or that the service disabled. Its suspended events are sent, those that wait for a retry at their time; with --skip both are dropped.',
    'subscribers resume SUBSCRIBER_ID --tenant acme',
    'subscribers resume SUBSCRIBER_ID --tenant acme --skip --yes',
  )
    .argument('<id>', 'the subscriber')
    .addOption(tenant)
    .option('--skip', 'drop the events that are suspended or wait', false)
    .addOption(yes)
    .addOption(stack)
    .action(async (id, { tenant, skip, yes, stack }) => {
      const { resumeSubscriber } = await import('./registry.ts')
      if (skip)
        await confirm(`Drop the events that are suspended or wait of the subscriber ${id} of ${tenant}?`, yes)
      const operator = await subscriberOperatorAt(stack)
      printFields(
        await withProgress((report) =>
          resumeSubscriber(operator, { tenant, subscriber: id }, { skip, report }),
        ),
      )
    })
}

function defineSecrets(define: Define): void {
  define(
    'subscribers rotate-secret',
    'Replace the secret of a subscriber, and print the new one. It cannot be printed again. Until the overlap ends, events have the signatures of both secrets.',
    'subscribers rotate-secret SUBSCRIBER_ID --tenant acme',
    'subscribers rotate-secret SUBSCRIBER_ID --tenant acme --overlap 0 --yes',
  )
    .argument('<id>', 'the subscriber')
    .addOption(tenant)
    .option(
      '--overlap <seconds>',
      'how long the old secrets sign as well; by default as the setting subscribers.secretOverlapSeconds says, and 0 ends them at once',
      parseOverlap,
    )
    .addOption(yes)
    .addOption(stack)
    .action(async (id, { tenant, overlap, yes, stack }) => {
      const { replaceSecret } = await import('./registry.ts')
      if (overlap === 0)
        await confirm(`End the old secrets of the subscriber ${id} of ${tenant} at once?`, yes)
      printFields(await replaceSecret(await subscriberOperatorAt(stack), { tenant, subscriber: id }, overlap))
    })
  define(
    'subscribers re-encrypt',
    "Encrypt the secrets of all subscribers of all tenants with the current version of the stack's SubscribersSecret. Run it after that was rotated. It can be repeated, and exits with 1 if it could not read a secret.",
    'subscribers re-encrypt',
  )
    .addOption(stack)
    .action(async ({ stack }) => {
      const { reEncrypt } = await import('./re-encrypt.ts')
      const operator = await subscriberOperatorAt(stack)
      const done = await withProgress((report) => reEncrypt(operator, report))
      printFields(done)
      if (done.unreadable.length > 0) process.exitCode = 1
    })
}

function defineDelete(define: Define): void {
  define(
    'subscribers delete',
    'Delete a subscriber. It gets no events any more, also none that are waiting. The records of its deliveries stay until they expire.',
    'subscribers delete SUBSCRIBER_ID --tenant acme --yes',
  )
    .argument('<id>', 'the subscriber')
    .addOption(tenant)
    .addOption(yes)
    .addOption(stack)
    .action(async (id, { tenant, yes, stack }) => {
      const { deleteSubscriberOf } = await import('./registry.ts')
      await confirm(`Delete the subscriber ${id} of ${tenant}?`, yes)
      await deleteSubscriberOf(await subscriberOperatorAt(stack), { tenant, subscriber: id })
      printFields({ id, deleted: true })
    })
}

/** Returns the operator who runs a command on the subscribers of the deployment that --stack names. */
export async function subscriberOperatorAt(stack: string | undefined) {
  const { subscriberOperatorOf } = await import('./subscriber-operator.ts')
  return subscriberOperatorOf(await stackOf(stack))
}

/** @throws InvalidArgumentError for anything but a number of seconds, at most a year */
function parseOverlap(text: string): number {
  const seconds = parseWholeNumber(text)
  if (seconds >= 0 && seconds <= 365 * 24 * 3600) return seconds
  throw new InvalidArgumentError('It takes a number of seconds, at most a year.')
}
