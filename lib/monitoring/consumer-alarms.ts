import type { Subscription } from '#functions/subscriptions.ts'
import { maxDelaySeconds } from '#shared/deliveries/schedule-delivery.ts'
import { pascalCase } from '../functions/function-names.ts'
import { type AlarmDefinition, duringFreeze, errorsInLog, type LogQuery } from './alarm-definition.ts'
import * as measures from './measures.ts'

type QueueSource = Extract<Subscription['source'], { queue: unknown }>

/**
 * Returns the alarms of a function without a route: of work that waits too long, that failed for good, or that does not run.
 * A single error has no alarm, because the work is retried; the graph of errors shows it.
 */
export function alarmsOfConsumer(subscription: Subscription): AlarmDefinition[] {
  const { name, source } = subscription
  // The alarm of the logins counts the failures of this one.
  if (source === 'pool.token') return []
  // An operator sees the error of the command.
  if (source === 'operators') return []
  if (source === 'every.minute') return [notRunning(subscription)]
  if (source === 'probe') return [addressSilent(subscription)]
  if ('queue' in source) return alarmsOfQueue(subscription, source)
  return [
    {
      ...deadLettersPresent(subscription, 'changes', name),
      act: 'Fix the error, then redrive the stream within 24 hours: the function handles the failed batches again. Older batches are rebuilt from the table. Duplicates are handled once.',
    },
    {
      id: `${pascalCase(name)}Late`,
      impact: `${subscription.impact} Changes have been waiting for a minute.`,
      act: 'Find the error in the log and fix it. Changes wait in the stream of the table for 24 hours and are then handled without further action. If nothing fails, reserve ten executions for each open shard of the stream in lib/stage.ts.',
      queries: errorsInLog(name),
      commands: ['aws dynamodbstreams describe-stream --stream-arn STREAM_ARN'],
      // A batch reported as failed is not an error of the function. Its changes wait, which this measure shows.
      threshold: { measure: measures.oldestChangeFor(name), above: 60_000 },
    },
  ]
}

function notRunning({ name, impact }: Subscription): AlarmDefinition {
  return {
    id: `${pascalCase(name)}NotRunning`,
    impact: `${impact} ${name} has not completed a run for ten minutes.`,
    act: `${duringFreeze} check that its schedule exists and is enabled, and find the error in the log of its function.`,
    queries: errorsInLog(name),
    commands: ['aws scheduler list-schedules'],
    threshold: { measure: measures.completedRunsOf(name), below: 1, periods: 2 },
  }
}

function addressSilent({ name }: Subscription): AlarmDefinition {
  const group = `${pascalCase(name)}Log`
  const query =
    'fields @timestamp, fault.name, fault.message | filter code = "PROBE_FAILED" | sort @timestamp desc'
  return {
    id: 'PublicAddressSilent',
    impact: 'The public address of the API does not answer as it should: callers may not reach the service.',
    act: `${duringFreeze} find in the log what failed. ENOTFOUND: the DNS record. CERT_… or ERR_TLS_…: the certificate. TimeoutError or a status of 500 and above: the API. 403 of health: the web ACL or the domain’s mapping. 401 or 403 of v1/orders: the API key of the probe. Without lines in the log, check that the schedule exists and is enabled. On a new stage the alarm ends once the DNS record leads to the API.`,
    queries: [{ group, query }],
    commands: ['aws scheduler list-schedules'],
    // Metrics arrive up to a minute or two late, so fewer than five are expected at any time.
    threshold: { measure: measures.successfulProbes, below: 3 },
  }
}

function alarmsOfQueue(subscription: Subscription, source: QueueSource): AlarmDefinition[] {
  const { name, impact } = subscription
  const { queue, daily = false } = source
  const lateAfter = daily ? 6 * 3600 : 900 + (queue === 'deliveries' ? maxDelaySeconds : 0)
  return [
    {
      ...deadLettersPresent(subscription, 'messages', queue),
      ...(queue === 'deliveries' && {
        act: 'Fix the error, then redrive the queue. Deliveries of a subscriber whose secret needs a lost version of SubscribersSecret end here, too: restore that version first. Endpoints drop what they have received.',
      }),
      ...(queue === 'webhooks' && {
        act: 'Find the events in the log. NOT_FOUND: the event names a refund or an order that is unknown or of another tenant, so ask its sender. Otherwise fix the error. Then redrive the queue. Duplicates are handled once.',
        queries: failedEvents(name),
      }),
    },
    ...(daily ? [dailyNotRunning(subscription)] : []),
    {
      id: `${pascalCase(name)}Late`,
      impact: `${impact} Messages have been waiting for ${daily ? 'six hours' : `${lateAfter / 60} minutes`}.`,
      act: `${duringFreeze} find the error in the log and fix it. Failed messages are kept in its dead-letter queue: redrive it afterwards.`,
      queries: errorsInLog(name),
      commands: [failedOf(queue)],
      fixes: [redriveOf(queue)],
      // Longer than all attempts at one message together, and than the delay before a retry to a subscriber. An older
      // message waits because nothing is handled.
      threshold: { measure: measures.oldestMessageIn(queue), above: lateAfter },
    },
  ]
}

function failedOf(name: string): string {
  return `npx commerce dead-letters list ${name} --stack STACK`
}

function redriveOf(name: string): string {
  return `npx commerce dead-letters redrive ${name} --stack STACK`
}

/** Returns the alarm of a dead-letter queue that holds messages, or batches of changes of the table. */
function deadLettersPresent(
  { name }: Subscription,
  failed: 'messages' | 'changes',
  queue: string,
): AlarmDefinition {
  return {
    id: `${pascalCase(name)}DeadLettersPresent`,
    impact: `${name} failed permanently to handle ${failed}. They are in its dead-letter queue.`,
    act: 'Fix the error, then redrive the queue. Duplicates are handled once.',
    queries: errorsInLog(name),
    commands: [failedOf(queue)],
    fixes: [redriveOf(queue)],
    threshold: { measure: measures.deadLettersOf(name), above: 0 },
  }
}

/** Returns the query for the received events that a function could not handle. */
function failedEvents(functionName: string): LogQuery[] {
  const query =
    'fields @timestamp, event_id, event_type, error_code, fault.name | filter code = "EVENT_FAILED" | sort @timestamp desc'
  return [{ group: `${pascalCase(functionName)}Log`, query }]
}

/** Returns the alarm of a schedule that sends no message any more. */
function dailyNotRunning({ name, impact }: Subscription): AlarmDefinition {
  return {
    id: `${pascalCase(name)}NotRunning`,
    impact: `${impact} ${name} has not run for 26 hours.`,
    act: `${duringFreeze} check that its schedule exists and is enabled, and may send to the queue. On a new stage the alarm ends with the first run.`,
    queries: errorsInLog(name),
    commands: ['aws scheduler list-schedules'],
    threshold: { measure: measures.completedRunsOf(name, measures.hour), below: 1, periods: 26 },
  }
}
