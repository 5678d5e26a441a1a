import type { Settings } from '../../settings/register.ts'

/**
 * The queues for work after a commit, each with the number of attempts before the dead-letter queue. A new queue is one
 * line.
 */
export const taskQueues = {
  webhooks: { attempts: (settings) => settings['webhooks.maxAttempts'] },
  /** With growing pauses, eight attempts take about as long as a code is valid; a later mail would be useless. */
  mail: { attempts: () => 8 },
  /** Events of the mail service, which EventBridge sends to the queue. */
  mail_events: { attempts: () => 5 },
  /** With growing pauses, five attempts take about as long as a user expects such a mail. */
  password_resets: { attempts: () => 5 },
  imports: { attempts: () => 5 },
} as const satisfies Record<string, { attempts: (settings: Settings) => number }>

export type TaskQueue = keyof typeof taskQueues

/**
 * The optional attribute `task` of a new item. After the commit, the table's stream sends the body to the queue, at
 * least once. The body is an id, never personal data.
 */
export interface Task {
  queue: TaskQueue
  body: string
}

/** Returns the name of the environment variable that holds the URL of a queue. */
export function queueUrlVariable(queue: TaskQueue): string {
  return `${queue.toUpperCase()}_QUEUE_URL`
}
