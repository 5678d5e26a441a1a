import { describe, expect, test } from '@jest/globals'
import { deploymentFlags } from '#bin/build/deployment-flags.ts'
import { StageError } from '#lib/stage.ts'
import { naming } from '#test/support/naming.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

const read = (flags: Record<string, unknown>) => deploymentFlags((name) => flags[name])
const complete = { stage: 'prod', release: 'v1', settings: 'p.json' }

describe('the flags of a deployment', () => {
  test('name a stage, its profile and a release', () => {
    const { stage, ...flags } = read(complete)
    expect([stage.name, flags]).toEqual([
      'prod',
      { profile: 'p.json', release: 'v1', bypassesRollout: false, freeze: undefined },
    ])
    expect(read({ ...complete, rollout: 'bypass', freeze: 'all' })).toMatchObject({
      bypassesRollout: true,
      freeze: 'all',
    })
  })

  test('need only a stage for the local one, which has a profile', () => {
    expect(read({ stage: 'local' })).toMatchObject({ profile: expect.stringMatching(/local\.json$/) })
  })

  test.each<[string, Record<string, unknown>, string[]]>([
    ['no stage', {}, ['no stage given … -c stage=NAME']],
    ['an unknown stage', { stage: 'nowhere' }, ['nowhere … dev, staging, prod']],
    ['no release', { ...complete, release: undefined }, ['prod … -c release=ID']],
    ['a release that is none', { ...complete, release: 'a b' }, ['a b']],
    ['no profile', { ...complete, settings: undefined }, ['prod … -c settings=FILE']],
    ['an unknown rollout', { ...complete, rollout: 'fast' }, ['rollout=fast … bypass']],
    ['an unknown freeze', { ...complete, freeze: 'reads' }, ['freeze=reads … writes or all']],
    [
      'several problems, all of which are named',
      { stage: 'prod', rollout: 'fast', freeze: 'reads' },
      ['-c release=ID', '-c settings=FILE', 'rollout=fast', 'freeze=reads'],
    ],
  ])('with %s are refused', (_, flags, problems) => {
    const thrown = thrownBy(() => read(flags))
    expect(thrown).toBeInstanceOf(StageError)
    expect((thrown as Error).message.split('\n')).toEqual(
      problems.map((problem) => expect.stringMatching(naming(problem))),
    )
  })
})
