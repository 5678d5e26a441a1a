import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import type { DeployedStack } from '../../deployment.ts'
import { redriveFunction, redriveQueue, streamed } from '../../redrive.ts'

/** The task queues and the functions fed by the table's stream. Each has a dead-letter queue. */
export const queueNames: readonly string[] = [...Object.keys(taskQueues), ...streamed.keys()]

/** Returns dead letters to their queue or function. @throws Error for an unknown name */
export async function redrive(stack: DeployedStack, name: string): Promise<void> {
  const source = streamed.get(name)
  if (source) await redriveFunction(stack, name, source)
  else if (name in taskQueues) await redriveQueue(stack, name as TaskQueue)
  else throw new Error(`there is no queue ${name}`)
}
