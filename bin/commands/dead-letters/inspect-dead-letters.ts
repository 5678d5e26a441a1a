import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import * as v from 'valibot'
import { deadLettersOutput, queueOutput } from '#lib/functions/function-names.ts'
import { type TaskQueue, taskQueues } from '#shared/platform/events/outbox.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { type InboxItem, inboxKeyOf } from '#shared/webhooks/inbox.ts'
import { type DeployedStack, openTable, outputOf } from '../stack/deployment.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'
import { type DeadLetter, type DeadLetters, deadLettersAt, distinctLetters } from './dead-letters.ts'
import { FailedBatch, SetAsideChange } from './redrive-stream.ts'

/** The dependencies of the commands on single dead letters. */
export interface Inspection {
  /** The queue, or the function that the table's stream feeds. */
  name: string
  letters: DeadLetters
  table: Table
  /** The number of attempts after which the queue gives a message up; absent for a function. */
  attempts?: number
}

/** A dead letter in a list. Times are ISO 8601. */
export interface DeadLetterSummary {
  message_id: string
  /** The time at which the work was queued, or at which the function gave up. */
  at: string
  attempts: number | undefined
  /** Why it failed, if the deployment has recorded it; else its log has it under `message_id`. */
  reason: string | undefined
  /** The received event. */
  event_id?: string
  type?: string
  /** The number of changes in a failed batch of the table's stream. */
  changes?: number | undefined
}

/** Long enough for one page of the queue after the other; an interrupted list delays a redrive by this time. */
const hiddenSeconds = 60

/** Returns the dependencies of the commands on the dead letters of a deployment. */
export async function inspectionOf(
  stack: DeployedStack,
  name: string,
  table = openTable(stack),
): Promise<Inspection> {
  const letters = deadLettersAt(outputOf(stack, deadLettersOutput(name)), stack.access)
  if (!(name in taskQueues)) return { name, letters, table }
  const sqs = new SQSClient(stack.access)
  const QueueUrl = outputOf(stack, queueOutput(name as TaskQueue))
  const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['RedrivePolicy'] })
  const { Attributes } = await sqs.send(command)
  const { maxReceiveCount } = JSON.parse(Attributes?.RedrivePolicy ?? '{}')
  return { name, letters, table, attempts: Number(maxReceiveCount) }
}

/** Returns the dead letters that are wanted. All of them stay in the queue. */
export async function listLetters(
  inspection: Inspection,
  isWanted: (letter: DeadLetter) => boolean = () => true,
): Promise<{ letter: DeadLetter; summary: DeadLetterSummary }[]> {
  const found: DeadLetter[] = []
  try {
    for await (const letter of uniqueOf(inspection)) found.push(letter)
    const wanted = found.filter(isWanted)
    return await Promise.all(
      wanted.map(async (letter) => ({ letter, summary: await summaryOf(letter, inspection) })),
    )
  } finally {
    await putBackAll(found, inspection)
  }
}

/**
 * Returns a dead letter with its content: the received event, or the body of the message. It stays in the queue.
 * @throws Error if the queue does not have it
 */
export async function showLetter(inspection: Inspection, id: string): Promise<object> {
  return withLetter(inspection, id, async (letter) => {
    const { event, failure } = (await inboxItem(letter, inspection)) ?? {}
    return {
      ...(await summaryOf(letter, inspection)),
      ...(failure && { failed_at: failure.at }),
      ...(event === undefined ? { body: letter.body } : { event: JSON.parse(event) }),
    }
  })
}

/**
 * Removes a dead letter without handling it. If its work belongs to a tenant, the audit of that tenant records it first.
 * @throws Error if the queue does not have it
 */
export async function discardLetter(inspection: Inspection, id: string, operator: Operator): Promise<object> {
  return withLetter(inspection, id, async (letter) => {
    const summary = await summaryOf(letter, inspection)
    const { reason: _, ...after } = summary
    const { name } = inspection
    await auditLetters(operator, { name, action: 'discard', after, tenant: tenantOfLetter(letter, name) })
    await inspection.letters.remove(letter)
    return summary
  })
}

/** Writes the audit record of an operator's action on dead letters, if they belong to a tenant. */
export async function auditLetters(
  operator: Operator,
  {
    name,
    action,
    after,
    tenant,
  }: {
    name: string
    action: 'discard' | 'redrive'
    after: Record<string, unknown>
    tenant: string | undefined
  },
): Promise<void> {
  if (tenant === undefined) return
  const audited = { action: `dead_letters.${action}`, target: `dead_letters/${name}`, after }
  await operator.table.transact([auditOfOperator(operator, tenant, audited)])
}

/** The members of a message that name its tenant: of a delivery to a subscriber, or of an event of the bus. */
const TenantInBody = v.union([
  v.pipe(
    v.object({ tenant: v.string() }),
    v.transform(({ tenant }) => tenant),
  ),
  v.pipe(
    v.object({ detail: v.object({ data: v.object({ tenant_id: v.string() }) }) }),
    v.transform(({ detail }) => detail.data.tenant_id),
  ),
])

const groupedByTenant: readonly string[] = ['webhooks', 'imports', 'password_resets'] satisfies TaskQueue[]
const tenantInBody: readonly string[] = ['deliveries', 'published_events'] satisfies TaskQueue[]

/** Returns the tenant of a dead letter. The group of a mail is its user, and a batch of changes has no tenant. */
export function tenantOfLetter({ group, body }: DeadLetter, name: string): string | undefined {
  if (groupedByTenant.includes(name)) return group
  if (!tenantInBody.includes(name)) return undefined
  const { success, output } = v.safeParse(v.pipe(v.string(), v.parseJson(), TenantInBody), body)
  return success ? output : undefined
}

async function withLetter<T>(
  inspection: Inspection,
  id: string,
  work: (letter: DeadLetter) => Promise<T>,
): Promise<T> {
  const received: DeadLetter[] = []
  try {
    for await (const letter of uniqueOf(inspection)) {
      received.push(letter)
      if (letter.id === id) return await work(letter)
    }
    throw new Error(
      `the dead letters of ${inspection.name} have no message ${id}: another command may hold it`,
    )
  } finally {
    await putBackAll(received, inspection)
  }
}

function uniqueOf({ letters }: Inspection): AsyncGenerator<DeadLetter> {
  return distinctLetters({ receive: () => letters.receive(hiddenSeconds) })
}

/** A message that was removed, or that another command received since, cannot be put back. */
async function putBackAll(letters: readonly DeadLetter[], { letters: queue }: Inspection): Promise<void> {
  await Promise.allSettled(letters.map((letter) => queue.putBack(letter)))
}

async function summaryOf(letter: DeadLetter, inspection: Inspection): Promise<DeadLetterSummary> {
  const common = { message_id: letter.id, at: letter.sentAt.toISOString() }
  if (inspection.attempts === undefined) return { ...common, ...batchOf(letter) }
  const item = await inboxItem(letter, inspection)
  const { name, message } = item?.failure ?? {}
  const attempts = item?.failed_attempts ?? inspection.attempts
  const reason = message ?? name
  if (!item) return { ...common, attempts, reason }
  const { event_id, type } = JSON.parse(item.event)
  return { ...common, event_id, type, attempts, reason }
}

/** Returns the item of a received event, until it expires. */
async function inboxItem({ body }: DeadLetter, { name, table }: Inspection): Promise<InboxItem | undefined> {
  return name === 'webhooks' ? ((await table.get(inboxKeyOf(body))) as InboxItem | undefined) : undefined
}

/** The members of Lambda's message about a failed batch that say why it failed. */
const GivenUp = v.object({
  requestContext: v.object({ condition: v.string(), approximateInvokeCount: v.number() }),
  responseContext: v.optional(v.object({ functionError: v.optional(v.string()) })),
  ...FailedBatch.entries,
})

function batchOf({ body }: DeadLetter): Pick<DeadLetterSummary, 'attempts' | 'reason' | 'changes'> {
  const { success, output } = v.safeParse(
    v.pipe(v.string(), v.parseJson(), v.union([GivenUp, SetAsideChange])),
    body,
  )
  if (!success) return { attempts: undefined, reason: 'the message is neither of Lambda nor of the function' }
  if ('change' in output) return { attempts: 1, reason: output.reason, changes: 1 }
  const { condition, approximateInvokeCount: attempts } = output.requestContext
  const error = output.responseContext?.functionError
  const reason = error === undefined ? condition : `${condition}: ${error}`
  return { attempts, reason, changes: output.DDBStreamBatchInfo.batchSize }
}
