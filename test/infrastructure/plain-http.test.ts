import { expect, test } from '@jest/globals'
import { localValues } from '#bin/build/local-values.ts'
import { stageNamed } from '#lib/stage.ts'
import { publishedProfile } from './published-profile.ts'

const published = await publishedProfile()
const [issuer] = published['auth.issuers'] as object[]
const provider = published['refunds.provider'] as object

const plain: [string, unknown][] = [
  ['refunds.provider', { ...provider, endpoint: 'http://api.payments.io' }],
  ['refunds.provider', { ...provider, endpoint: 'HTTP://api.payments.io' }],
  ['auth.issuers', [{ ...issuer, issuer: 'http://login.payments.io' }]],
  ['auth.issuers', [{ ...issuer, keys: { jwks_uri: 'http://login.payments.io/keys' } }]],
]

test.each(plain.flatMap((one) => ['dev', 'prod'].map((stage) => [...one, stage] as const)))(
  'plain http in %s, %j, is rejected on the stage %s',
  (key, value, stage) => {
    expect(localValues({ ...published, [key]: value }, stageNamed(stage))).toEqual([
      expect.stringMatching(new RegExp(`^  ${key}: .* is not encrypted; stage ${stage} needs https\\.$`)),
    ])
  },
)

test('a profile with https is accepted', () => {
  expect(localValues(published, stageNamed('prod'))).toEqual([])
})
