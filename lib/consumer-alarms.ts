import type { StepEntry } from '#functions/steps.ts'
import type { Subscription } from '#functions/subscriptions.ts'
import { adviceOnConsumer, adviceOnStep } from './alarm-advice.ts'
import type { AlarmDefinition, Threshold } from './alarm-types.ts'
import { pascalCase } from './service-function.ts'

/** Longer than all attempts at one message together. An older message waits because nothing is handled. */
const oldestMessageSeconds = 900

/**
 * Returns the alarms of a consumer. A failing consumer raises a ticket and the work that waits for it a page, so an
 * outage pages once.
 */
export function alarmsOfConsumer(subscription: Subscription): AlarmDefinition[] {
  const { name, source, breaks } = subscription
  const id = pascalCase(name)
  const advice = adviceOnConsumer(subscription)
  const failing: AlarmDefinition = {
    id: `${id}Failing`,
    severity: 'ticket',
    breaks,
    ...advice.failing,
    threshold: { measure: { of: 'errors of the function', name }, above: 0, periods: 1 },
  }
  // Logins fail with this function, and the alarm of the login route pages.
  if (source === 'pool.token') return [failing]
  if (source === 'every.minute') {
    const notRunning: AlarmDefinition = {
      id: `${id}NotRunning`,
      severity: 'page',
      breaks: `${breaks} ${name} has not completed a run for ten minutes.`,
      ...advice.notRunning,
      threshold: { measure: { of: 'completed runs', name }, below: 1, periods: 2 },
    }
    return [failing, notRunning]
  }
  const givenUp: AlarmDefinition = {
    id: `${id}DeadLettersPresent`,
    severity: 'ticket',
    breaks: `${name} gave up on something.`,
    ...advice.givenUp,
    threshold: { measure: { of: 'messages in the dead-letter queue', name }, above: 0, periods: 1 },
  }
  const late: AlarmDefinition = {
    id: `${id}Late`,
    severity: 'page',
    ...advice.failing,
    ...('queue' in source
      ? {
          breaks: `${breaks} Messages have been waiting for a quarter of an hour.`,
          threshold: {
            measure: { of: 'age of the oldest message', queue: source.queue },
            above: oldestMessageSeconds,
            periods: 1,
          },
        }
      : {
          // A batch reported as failed is not an error of the function. Its changes wait, which this measure shows.
          breaks: `${breaks} Changes have been waiting for more than a minute.`,
          threshold: { measure: { of: 'age of the oldest change', name }, above: 60_000, periods: 1 },
        }),
  }
  return [failing, givenUp, late]
}

export function alarmOfStep(entry: StepEntry): AlarmDefinition {
  const { name, impact: breaks } = entry
  // A step is retried, so one failure loses nothing.
  const threshold: Threshold = { measure: { of: 'errors of the function', name }, above: 2, periods: 1 }
  return { id: `${pascalCase(name)}Failing`, severity: 'ticket', breaks, ...adviceOnStep(entry), threshold }
}
