import { describe, expect, test } from '@jest/globals'
import { mailDomainsOutsideIdentity } from '#lib/check-operations.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { type Resource, resourcesOf, synthesise } from './synthesis.ts'

const { template, settings } = await synthesise('prod')
const [[identityId, identity]] = resourcesOf(template, 'AWS::SES::EmailIdentity') as [[string, Resource]]
const [[setId, _set]] = resourcesOf(template, 'AWS::SES::ConfigurationSet') as [[string, Resource]]
const [[, pool]] = resourcesOf(template, 'AWS::Cognito::UserPool') as [[string, Resource]]

describe('mail.domain', () => {
  test('requires DNS records, which the outputs name', () => {
    expect(Object.keys(template.Outputs ?? {}).filter((name) => name.startsWith('Mail'))).toEqual(
      expect.arrayContaining([
        'MailDkimRecord1',
        'MailDkimRecord2',
        'MailDkimRecord3',
        'MailFromMxRecord',
        'MailFromTxtRecord',
      ]),
    )
  })

  test('is null on the local stage, which verifies only the address', async () => {
    const local = await synthesise('local', { changes: { 'mail.domain': localSettings['mail.domain'] } })
    const mailbox = resourcesOf(local.template, 'AWS::SES::EmailIdentity').map(
      ([, { Properties }]) => Properties,
    )
    expect(mailbox).toEqual([{ EmailIdentity: settings['otp.mail'].from, Tags: expect.anything() }])
  })

  test('is rejected if it does not contain the sender or the MAIL FROM domain', () => {
    const domain = { identity: 'acme.cloud', mailFrom: 'bounce.acme.dev', verified: true }
    expect(mailDomainsOutsideIdentity({ ...otherSettings, 'mail.domain': domain })).toEqual([
      'otp.mail sends from example.org, which is not in acme.cloud',
      'mailFrom has to be a subdomain of acme.cloud',
    ])
  })

  test('is accepted if it contains both', () => {
    expect(mailDomainsOutsideIdentity(otherSettings)).toEqual([])
  })
})

describe('the configuration set', () => {
  test('applies to every mail from the domain', () => {
    expect(identity.Properties.ConfigurationSetAttributes).toEqual({ ConfigurationSetName: { Ref: setId } })
  })
})

describe('the user pool', () => {
  test('sends with SES once the domain is verified', () => {
    const { EmailConfiguration: email } = pool.Properties
    expect(email).toMatchObject({
      EmailSendingAccount: 'DEVELOPER',
      From: 'no-reply@mail.acme.cloud',
      ConfigurationSet: { Ref: setId },
    })
    expect(JSON.stringify(email.SourceArn)).toContain(`{"Ref":"${identityId}"}`)
  })

  test('sends with Cognito before, which rejects an unverified identity', async () => {
    const domain = { ...settings['mail.domain'], verified: false }
    const early = await synthesise('prod', { changes: { 'mail.domain': domain } })
    const [[, waiting]] = resourcesOf(early.template, 'AWS::Cognito::UserPool') as [[string, Resource]]
    expect(waiting.Properties.EmailConfiguration).toBeUndefined()
  })
})
