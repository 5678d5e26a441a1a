import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import type { Report } from '../../cli/output.ts'
import { type DeadLetter, type DeadLetters, type LetterSelection, standing } from './dead-letters.ts'
import { tenantOfLetter } from './inspect-dead-letters.ts'

/** The dependencies of a redrive of a queue. */
export interface QueueRedrive {
  queue: TaskQueue
  letters: DeadLetters
  /** Sends a message to the queue. @returns its id, which it keeps if it becomes a dead letter again */
  send(letter: DeadLetter): Promise<string>
  /** Records in the audit of a tenant that so many of its messages return. */
  audit(tenant: string | undefined, messages: number): Promise<void>
  report: Report
  /** Milliseconds since 1970. */
  now(): number
}

/** The clocks of this machine and of SQS differ by less. */
const marginMilliseconds = 60_000

/**
 * Moves messages back, after the audit of their tenants recorded it: those that stood there at the start. One that fails again
 * stays. Each is sent before it is deleted, so none is lost. A duplicate is handled once.
 * @returns how many messages were moved
 */
export async function redriveQueue(
  { queue, letters, send, audit, report, now }: QueueRedrive,
  selection: LetterSelection,
): Promise<number> {
  const sent = new Set<string>()
  const until = now() + marginMilliseconds
  for await (const batch of standing(letters, { ...selection, until, sent })) {
    const ofTenants = Map.groupBy(batch, (letter) => tenantOfLetter(letter, queue))
    for (const [tenant, { length }] of ofTenants) await audit(tenant, length)
    for (const letter of batch) {
      sent.add(await send(letter))
      await letters.remove(letter)
      report(`${sent.size} messages moved`)
    }
  }
  return sent.size
}
