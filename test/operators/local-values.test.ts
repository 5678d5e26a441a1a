import { expect, test } from '@jest/globals'
import { localValues } from '#bin/local-values.ts'
import { stageNamed } from '#lib/stage.ts'

const prod = stageNamed('prod')

test.each([
  'no-reply@example.com',
  'https://issuer.example.org/keys',
  'shop.example',
  'https://pay.test:8443',
  'mailer@acme.invalid',
])('%s is refused as an example', (value) => {
  expect(localValues({ 'a.setting': { value } }, prod)).toEqual([
    `  a.setting: ${value} is an example; stage prod needs an address of yours.`,
  ])
})

test.each(['localhost', 'http://localhost:5173', 'http://127.0.0.1:4577', 'https://issuer.localhost'])(
  '%s is refused as an address of this machine',
  (value) => {
    expect(localValues({ 'a.setting': [value] }, prod)).toEqual([
      `  a.setting: ${value} is on this machine; stage prod is not.`,
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
