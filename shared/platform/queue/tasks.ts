import type { Settings } from '../../settings/register.ts'

/**
 * The queues of work that goes on after a commit, each with the attempts that a piece of it gets before the
 * dead-letter queue. A new one is one line.
 */
export const taskQueues = {
  webhooks: { attempts: (settings) => settings['webhooks.maxAttempts'] },
  /** With their growing pauses, eight take about as long as a code is valid: later there is nothing to send. */
  mail: { attempts: () => 8 },
  /** Events of the mail service; EventBridge puts them into the queue. */
  mail_events: { attempts: () => 5 },
  /** With their growing pauses, five take about as long as such a mail is expected. */
  password_resets: { attempts: () => 5 },
  imports: { attempts: () => 5 },
} as const satisfies Record<string, { attempts: (settings: Settings) => number }>

export type TaskQueue = keyof typeof taskQueues

/**
 * What a new item may carry as its attribute `task`: the table's stream puts the body into the queue once the item is
 * committed, at least once. The body is an id, never anything of a person.
 */
export interface Task {
  queue: TaskQueue
  body: string
}

/** The environment variable that holds the address of a queue. */
export function addressVariable(queue: TaskQueue): string {
  return `${queue.toUpperCase()}_QUEUE_URL`
}
