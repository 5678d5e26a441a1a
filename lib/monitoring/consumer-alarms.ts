import type { StepEntry } from '#functions/steps.ts'
import type { Subscription } from '#functions/subscriptions.ts'
import { maxDelaySeconds } from '#shared/subscribers/delivery-queue.ts'
import { pascalCase } from '../function-entries.ts'
import {
  type AlarmDefinition,
  duringFreeze,
  errorsInLog,
  type LogQuery,
  lastDeployment,
  listExecutions,
  rollback,
} from './alarm-definition.ts'
import * as measures from './measures.ts'

type QueueSource = Extract<Subscription['source'], { queue: unknown }>

/**
 * Returns the alarms of a consumer. A failing consumer raises a ticket and the work that waits for it a page, so an
 * outage pages once.
 */
export function alarmsOfConsumer(subscription: Subscription): AlarmDefinition[] {
  const { name, source } = subscription
  if (source === 'pool.token') {
    // Logins fail with this function, and the alarm of the login route pages.
    return [failing(subscription, lastDeployment, [rollback])]
  }
  if (source === 'operators') return [failing(subscription, 'Run the command again.')]
  if (source === 'every.minute') return alarmsOfMinute(subscription)
  if (source === 'probe') return alarmsOfProbe(subscription)
  if ('queue' in source) return alarmsOfQueue(subscription, source)
  const act =
    'Changes wait in the stream of the table for 24 hours and are then handled without further action.'
  const first = failing(subscription, act)
  return [
    first,
    {
      ...deadLettersPresent(subscription, 'changes', redriveOf(name)),
      act: 'Fix the error, then redrive the stream within 24 hours: the function handles the failed batches again. Older batches are rebuilt from the table. Duplicates are handled once.',
    },
    {
      ...first,
      id: `${pascalCase(name)}Late`,
      severity: 'page',
      act: `${first.act} If nothing fails, reserve ten executions for each open shard of the stream in lib/stage.ts.`,
      commands: ['aws dynamodbstreams describe-stream --stream-arn STREAM_ARN'],
      impact: `${subscription.impact} Changes have been waiting for a minute.`,
      // A batch reported as failed is not an error of the function. Its changes wait, which this measure shows.
      thresholds: [{ measure: measures.oldestChangeFor(name), above: 60_000 }],
    },
  ]
}

function failing(
  { name, impact }: Subscription,
  after: string,
  commands: readonly string[] = [],
): AlarmDefinition {
  return {
    id: `${pascalCase(name)}Failing`,
    severity: 'ticket',
    impact,
    act: `Find the error in the log and fix it. ${after}`,
    queries: errorsInLog(name),
    commands,
    thresholds: [{ measure: measures.errorsOf(name), above: 0 }],
  }
}

function alarmsOfMinute(subscription: Subscription): AlarmDefinition[] {
  const { name, impact } = subscription
  return [
    failing(subscription, 'The next run, within a minute, handles the missed work.'),
    {
      id: `${pascalCase(name)}NotRunning`,
      severity: 'page',
      impact: `${impact} ${name} has not completed a run for ten minutes.`,
      act: `${duringFreeze} check that its schedule exists and is enabled, and find the error in the log of its function.`,
      queries: errorsInLog(name),
      commands: ['aws scheduler list-schedules'],
      thresholds: [{ measure: measures.completedRunsOf(name), below: 1, periods: 2 }],
    },
  ]
}

function alarmsOfProbe(subscription: Subscription): AlarmDefinition[] {
  const group = `${pascalCase(subscription.name)}Log`
  const query =
    'fields @timestamp, fault.name, fault.message | filter code = "PROBE_FAILED" | sort @timestamp desc'
  return [
    failing(subscription, 'The next run is within a minute.'),
    {
      id: 'PublicAddressSilent',
      severity: 'page',
      impact:
        'The public address of the API does not answer as it should: callers may not reach the service.',
      act: `${duringFreeze} find in the log what failed. ENOTFOUND: the DNS record. CERT_… or ERR_TLS_…: the certificate. TimeoutError or a status of 500 and above: the API. 403 of health: the web ACL or the domain’s mapping. 401 or 403 of v1/orders: the API key of the probe. Without lines in the log, check that the schedule exists and is enabled. On a new stage the alarm ends once the DNS record leads to the API.`,
      queries: [{ group, query }],
      commands: ['aws scheduler list-schedules'],
      // Metrics arrive up to a minute or two late, so fewer than five are expected at any time.
      thresholds: [{ measure: measures.successfulProbes, below: 3 }],
    },
  ]
}

function alarmsOfQueue(subscription: Subscription, source: QueueSource): AlarmDefinition[] {
  const { name, impact } = subscription
  const { queue, daily = false } = source
  const redrive = redriveOf(queue)
  const lateAfter = daily ? 6 * 3600 : 900 + (queue === 'deliveries' ? maxDelaySeconds : 0)
  const after = 'Failed messages are kept in its dead-letter queue: redrive it afterwards.'
  const first = failing(subscription, after, [redrive])
  return [
    first,
    {
      ...deadLettersPresent(subscription, 'messages', redrive),
      ...(queue === 'webhooks' && {
        act: 'Find the events in the log. NOT_FOUND: the event names a refund or an order that is unknown or of another tenant, so ask its sender. Otherwise fix the error. Then redrive the queue. Duplicates are handled once.',
        queries: failedEvents(name),
      }),
    },
    ...(daily ? alarmsOfDaily(first, name) : []),
    {
      ...first,
      id: `${pascalCase(name)}Late`,
      severity: daily ? 'ticket' : 'page',
      act: `${duringFreeze} find the error in the log and fix it. ${after}`,
      impact: `${impact} Messages have been waiting for ${daily ? 'six hours' : `${lateAfter / 60} minutes`}.`,
      // Longer than all attempts at one message together, and than the delay before a retry to a subscriber. An older
      // message waits because nothing is handled.
      thresholds: [{ measure: measures.oldestMessageIn(queue), above: lateAfter }],
    },
  ]
}

function redriveOf(name: string): string {
  return `npx commerce dead-letters redrive ${name} --stack STACK`
}

/** Returns the alarm of a dead-letter queue that holds messages, or batches of changes of the table. */
function deadLettersPresent(
  { name }: Subscription,
  failed: 'messages' | 'changes',
  redrive: string,
): AlarmDefinition {
  return {
    id: `${pascalCase(name)}DeadLettersPresent`,
    severity: 'ticket',
    impact: `${name} failed permanently to handle ${failed}. They are in its dead-letter queue.`,
    act: 'Fix the error, then redrive the queue. Duplicates are handled once.',
    queries: errorsInLog(name),
    commands: [redrive],
    thresholds: [{ measure: measures.deadLettersOf(name), above: 0 }],
  }
}

/** Returns the query for the received events that a function could not handle. */
function failedEvents(functionName: string): LogQuery[] {
  const query =
    'fields @timestamp, event_id, event_type, error_code, fault.name | filter code = "EVENT_FAILED" | sort @timestamp desc'
  return [{ group: `${pascalCase(functionName)}Log`, query }]
}

/** Returns the alarm of a schedule that sends no message any more. */
function alarmsOfDaily(failing: AlarmDefinition, name: string): AlarmDefinition[] {
  return [
    {
      ...failing,
      id: `${pascalCase(name)}NotRunning`,
      impact: `${failing.impact} ${name} has not run for 26 hours.`,
      act: `${duringFreeze} check that its schedule exists and is enabled, and may send to the queue. On a new stage the alarm ends with the first run.`,
      commands: ['aws scheduler list-schedules'],
      thresholds: [{ measure: measures.completedRunsOf(name, measures.hour), below: 1, periods: 26 }],
    },
  ]
}

export function alarmOfStep({ name, impact }: StepEntry): AlarmDefinition {
  return {
    id: `${pascalCase(name)}Failing`,
    severity: 'ticket',
    impact,
    act: 'Find the error in the log and fix it. A file whose import failed can be sent again: no row is imported twice.',
    queries: errorsInLog(name),
    commands: [`${listExecutions} FAILED`],
    // A step is retried, so one failure loses nothing.
    thresholds: [{ measure: measures.errorsOf(name), above: 2 }],
  }
}
