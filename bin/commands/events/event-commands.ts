import { randomBytes } from 'node:crypto'
import { InvalidArgumentError } from '@commander-js/extra-typings'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import {
  type Define,
  parseEvents,
  parseTenant,
  parseTime,
  parseWholeNumber,
  secretFrom,
  settings,
  settingsOf,
  stack,
  stackOf,
  UsageError,
} from '../../cli/options.ts'
import { printFields, printLine, withProgress } from '../../cli/output.ts'
import { onStopSignal } from '../../cli/stop-signal.ts'
import { subscriberOperatorAt } from '../subscribers/subscriber-commands.ts'

/** Defines the commands on published events. */
export function defineEventCommands(define: Define): void {
  defineListen(define)
  defineReplay(define)
}

function defineListen(define: Define): void {
  define(
    'events [listen]',
    'Print events as they are published, until Ctrl-C. With --forward-to, post each of them once to an endpoint, signed as for a subscriber, and print the status of the response. A temporary queue and a rule on the event bus receive the events, and are removed at the end.',
    'events',
    'events listen --tenant acme --events "order.placed,refund.*" --stack commerce-prod',
    'events listen --tenant acme --forward-to http://localhost:3000/hook',
    'events listen --tenant acme --forward-to http://localhost:3000/hook --settings profiles/prod.json --stack commerce-prod',
  )
    .option('--tenant <name>', 'only events of this tenant', parseTenant)
    .option('--events <types>', 'only these types, separated by commas; refund.* for several', parseEvents)
    .option('--forward-to <url>', 'the endpoint that gets the events of --tenant', parseEndpoint)
    .option('--secret-stdin', 'read the secret that signs them from standard input; by default a new one')
    .option('--limit <number>', 'end after this many events', parseWholeNumber)
    .addOption(settings)
    .addOption(stack)
    .action(
      async ({ forwardTo, secretStdin, limit = Number.POSITIVE_INFINITY, settings, stack, ...selection }) => {
        if (forwardTo === undefined && secretStdin)
          throw new UsageError('--secret-stdin requires --forward-to')
        if (forwardTo !== undefined && selection.tenant === undefined)
          throw new UsageError('--forward-to requires --tenant')
        // The profile names the scheme of the signatures.
        if (forwardTo !== undefined && stack !== undefined && settings === undefined)
          throw new UsageError('--forward-to requires --settings with --stack')
        await assertKnown(selection.events ?? [])
        const handle =
          forwardTo === undefined
            ? async (event: PublishedEvent) =>
                printLine(event, 'occurred_at', 'type', 'data', 'correlation_id')
            : await forwarder(
                forwardTo,
                secretStdin ? parseSecret(await secretFrom(process.stdin)) : undefined,
                settings,
              )
        const { receiveEvents } = await import('./published-events.ts')
        const stopped = new AbortController()
        onStopSignal(() => stopped.abort())
        // A reader such as head may close the pipe.
        process.stdout.on('error', () => stopped.abort())
        const started = () => console.error('Waiting for events. Ctrl-C stops.')
        const options = { signal: stopped.signal, started }
        let handled = 0
        for await (const events of receiveEvents(await stackOf(stack), selection, options)) {
          const next = events.slice(0, limit - handled)
          await Promise.all(next.map(handle))
          handled += next.length
          if (handled >= limit) break
        }
      },
    )
}

function defineReplay(define: Define): void {
  define(
    'events replay',
    'Send the events between two times again, with the same ids: consumers recognize duplicates. It publishes the archived events on the bus; the local run has no archive. With --subscriber it sends to one subscriber only, from its recorded deliveries as long as they are kept: those that succeeded, failed or were skipped. Others are still to be sent anyway. It leaves out those that have expired, and refuses a blocked tenant.',
    'events replay --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z --stack commerce-prod',
    'events replay --tenant acme --subscriber SUBSCRIBER_ID --from 2026-01-30T12:00:00Z --to 2026-01-31T13:00:00Z',
  )
    .requiredOption('--from <time>', 'such as 2026-01-31T12:00:00Z', parseTime)
    .requiredOption('--to <time>', 'such as 2026-01-31T13:00:00Z', parseTime)
    .option('--subscriber <id>', 'only to this subscriber')
    .option('--tenant <name>', 'the tenant of the subscriber', parseTenant)
    .addOption(stack)
    .action(async ({ stack, subscriber, tenant, ...window }) => {
      const { checkWindow, startReplay } = await import('./replay.ts')
      checkWindow(window, Date.now())
      if ((subscriber === undefined) !== (tenant === undefined))
        throw new UsageError('--subscriber and --tenant require each other')
      if (subscriber !== undefined && tenant !== undefined) {
        const { replayDeliveries } = await import('../subscribers/deliveries.ts')
        const operator = await subscriberOperatorAt(stack)
        const resent = await withProgress((report) =>
          replayDeliveries(operator, { tenant, subscriber }, { window, report }),
        )
        return printFields({ subscriber, resent })
      }
      if (stack === undefined) throw new UsageError('--stack is required without --subscriber')
      printFields({ replay: await startReplay(await stackOf(stack), window) })
    })
}

/** Prints the secret. @returns posts an event to the endpoint, and prints how it answered */
async function forwarder(url: string, secret: string | undefined, profile: string | undefined) {
  const { forward } = await import('./forward-event.ts')
  const { newSecret } = await import('#shared/subscribers/signing-secret.ts')
  const endpoint = {
    url,
    secret: secret ?? newSecret(randomBytes),
    settings: await settingsOf(profile),
  }
  console.error(`The secret that signs the events is ${endpoint.secret}`)
  return async (event: PublishedEvent) => {
    const columns = ['occurred_at', 'type', 'event_id', 'status', 'milliseconds', 'reason']
    printLine(await forward(event, endpoint), ...columns)
  }
}

/** @throws UsageError for a pattern that no event matches */
async function assertKnown(patterns: readonly string[]): Promise<void> {
  const { eventDefinitions } = await import('#functions/events.ts')
  const { eventsProblem } = await import('#shared/subscribers/prepare-subscriber.ts')
  const problem = eventsProblem(patterns, [...new Set(eventDefinitions.map(({ type }) => type))])
  if (problem !== undefined) throw new UsageError(problem)
}

/** @throws InvalidArgumentError for anything but an http or https address */
function parseEndpoint(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw new InvalidArgumentError('It takes an address such as http://localhost:3000/hook.')
}

/** @throws UsageError for anything but a secret of Standard Webhooks */
function parseSecret(text: string): string {
  if (/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(text)) return text
  throw new UsageError('standard input must hold whsec_ and the base64 of 24 to 64 bytes')
}
