import { createRequire } from 'node:module'
import { expect, test } from '@jest/globals'
import { featureFlags } from './feature-flags.ts'
import { resourcesOf, synthesize } from './synthesis.ts'

const recommended = createRequire(import.meta.url)('aws-cdk-lib/recommended-feature-flags.json')

const { template, tags } = await synthesize('prod')

test('every feature flag of CDK is configured with the value that CDK recommends', () => {
  expect(featureFlags()).toEqual(recommended)
})

// A resource with another logical id is a new, empty one, and CDK derives these ids.
test('resources with data have the logical ids of the first release', () => {
  const ids = [
    'AWS::DynamoDB::Table',
    'AWS::S3::Bucket',
    'AWS::KMS::Key',
    'AWS::Cognito::UserPool',
    'AWS::Backup::BackupVault',
    'AWS::Events::EventBus',
    'AWS::SecretsManager::Secret',
  ].flatMap((type) => resourcesOf(template, type).map(([id]) => id))
  expect(ids.sort()).toEqual([
    'BackupVault3A9C5852',
    'CodesSecret102C4477',
    'CursorsSecret0AA8413B',
    'EventBus7B8748AA',
    'Files8E6940B8',
    'HashesSecret35623A60',
    'Key961B73FD',
    'MailsSecretA4D64E06',
    'OneTimeCodesSecret82E3157C',
    'PaymentsSecret2EDF7B1F',
    'ProbeSecret93AB9ACD',
    'ResetsSecretE5F3C197',
    'SessionsSecret410F2C6E',
    'StripeWebhooksSecretDB40BC34',
    'SubscribersSecretE582653C',
    'TableCD117FA1',
    'Users0A0EEA89',
    'WebhooksSecret784E2348',
  ])
})

test('the stack has the tag of its resources', () => {
  expect(tags).toEqual({ service: 'commerce' })
})
