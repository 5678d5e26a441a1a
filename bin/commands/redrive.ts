import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { subscriptions } from '#functions/subscriptions.ts'
import { deadLettersOutput, queueOutput, streamFunctionOutput } from '#lib/function-entries.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import type { Report } from '../cli/output.ts'
import { deadLettersAt } from './dead-letters.ts'
import { type DeployedStack, outputOf } from './deployment.ts'
import { auditLetters, tenantOf } from './inspect-dead-letters.ts'
import { operatorOf } from './operator.ts'
import { invoking, type Redriven, redriveStream, type StreamSource } from './redrive-stream.ts'
import { tableChanges } from './table-changes.ts'

/** The functions that the table's stream feeds, with the changes that each receives. */
const streamed = new Map<string, StreamSource>(
  subscriptions.flatMap(({ name, source }) =>
    typeof source === 'object' && 'stream' in source ? [[name, source.stream]] : [],
  ),
)

/**
 * Returns messages to their queue, or lets a function handle failed batches of the table's stream again.
 * @throws Error with the reasons if messages of a function remain
 */
export async function redrive(
  stack: DeployedStack,
  name: string,
  report: Report = () => {},
): Promise<object> {
  const source = streamed.get(name)
  if (!source) return { name, messages: await redriveQueue(stack, name as TaskQueue, report) }
  const { faults, ...counts } = await redriveFunction(stack, name, source, report)
  if (faults.length > 0) throw new Error(`${counts.left} messages remain: ${faults.join('\n')}`)
  return { name, ...counts }
}

/**
 * Moves all messages back, after the audit of their tenants recorded it. Each is sent before it is deleted, so none is lost. A duplicate is handled once.
 * @returns how many messages were moved
 */
async function redriveQueue(stack: DeployedStack, queue: TaskQueue, report: Report): Promise<number> {
  const operator = await operatorOf(stack)
  const sqs = new SQSClient(stack.access)
  const from = deadLettersAt(outputOf(stack, deadLettersOutput(queue)), stack.access)
  const QueueUrl = outputOf(stack, queueOutput(queue))
  for (let moved = 0; ; ) {
    const letters = await from.receive()
    if (letters.length === 0) return moved
    const ofTenants = Map.groupBy(letters, (letter) => tenantOf(letter, queue))
    for (const [tenant, { length: messages }] of ofTenants)
      await auditLetters(operator, { name: queue, action: 'redrive', after: { messages }, tenant })
    for (const letter of letters) {
      const { body: MessageBody, group: MessageGroupId } = letter
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId }))
      await from.remove(letter)
      moved += 1
      report(`${moved} messages moved`)
    }
  }
}

function redriveFunction(
  stack: DeployedStack,
  name: string,
  source: StreamSource,
  report: Report,
): Promise<Redriven> {
  const invoke = invoking(outputOf(stack, streamFunctionOutput(name)), stack.access)
  let handled = 0
  return redriveStream(source, {
    letters: deadLettersAt(outputOf(stack, deadLettersOutput(name)), stack.access),
    changes: tableChanges(outputOf(stack, 'TableName'), stack.access),
    async handle(records) {
      await invoke(records)
      handled += records.length
      report(`${handled} changes handled`)
    },
    now: Date.now,
  })
}
