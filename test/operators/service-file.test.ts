import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { dropOldKeys, signingSecret, storeSigningSecret } from '#bin/commands/webhooks/webhook-secret.ts'
import {
  assertRunning,
  awsAccessOf,
  describeService,
  providerUrlOf,
  removeServiceFile,
  runningService,
  writeServiceFile,
} from '#bin/local/service-file.ts'
import { naming } from '#test/support/naming.ts'
import { type FakeAws, startFakeAws } from '../support/fake-aws.ts'

const secrets: Record<string, string> = { 'arn:webhooks': 'whsec_bmV3IGtleQ== whsec_b2xkIGtleQ==' }
let aws: FakeAws
beforeAll(async () => {
  aws = await startFakeAws({
    'secretsmanager.GetSecretValue': ({ SecretId }) => ({ SecretString: secrets[String(SecretId)] }),
    'secretsmanager.PutSecretValue': ({ SecretId, SecretString }) => {
      secrets[String(SecretId)] = String(SecretString)
      return {}
    },
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
  PaymentsSecretArn: 'arn:payments',
  WebhooksSecretArn: 'arn:webhooks',
  StripeWebhooksSecretArn: 'arn:stripe',
}

test('webhooks are signed with the first key of the secret', async () => {
  expect(await signingSecret({ outputs, access: aws.access })).toBe(secrets['arn:webhooks'])
})

describe('the secret of Stripe’s webhooks', () => {
  const stack = () => ({ outputs, access: aws.access })

  test('is kept apart, and loses its old value at the end of a rotation', async () => {
    const before = secrets['arn:webhooks']
    await storeSigningSecret(stack(), 'whsec_new/of_stripe whsec_old', 'stripe')
    expect(await dropOldKeys(stack(), 'stripe')).toBe(1)
    expect(secrets).toEqual({ 'arn:webhooks': before, 'arn:stripe': 'whsec_new/of_stripe' })
  })

  test('is no key of the API', async () => {
    await expect(storeSigningSecret(stack(), 'sk_live_1', 'stripe')).rejects.toThrow('whsec_')
  })
})

const credentials = { accessKeyId: 'LOCAL1', secretAccessKey: 'secret' }
const local = { endpoint: 'http://127.0.0.1:4566', region: 'us-east-1', credentials }
const parts = { aws: local, outputs, webhookKey: 'whsec_a2V5', providerUrl: undefined }

describe('the service file', () => {
  const provider_url = 'http://127.0.0.1:4577'
  const described = describeService(parts)
  const withProvider = describeService({ ...parts, providerUrl: provider_url })

  test('contains the key that signs webhooks', () => {
    expect(described.webhook_secret).toBe('whsec_a2V5')
  })

  test('contains the keys of the run', () => {
    expect(awsAccessOf(described)).toEqual(local)
  })

  test('contains the address of the local payment provider', () => {
    expect([withProvider.provider_url, providerUrlOf(withProvider)]).toEqual([provider_url, provider_url])
  })

  test('names no payment provider if the profile uses another one, and says so', () => {
    expect(described).not.toHaveProperty('provider_url')
    expect(() => providerUrlOf(described)).toThrow(/profile/)
  })
})

describe('the file', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'commerce-service-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const endpointAt = (port: number) => `http://127.0.0.1:${port}`
  /** Starts a run. Times of files may be too coarse to tell two runs apart. */
  const start = (port: number, second = 0) => {
    writeServiceFile(describeService({ ...parts, aws: { ...local, endpoint: endpointAt(port) } }), folder)
    utimesSync(join(folder, `service-${port}.json`), second, second)
  }
  const current = () => runningService('', folder).aws_endpoint
  const modeOf = (...name: string[]) => statSync(join(folder, ...name)).mode & 0o777

  test('is for its user only', () => {
    start(4566)
    expect(readdirSync(folder).map((name) => modeOf(name))).toEqual([0o600, 0o600])
  })

  test('is in a folder for its user only', () => {
    start(4566)
    expect(modeOf()).toBe(0o700)
  })

  test('that everybody could read is replaced', () => {
    writeFileSync(join(folder, 'service.json'), '{}', { mode: 0o644 })
    start(4566)
    expect(modeOf('service.json')).toBe(0o600)
  })

  test('describes the run that started last', () => {
    start(4566)
    start(5000)
    expect(current()).toBe(endpointAt(5000))
  })

  test('describes the other run once the last one ends', () => {
    start(4500, 1)
    start(4566, 2)
    start(5000, 3)
    removeServiceFile(endpointAt(5000), folder)
    expect(current()).toBe(endpointAt(4566))
  })

  test('stays when an earlier run ends', () => {
    start(4566)
    start(5000)
    removeServiceFile(endpointAt(4566), folder)
    expect(current()).toBe(endpointAt(5000))
  })

  test('is gone when the only run ends', () => {
    start(4566)
    removeServiceFile(endpointAt(4566), folder)
    expect(readdirSync(folder)).toEqual([])
  })

  test('is missed with a hint', () => {
    expect(() => runningService(', or use --stack', folder)).toThrow(
      'the local service is not running: start it with npm start, or use --stack',
    )
  })
})

describe('the file of a run that was killed', () => {
  test('leads to a message that says so', async () => {
    // Nothing can listen there.
    const ended = assertRunning({ aws_endpoint: 'http://127.0.0.1:1' }, ', or use --stack')
    await expect(ended).rejects.toThrow(naming('npm start … --stack'))
  })

  test('is not taken for ended while it answers, whatever the answer', async () => {
    const refusing = await startFakeAws({})
    await expect(assertRunning({ aws_endpoint: refusing.endpoint }, '')).resolves.toBeUndefined()
    await refusing.stop()
  })
})
