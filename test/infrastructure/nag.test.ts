import { describe, expect, test } from '@jest/globals'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { synthesise } from './synthesis.ts'

describe.each(['local', 'dev', 'prod'])('stage %s', (stage) => {
  test.each([
    ['AwsSolutions', AwsSolutionsChecks],
    ['Serverless', ServerlessChecks],
  ])('has no finding of %s left unexplained', async (_name, Checks) => {
    const { stack } = await synthesise(stage)
    expect(new Checks(stack).validateScope(stack).violations).toEqual([])
  })
})

test.each(['the stack', 'the stack within it'])(
  'a finding in %s that nobody explained is one',
  async (where) => {
    const { stack } = await synthesise('dev')
    new Queue(where === 'the stack' ? stack : stack.node.findChild('Watch'), 'Careless')
    const { violations } = new AwsSolutionsChecks(stack).validateScope(stack)
    expect(violations.map(({ ruleName }) => ruleName)).toContain('AwsSolutions-SQS4')
  },
)
