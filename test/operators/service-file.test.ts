import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { describeService } from '#bin/local/service-file.ts'
import { signingSecret } from '#bin/webhook-secret.ts'
import { type FakeAws, startFakeAws } from '../support/fake-aws.ts'

const secrets: Record<string, string> = { 'arn:webhooks': 'whsec_bmV3IGtleQ== whsec_b2xkIGtleQ==' }
let aws: FakeAws
beforeAll(async () => {
  aws = await startFakeAws({
    'secretsmanager.GetSecretValue': ({ SecretId }) => ({ SecretString: secrets[String(SecretId)] }),
  })
})
afterAll(() => aws.stop())

const outputs = {
  RestApiId: 'api',
  StageName: 'local',
  TableName: 'table',
  EventBusName: 'bus',
  UserPoolId: 'pool',
  UserPoolClientId: 'client',
  WebhooksSecretArn: 'arn:webhooks',
}

test('webhooks are signed with the first key of the secret', async () => {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const access = { endpoint: aws.endpoint, region: 'us-east-1', credentials }
  expect(await signingSecret({ outputs, access })).toBe(secrets['arn:webhooks'])
})

const parts = { endpoint: 'http://127.0.0.1:4566', outputs, webhookKey: 'whsec_a2V5', providerUrl: undefined }

test('the service file contains the key that signs webhooks', () => {
  expect(describeService(parts).webhook_secret).toBe('whsec_a2V5')
})

test('the service file contains the address of the local payment provider', () => {
  const { provider_url } = describeService({ ...parts, providerUrl: 'http://127.0.0.1:4577' })
  expect(provider_url).toBe('http://127.0.0.1:4577')
})

test('the service file names no payment provider if the profile uses another one', () => {
  expect(describeService(parts)).not.toHaveProperty('provider_url')
})
