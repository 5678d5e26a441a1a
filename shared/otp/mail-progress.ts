import { commit } from '../platform/idempotency/commit.ts'
import type { Effects } from '../platform/idempotency/effects.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Item } from '../platform/table/keys.ts'
import { inState } from '../platform/table/table.ts'
import type { MailItem } from './code-mail.ts'
import { otpDelivered } from './otp-events.ts'

/** The states that may precede each state: a delivery event may arrive before the sender records the mail as sent. */
const precedingStates = { sent: ['queued'], delivered: ['queued', 'sent'] } as const

/**
 * Records the progress of a mail and removes its content. Has no effect if the mail has advanced in the meantime.
 * @param delivered whether otp.delivered is published with it
 */
export async function recordProgress(
  mail: MailItem & Item,
  state: 'sent' | 'delivered',
  delivered: boolean,
  { table, clock }: Pick<WorkContext, 'table' | 'clock'>,
): Promise<void> {
  const { sealed: _sealed, task: _task, outbox: _outbox, ...kept } = mail
  const { message_id: id, tenant_id, user_id, email_hash, correlation_id } = mail
  const correlation = { id: correlation_id, trace: {} }
  const condition = inState(precedingStates[state])
  const progress: Effects<object> = {
    writes: [{ item: { ...kept, state }, condition, onFailure: 'INTERNAL.unexpected' }],
    events: delivered ? otpDelivered({ id, tenant_id, user_id, email_hash }) : [],
    onConflict: async () => ({}),
  }
  await commit({ table, clock, caller: undefined, correlation }, progress)
}
