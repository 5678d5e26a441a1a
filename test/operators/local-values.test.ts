import { describe, expect, test } from '@jest/globals'
import { exampleValues, localValues } from '#bin/build/local-values.ts'
import { stageNamed } from '#lib/stage.ts'
import { naming } from '#test/support/naming.ts'

const prod = stageNamed('prod')

test.each([
  'no-reply@example.com',
  'https://issuer.example.org/keys',
  'shop.example',
  'https://pay.test:8443',
  'mailer@acme.invalid',
])('%s is rejected as an example', (value) => {
  expect(localValues({ 'a.setting': { value } }, prod)).toEqual([
    expect.stringMatching(naming(`a.setting … ${value} … prod`)),
  ])
})

test.each(['localhost', 'http://localhost:5173', 'http://127.0.0.1:4577', 'https://issuer.localhost'])(
  '%s is rejected as an address of this machine',
  (value) => {
    expect(localValues({ 'a.setting': [value] }, prod)).toEqual([
      expect.stringMatching(naming(`a.setting … ${value} … prod`)),
    ])
  },
)

test.each([
  'no-reply@mail.acme.cloud',
  'https://example.acme.cloud',
  'https://api.stripe.com',
  'VALIDATION.body.too_large',
  'example.community',
])('%s is accepted', (value) => {
  expect(localValues({ 'a.setting': value }, prod)).toEqual([])
})

test.each<[string, unknown]>([
  ['111122223333', { account: '111122223333' }],
  ['acme.cloud', 'https://acme.cloud'],
  ['shop.acme.cloud', ['https://shop.acme.cloud:8443/keys']],
  ['no-reply@mail.acme.cloud', { from: 'no-reply@mail.acme.cloud' }],
  ['111122223333', [{ vaultArn: 'arn:aws:backup:eu-west-1:111122223333:backup-vault:copies' }]],
])('%s of an example is not deployed', (name, value) => {
  expect(exampleValues({ 'a.setting': value })).toEqual([
    expect.stringMatching(naming(`a.setting … ${name} … example`)),
  ])
})

test.each(['not-acme.cloud', 'https://acme.cloud.shop.eu', '2111122223333', 'acme'])(
  '%s is of no example',
  (value) => {
    expect(exampleValues({ 'a.setting': value })).toEqual([])
  },
)

test.each(['acct_', 'acct_shop_', ''])('the account prefix %j is reported', (prefix) => {
  expect(localValues({ 'refunds.account': { prefix } }, prod)).toEqual([
    expect.stringMatching(naming('refunds.account … prefix … prod')),
  ])
})

test.each([
  ['refunds.provider', { endpoint: 'http://api.payments.io' }],
  ['refunds.provider', { endpoint: 'HTTP://api.payments.io' }],
  ['auth.issuers', [{ issuer: 'http://login.payments.io' }]],
  ['auth.issuers', [{ keys: { jwks_uri: 'http://login.payments.io/keys' } }]],
])('%s: %j is rejected, because it is not encrypted', (key, value) => {
  for (const stage of ['dev', 'prod'])
    expect(localValues({ [key]: value }, stageNamed(stage))).toEqual([
      expect.stringMatching(naming(`${key} … ${stage} … https`)),
    ])
})

test('pages of this machine may call a stage without data of customers', () => {
  const profile = { 'cors.allowedOrigins': ['http://localhost:5173'] }
  expect([localValues(profile, stageNamed('dev')), localValues(profile, prod).length]).toEqual([[], 1])
})

test('subscribers on the machine itself are reported', () => {
  expect(localValues({ 'deliveries.addresses': 'public_and_loopback' }, prod)).toEqual([
    '  deliveries.addresses: subscribers on the machine itself are for the local run; stage prod needs public.',
  ])
})

test('a missing account and region are reported', () => {
  expect(localValues({ 'aws.environment': null }, prod)).toEqual([
    '  aws.environment: stage prod needs the account and the region of its stack.',
  ])
})

test('connected accounts are accepted', () => {
  expect(localValues({ 'refunds.account': 'connected' }, prod)).toEqual([])
})

describe('a file in a request', () => {
  const largest = Math.floor(((6 * 1024 * 1024 - 64 * 1024) * 3) / 4)

  test.each([
    ['imports.maxBytes', 'inline'],
    ['codes.import', 'maxBytes'],
  ])('that %s at %s permits and Lambda rejects in base64 is reported', (key, member) => {
    expect(localValues({ [key]: { [member]: largest + 1 } }, prod)).toEqual([
      `  ${key} at ${member}: stage prod accepts at most ${largest} bytes in a request.`,
    ])
  })

  test('of the maximum size is permitted', () => {
    expect(localValues({ 'imports.maxBytes': { inline: largest } }, prod)).toEqual([])
  })

  test('of the maximum size fits into an invocation with the largest headers', () => {
    const headers = 2 * 10_240
    expect(4 * Math.ceil(largest / 3) + headers).toBeLessThan(6 * 1024 * 1024)
  })
})
