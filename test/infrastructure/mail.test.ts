import { describe, expect, test } from '@jest/globals'
import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { strayMailDomains } from '#lib/check-operations.ts'
import { mailing } from '#lib/mail.ts'
import { stageNamed } from '#lib/stage.ts'
import { userPool } from '#lib/user-pool.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { scratchFolder } from './scratch-folder.ts'
import { type Resource, resourcesOf, type Template as Synthesised, synthesise } from './synthesis.ts'

const { template } = await synthesise('prod')
const [[identityId, identity]] = resourcesOf(template, 'AWS::SES::EmailIdentity') as [[string, Resource]]
const [[setId, set]] = resourcesOf(template, 'AWS::SES::ConfigurationSet') as [[string, Resource]]
const [[, pool]] = resourcesOf(template, 'AWS::Cognito::UserPool') as [[string, Resource]]

/** A stack of only mail and users. */
function templateOf(settings: Settings): Synthesised {
  const stack = new Stack(new App({ outdir: scratchFolder() }), 'mailing')
  userPool(stack, { stage: stageNamed('dev'), settings, mail: mailing(stack, settings) })
  return Template.fromStack(stack).toJSON() as Synthesised
}

describe('mail.domain', () => {
  test('is the identity for which SES signs', () => {
    expect(identity.Properties).toMatchObject({
      EmailIdentity: 'mail.acme.cloud',
      DkimAttributes: { SigningEnabled: true },
    })
  })

  test('has its own MAIL FROM domain', () => {
    expect(identity.Properties.MailFromAttributes).toEqual({
      MailFromDomain: 'bounce.mail.acme.cloud',
      BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
    })
  })

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

  test('is null on the local stage, which verifies only the address', () => {
    const mailbox = resourcesOf(templateOf(localSettings), 'AWS::SES::EmailIdentity').map(
      ([, { Properties }]) => Properties,
    )
    expect(mailbox).toEqual([{ EmailIdentity: localSettings['otp.mail'].from }])
  })

  test('is rejected if it does not contain the sender or the MAIL FROM domain', () => {
    const domain = { identity: 'acme.cloud', mailFrom: 'bounce.acme.dev', verified: true }
    expect(strayMailDomains({ ...otherSettings, 'mail.domain': domain })).toEqual([
      'otp.mail sends from example.org, which is not in acme.cloud',
      'mailFrom has to be a subdomain of acme.cloud',
    ])
  })

  test('is accepted if it contains both', () => {
    expect(strayMailDomains(otherSettings)).toEqual([])
  })
})

describe('the configuration set', () => {
  test('suppresses addresses that bounced or complained', () => {
    expect(set.Properties.SuppressionOptions).toEqual({ SuppressedReasons: ['BOUNCE', 'COMPLAINT'] })
  })

  test('publishes the rates of both', () => {
    expect(set.Properties.ReputationOptions).toEqual({ ReputationMetricsEnabled: true })
  })

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

  test('sends with Cognito before, which rejects an unverified identity', () => {
    const domain = { identity: 'example.org', mailFrom: 'bounce.example.org', verified: false }
    const early = templateOf({ ...otherSettings, 'mail.domain': domain })
    const [[, waiting]] = resourcesOf(early, 'AWS::Cognito::UserPool') as [[string, Resource]]
    expect(waiting.Properties.EmailConfiguration).toBeUndefined()
  })
})
