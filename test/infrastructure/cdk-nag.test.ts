import { expect, test } from '@jest/globals'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { stackOfStage } from './stage-stack.ts'

test.each(['local', 'dev', 'prod'])(
  'every finding on the stage %s has a reason',
  async (stage) => {
    const stack = await stackOfStage(stage)
    const findings = [AwsSolutionsChecks, ServerlessChecks].flatMap(
      (Checks) => new Checks(stack).validateScope(stack).violations,
    )
    expect(findings).toEqual([])
  },
  120_000,
)

test.each(['the stack', 'a nested stack'])('a finding in %s without a reason is reported', async (where) => {
  const stack = await stackOfStage('dev')
  new Queue(where === 'the stack' ? stack : stack.node.findChild('Watch'), 'Careless')
  const { violations } = new AwsSolutionsChecks(stack).validateScope(stack)
  expect(violations.map(({ ruleName }) => ruleName)).toContain('AwsSolutions-SQS4')
})
