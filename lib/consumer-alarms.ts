import type { StepEntry } from '#functions/steps.ts'
import type { Subscription } from '#functions/subscriptions.ts'
import { type AlarmDefinition, errorsInLog, type LogQuery, listExecutions } from './alarm-definition.ts'
import { pascalCase } from './function-entries.ts'
import * as measures from './measures.ts'

/**
 * Returns the alarms of a consumer. A failing consumer raises a ticket and the work that waits for it a page, so an
 * outage pages once.
 */
export function alarmsOfConsumer({ name, source, impact }: Subscription): AlarmDefinition[] {
  const id = pascalCase(name)
  const queries = errorsInLog(name)
  const failing = (after: string, commands: readonly string[] = []): AlarmDefinition => ({
    id: `${id}Failing`,
    severity: 'ticket',
    impact,
    act: `Find the error in the log and fix it. ${after}`,
    queries,
    commands,
    thresholds: [{ measure: measures.errorsOf(name), above: 0 }],
  })
  if (source === 'pool.token') {
    // Logins fail with this function, and the alarm of the login route pages.
    return [failing('If it began with a deployment, deploy the commit before it with -c rollout=bypass.')]
  }
  if (source === 'every.minute') {
    const notRunning: AlarmDefinition = {
      id: `${id}NotRunning`,
      severity: 'page',
      impact: `${impact} ${name} has not completed a run for ten minutes.`,
      act: 'Check that its schedule exists and is enabled, and find the error in the log of its function.',
      queries,
      commands: ['aws scheduler list-schedules'],
      thresholds: [{ measure: measures.completedRunsOf(name), below: 1, periods: 2 }],
    }
    return [failing('The next run, within a minute, handles the missed work.'), notRunning]
  }
  const ofQueue = 'queue' in source
  const isWebhooks = ofQueue && source.queue === 'webhooks'
  const isDaily = ofQueue && source.daily === true
  const redrive = `npx commerce dead-letters redrive ${ofQueue ? source.queue : name} --stack STACK`
  const first = ofQueue
    ? failing('Failed messages are kept in its dead-letter queue: redrive it afterwards.', [redrive])
    : failing(
        'Changes wait in the stream of the table for 24 hours and are then handled without further action.',
      )
  return [
    first,
    {
      id: `${id}DeadLettersPresent`,
      severity: 'ticket',
      impact: `${name} failed permanently to handle ${ofQueue ? 'messages' : 'changes'}. They are in its dead-letter queue.`,
      act: isWebhooks
        ? 'Find the events in the log. NOT_FOUND: the event names a refund or an order that is unknown or of another tenant, so ask its sender. Otherwise fix the error. Then redrive the queue. Duplicates are handled once.'
        : ofQueue
          ? 'Fix the error, then redrive the queue. Duplicates are handled once.'
          : 'Fix the error, then redrive the stream within 24 hours: the function handles the failed batches again. Older batches are rebuilt from the table. Duplicates are handled once.',
      queries: isWebhooks ? failedEvents(name) : queries,
      commands: [redrive],
      thresholds: [{ measure: measures.deadLettersOf(name), above: 0 }],
    },
    ...(isDaily ? alarmsOfDaily(first, name) : []),
    {
      ...first,
      id: `${id}Late`,
      severity: isDaily ? 'ticket' : 'page',
      ...(!ofQueue && lateConsumer(first)),
      impact: `${impact} ${ofQueue ? `Messages have been waiting for ${isDaily ? 'six hours' : '15 minutes'}.` : 'Changes have been waiting for a minute.'}`,
      thresholds: [
        ofQueue
          ? // Longer than all attempts at one message together. An older message waits because nothing is handled.
            { measure: measures.oldestMessageIn(source.queue), above: isDaily ? 6 * 3600 : 900 }
          : // A batch reported as failed is not an error of the function. Its changes wait, which this measure shows.
            { measure: measures.oldestChangeFor(name), above: 60_000 },
      ],
    },
  ]
}

/** Returns the response to a stream whose function does not fail, but is too slow. */
function lateConsumer({ act }: AlarmDefinition): Pick<AlarmDefinition, 'act' | 'commands'> {
  return {
    act: `${act} If nothing fails, reserve ten executions for each open shard of the stream in lib/stage.ts.`,
    commands: ['aws dynamodbstreams describe-stream --stream-arn ARN'],
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
      act: 'Check that its schedule exists and is enabled, and may send to the queue. On a new stage the alarm ends with the first run.',
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
