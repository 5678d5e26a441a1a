import { Argument } from '@commander-js/extra-typings'
import { deadLetterNames } from '#functions/subscriptions.ts'
import {
  type Define,
  parseTime,
  parseWholeNumber,
  stack,
  stackOf,
  UsageError,
  yes,
} from '../../cli/options.ts'
import { confirm, printFields, withProgress } from '../../cli/output.ts'
import { anyTenant, from, limit, printAnswer, to, verbose } from '../ask/question-options.ts'

/** Defines the commands on messages and batches that could not be handled. */
export function defineDeadLetters(define: Define): void {
  const queue = new Argument('<name>', 'the queue, or the function').choices(deadLetterNames)
  const message = new Argument('<id>', 'the message_id of the list')
  define(
    'dead-letters list',
    'List failed messages, the latest first, with the number of attempts and the reason, as far as the deployment has recorded one. Otherwise the log of the function has it: search it for the message_id. With an id, print one message with its content: the received event, or the body. Messages stay in the queue; other commands do not see them for a minute if this one is interrupted.',
    'dead-letters list',
    'dead-letters list webhooks --tenant acme --from 24h --stack commerce-prod',
    'dead-letters list webhooks MESSAGE_ID',
  )
    .addArgument(
      new Argument('[name]', 'the queue, or the function; all by default').choices(deadLetterNames),
    )
    .argument('[id]', 'one message, by its message_id')
    .addOption(anyTenant)
    .addOption(from)
    .addOption(to)
    .option('--correlation-id <id>', 'only messages that name this id')
    .addOption(limit)
    .addOption(verbose)
    .addOption(stack)
    .action(async (name, id, { tenant, correlationId, ...options }) => {
      if (name !== undefined && id !== undefined) {
        const { inspectionOf, showLetter } = await import('./inspect-dead-letters.ts')
        return printFields(await showLetter(await inspectionOf(await stackOf(options.stack), name), id))
      }
      const { readDeadLetters } = await import('../ask/lists.ts')
      const columns = ['queue', 'message_id', 'at', 'attempts', 'reason', 'type', 'changes']
      await printAnswer(readDeadLetters, options, { tenant, target: name, correlationId }, { columns })
    })
  define(
    'dead-letters discard',
    'Remove a failed message without handling it. The audit of its tenant records it; mails and changes of the table belong to no tenant.',
    'dead-letters discard webhooks MESSAGE_ID --yes',
  )
    .addArgument(queue)
    .addArgument(message)
    .addOption(yes)
    .addOption(stack)
    .action(async (name, id, { yes, stack }) => {
      const { discardLetter, inspectionOf } = await import('./inspect-dead-letters.ts')
      const { operatorOn } = await import('../stack/operator.ts')
      await confirm(`Discard the message ${id} of ${name} without handling it?`, yes)
      const from = await stackOf(stack)
      printFields({
        discarded: await discardLetter(await inspectionOf(from, name), id, await operatorOn(from)),
      })
    })
  define(
    'dead-letters redrive',
    `Handle failed messages again: those that stand there when the command begins, or one, or --limit. One that fails again is left alone. Messages of a queue return to it. A function that the table's stream feeds is invoked with its failed batches; changes older than 24 hours are no longer in the stream, and are rebuilt by reading the whole table. With --from and --to such a function handles all changes of that time, with or without a dead letter: for events.relay the events of each item's first and latest change in it, for tasks.enqueue all tasks that are not done, because tasks have no time. Consumers recognize duplicates by their event ids.`,
    'dead-letters redrive webhooks',
    'dead-letters redrive webhooks MESSAGE_ID',
    'dead-letters redrive webhooks --limit 100',
    'dead-letters redrive events.relay',
    'dead-letters redrive events.relay --from 2026-01-30T12:00:00Z --to 2026-01-31T13:00:00Z',
  )
    .addArgument(queue)
    .argument('[id]', 'one message, by the message_id of the list')
    .option('--limit <number>', 'the most messages to take', parseWholeNumber)
    .option('--from <time>', 'such as 2026-01-30T12:00:00Z', parseTime)
    .option('--to <time>', 'such as 2026-01-31T13:00:00Z; by default now', parseTime)
    .addOption(stack)
    .action(async (name, id, { stack, from, to, limit }) => {
      const { redrive } = await import('./redrive.ts')
      const { checkWindow } = await import('../events/replay.ts')
      const now = new Date()
      if (to && !from) throw new UsageError('--to needs --from')
      if (from && (id !== undefined || limit !== undefined))
        throw new UsageError('--from takes changes without dead letters: leave out the id and --limit')
      if (limit !== undefined && limit < 1) throw new UsageError('--limit takes a number from 1')
      const window = from && { from, to: to ?? now }
      if (window) checkWindow(window, now.getTime())
      const at = await stackOf(stack)
      printFields(await withProgress((report) => redrive(at, name, { window, id, limit, report })))
    })
}
