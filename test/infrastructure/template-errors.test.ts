import { expect, test } from '@jest/globals'
import { inCdkProcess } from './cdk-process.ts'
import { behindDomain, moreInEachArea } from './stage-settings.ts'
import { synthesize } from './synthesis.ts'

/** The short version of cfn-lint.campaign.test.ts. */
// The stage with the most types of resources is the first, so that the rules are loaded once.
test.each(['prod', 'dev'])('the templates of the stage %s are valid', async (stage) => {
  const { stacks } = await synthesize(stage, { changes: behindDomain })
  expect(await inCdkProcess('templateErrors', stacks)).toEqual([])
})

test.each(process.env.TEST_ALL === '1' ? ['prod', 'staging', 'dev', 'local'] : ['prod', 'local'])(
  'the templates of the stage %s stay valid with one more route in each area',
  async (stage) => {
    const changes = stage === 'local' ? {} : behindDomain
    const { stacks } = await synthesize(stage, { changes, moreRoutes: moreInEachArea })
    expect(Object.keys(stacks)).toEqual(expect.arrayContaining(['OrdersArea', 'HealthArea']))
    expect(await inCdkProcess('templateErrors', stacks)).toEqual([])
  },
)

test('an invalid template has an error', async () => {
  const Resources = { Queue: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 'long' } } }
  expect(await inCdkProcess('templateErrors', { wrong: { Resources } })).toEqual([
    expect.stringMatching(/^\S+ wrong: VisibilityTimeout/),
  ])
})
