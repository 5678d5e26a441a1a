import { CfnOutput, Duration } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import { type TaskQueue, taskQueues } from '#shared/platform/events/tasks.ts'
import type { Settings } from '#shared/settings/register.ts'
import { deadLetterQueue, encryptionOf } from './dead-letters.ts'
import { pascalCase } from './service-function.ts'

/** A work queue and its dead-letter queue. The settings define the number of attempts. */
export interface WorkQueue {
  queue: Queue
  deadLetters: Queue
}

export type WorkQueues = Readonly<Record<TaskQueue, WorkQueue>>

/** Returns the stack output that holds the address of a queue. */
export function queueOutput(queue: TaskQueue): string {
  return `${pascalCase(queue)}QueueUrl`
}

export function deadLettersOutput(queue: TaskQueue): string {
  return `${pascalCase(queue)}DeadLettersUrl`
}

/** Creates a queue for each kind of task that runs after a commit. */
export function workQueues(scope: Construct, settings: Settings, key?: Key): WorkQueues {
  const made = Object.entries(taskQueues).map(([name, { attempts }]) => {
    const deadLetters = deadLetterQueue(scope, `${pascalCase(name)}DeadLetters`, key)
    const queue = new Queue(scope, pascalCase(name), {
      ...encryptionOf(key),
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      // Six times the timeout of its function, as AWS recommends.
      visibilityTimeout: Duration.seconds(180),
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: attempts(settings) },
    })
    new CfnOutput(scope, queueOutput(name as TaskQueue), { value: queue.queueUrl })
    new CfnOutput(scope, deadLettersOutput(name as TaskQueue), { value: deadLetters.queueUrl })
    return [name, { queue, deadLetters }]
  })
  return Object.fromEntries(made)
}
