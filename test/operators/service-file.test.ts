import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { describeService } from '#bin/local/service-file.ts'
import { type AwsDouble, startAwsDouble } from '#test/support/aws-double.ts'

const secrets: Record<string, string> = { 'arn:webhooks': 'whsec_bmV3IGtleQ== whsec_b2xkIGtleQ==' }
let aws: AwsDouble
beforeAll(async () => {
  aws = await startAwsDouble({
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

test('the service file holds the first key that signs webhooks, as the stack has it', async () => {
  const { webhook_secret } = await describeService(aws.endpoint, outputs, undefined)
  expect(webhook_secret).toBe('whsec_bmV3IGtleQ==')
})

test('the service file holds the address of the local payment provider', async () => {
  const { provider_url } = await describeService(aws.endpoint, outputs, 'http://127.0.0.1:4577')
  expect(provider_url).toBe('http://127.0.0.1:4577')
})

test('the service file names no payment provider if the profile has it elsewhere', async () => {
  expect(await describeService(aws.endpoint, outputs, undefined)).not.toHaveProperty('provider_url')
})
