import { expect, test } from '@jest/globals'
import { runsAll } from '#test/support/runs.ts'
import { inCdkProcess } from './cdk-process.ts'
import { behindDomain, moreInEachArea } from './stage-settings.ts'
import { synthesize } from './synthesis.ts'

/** The short version of cfn-lint.campaign.test.ts. `npm test` looks at the stage with the most types of resources. */
const stages = runsAll ? ['prod', 'staging', 'dev', 'local'] : ['prod']
const changesOf = (stage: string) => (stage === 'local' ? {} : behindDomain)

test.each(stages)('the templates of the stage %s are valid', async (stage) => {
  const { stacks } = await synthesize(stage, { changes: changesOf(stage) })
  expect(await inCdkProcess('templateErrors', stacks)).toEqual([])
})

if (runsAll)
  test.each(stages)(
    'the templates of the stage %s stay valid with one more route in each area',
    async (stage) => {
      const { stacks } = await synthesize(stage, { changes: changesOf(stage), moreRoutes: moreInEachArea })
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
