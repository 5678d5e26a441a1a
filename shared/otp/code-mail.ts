import type { KeyObject } from 'node:crypto'
import type { Person } from '../identity/person.ts'
import { seal, unseal } from '../platform/base/secrets.ts'
import type { Task } from '../platform/events/outbox.ts'
import { commit } from '../platform/idempotency/commit.ts'
import type { Effects } from '../platform/idempotency/decision.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import { create, inState, type Table, type Write } from '../platform/table/table.ts'
import { otpDelivered } from './otp-events.ts'

/** The content of a mail. */
interface MailContent {
  /** Normalized. */
  email: string
}

/** A queued or sent mail. Reading the table reveals neither its address nor its code: the address is sealed, the code is derived. */
interface MailItem extends Key, Person {
  message_id: string
  code_id: string
  tenant_id: string
  /** `sent`: accepted by the mail service. */
  state: 'queued' | 'sent' | 'delivered'
  /** The sealed content; removed once the mail is sent. */
  sealed?: string
  /** The task that sends it. */
  task?: Task
  correlation_id: string
  /** Seconds since 1970. */
  expires_at: number
}

/** How long a mail is kept, in seconds. */
const retentionSeconds = 24 * 3600

export function mailKey(messageId: string): Key {
  return { pk: `mail#${messageId}`, sk: 'mail' }
}

/** Returns the mail of a message; undefined if there is none or it has expired. */
export async function findMail(table: Table, messageId: string): Promise<(MailItem & Item) | undefined> {
  return (await table.get(mailKey(messageId))) as (MailItem & Item) | undefined
}

/** Writes a mail whose sending is queued after the commit. @param now milliseconds since 1970 */
export function queuedMail(
  mail: Omit<MailItem, keyof Key | 'state' | 'task' | 'expires_at'>,
  now: number,
): Write {
  const item: MailItem & Item = {
    ...mailKey(mail.message_id),
    ...mail,
    state: 'queued',
    task: { queue: 'mail', body: mail.message_id, group: mail.user_id },
    expires_at: Math.floor(now / 1000) + retentionSeconds,
  }
  return create(item)
}

export function sealMail(
  key: KeyObject,
  messageId: string,
  content: MailContent,
  randomBytes: (length: number) => Uint8Array,
): string {
  return seal(key, JSON.stringify(content), messageId, randomBytes)
}

/** @throws Error if the mail was sealed for another message or by another deployment */
export function openMail(key: KeyObject, messageId: string, sealed: string): MailContent {
  return JSON.parse(unseal(key, sealed, messageId))
}

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
  const { sealed: _sealed, task: _task, ...kept } = mail
  const { message_id: id, tenant_id, user_id, email_hash, correlation_id } = mail
  const correlation = { id: correlation_id, trace: {} }
  const condition = inState(precedingStates[state])
  const progress: Effects = {
    writes: [{ item: { ...kept, state }, condition, onFailure: 'INTERNAL.unexpected' }],
    events: delivered ? otpDelivered({ id, tenant_id, user_id, email_hash }) : [],
  }
  // A conflict means that the mail has advanced.
  await commit({ table, clock, caller: undefined, correlation }, progress)
}
