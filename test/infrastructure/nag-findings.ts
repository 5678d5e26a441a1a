import { Template } from 'aws-cdk-lib/assertions'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { stackOfStage } from './stage-stack.ts'

/**
 * Returns the findings of both packs of rules on a stage that have no reason.
 * @param addQueueTo adds an insecure queue to the stack, or to a nested stack with this name
 */
export async function nagFindings(stage: string, addQueueTo?: 'the stack' | 'Watch') {
  const stack = await stackOfStage(stage)
  if (addQueueTo) new Queue(addQueueTo === 'the stack' ? stack : stack.node.findChild(addQueueTo), 'Careless')
  // The rules read references as synthesis has resolved them: across stacks they are parameters.
  Template.fromStack(stack)
  return [AwsSolutionsChecks, ServerlessChecks].flatMap(
    (Checks) => new Checks(stack).validateScope(stack).violations,
  )
}
