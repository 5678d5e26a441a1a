import { CfnOutput, Duration } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import { type TaskQueue, taskQueues } from '#shared/platform/queue/tasks.ts'
import type { Settings } from '#shared/settings/register.ts'
import { deadLetterQueue, encryptionOf } from './dead-letters.ts'
import { pascalCase } from './service-function.ts'

/** A queue of work, and the one for what was tried as often as the settings say. */
export interface WorkQueue {
  queue: Queue
  deadLetters: Queue
}

export type WorkQueues = Readonly<Record<TaskQueue, WorkQueue>>

/** The outputs of the stack that tell where a queue and its dead letters are. */
export function queueOutput(queue: TaskQueue): string {
  return `${pascalCase(queue)}QueueUrl`
}

export function deadLettersOutput(queue: TaskQueue): string {
  return `${pascalCase(queue)}DeadLettersUrl`
}

/** A queue for each kind of work that goes on after a commit. */
export function workQueues(scope: Construct, settings: Settings, key?: Key): WorkQueues {
  const made = Object.entries(taskQueues).map(([name, { attempts }]) => {
    const deadLetters = deadLetterQueue(scope, `${pascalCase(name)}DeadLetters`, key)
    const queue = new Queue(scope, pascalCase(name), {
      ...encryptionOf(key),
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      // Six times as long as its function may take, as AWS advises.
      visibilityTimeout: Duration.seconds(180),
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: attempts(settings) },
    })
    new CfnOutput(scope, queueOutput(name as TaskQueue), { value: queue.queueUrl })
    new CfnOutput(scope, deadLettersOutput(name as TaskQueue), { value: deadLetters.queueUrl })
    return [name, { queue, deadLetters }]
  })
  return Object.fromEntries(made)
}
