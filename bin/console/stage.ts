import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { routes } from '#functions/routes.ts'
import { deadLetterNames } from '#functions/subscriptions.ts'
import { queueOutput } from '#lib/functions/function-names.ts'
import { hourMilliseconds } from '#shared/platform/base/clock.ts'
import { type TaskQueue, taskQueues } from '#shared/platform/events/outbox.ts'
import { type Reach, reachOf } from '../commands/ask/reach.ts'
import type { LogLine } from '../commands/ask/search-logs.ts'
import type { DeployedStack } from '../commands/stack/deployment.ts'
import type { ConsoleEntry } from './activity.ts'
import { withCommands } from './commands.ts'
import {
  type KindOfTable,
  readAtOnce,
  readableOfTable,
  readLetters,
  readTable,
  readTimeline,
} from './readings.ts'
import type { Question, Reading, Source } from './source.ts'

/**
 * Returns a stage as the console sees it, with the permissions of the caller. It is only read, and only when a view asks: one
 * question after the other, so a page that is opened often costs no more at a time than one command. A question that nobody waits
 * for when its turn comes is left out.
 */
export function stageSource(
  stack: string,
  deployed: DeployedStack,
  reach = reachOf(stack, deployed),
): Source {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (work: () => Promise<Reading>, abandoned?: AbortSignal): Promise<Reading> => {
    const next = last.then(() => {
      abandoned?.throwIfAborted()
      return work()
    })
    last = next.catch(() => {})
    return next
  }
  const answer = async (question: Question): Promise<Reading> => {
    const { kind } = question
    if (kind === 'request') return readRequests(reach, question)
    if (kind === 'queue') return readQueues(reach, deployed)
    return readTable(reach, { ...question, kind: kind as KindOfTable })
  }
  const shown = (reading: Reading): Reading => ({
    ...reading,
    entries: reading.entries.map((entry) => withCommands(entry, stack)),
  })
  return {
    stack,
    readable: { ...readableOfTable, request: 'always', queue: 'always' },
    read: (question, abandoned) => inTurn(async () => shown(await answer(question)), abandoned),
    find: (what, range, abandoned) => inTurn(() => readTimeline(reach, what, range), abandoned),
    actions: {},
  }
}

/** By operation. The log names no path, as paths hold ids. */
const pathsOf = new Map(routes.map(({ route }) => [route.operation, `${route.path}`]))
const methodOf = new Map(routes.map(({ route }) => [route.operation, route.method]))

/**
 * Reads the lines of requests. The log is searched by the rarest filter, and its lines are filtered by the others: a search by
 * text reads all lines of the time, whatever it finds.
 */
async function readRequests(reach: Reach, question: Question): Promise<Reading> {
  const { to = Date.now(), tenant, code, correlation, status } = question
  const { from = to - hourMilliseconds } = question
  const search = { from, to, anyOf: [correlation ?? code ?? tenant ?? 'request'], limit: readAtOnce }
  const { lines, calls, complete } = await reach.searchLogs(search)
  const entries = lines.filter(({ fields }) => fields.message === 'request').map(requestEntry)
  const matching = entries.filter(
    (entry) =>
      (tenant === undefined || entry.tenant === tenant) &&
      (code === undefined || entry.error_code === code) &&
      (status === undefined || String(entry.status).startsWith(status.replace('xx', ''))),
  )
  return { entries: matching, calls, units: 0, complete }
}

function requestEntry({ at, fields }: LogLine): ConsoleEntry {
  const { operation, correlation_id, tenant, status, duration_milliseconds, error_code } = fields
  const name = String(operation)
  return {
    kind: 'request',
    id: `${correlation_id}@${at}`,
    correlation_id: String(correlation_id),
    ...{ at, tenant, status, milliseconds: duration_milliseconds, error_code: error_code ?? null },
    ...{ method: methodOf.get(name) ?? '', path: pathsOf.get(name) ?? name, fields },
  }
}

/** Reads the numbers of messages and the dead letters of all queues. */
async function readQueues(reach: Reach, stack: DeployedStack): Promise<Reading> {
  const sqs = new SQSClient(stack.access)
  const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const
  let calls = 0
  const counts = async (name: string) => {
    const QueueUrl = name in taskQueues ? stack.outputs[queueOutput(name as TaskQueue)] : undefined
    if (QueueUrl === undefined) return {}
    calls += 1
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] })
    const { Attributes: found } = await sqs.send(command)
    const [waiting, running] = AttributeNames.map((attribute) => Number(found?.[attribute]))
    return { waiting, in_progress: running }
  }
  const numbers = await Promise.all(deadLetterNames.map(counts))
  const { byQueue, units, complete, ...letters } = await readLetters(reach)
  const entries = deadLetterNames.map((id, at) => ({
    ...{ kind: 'queue' as const, id, ...numbers[at], dead_letters: byQueue.get(id) ?? [] },
  }))
  return { entries, units, complete, calls: calls + letters.calls }
}
