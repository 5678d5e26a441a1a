import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { deployedRuntime } from '#shared/platform/aws/runtime.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { startFakeAws } from '#test/support/fake-aws.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import { localSettings } from '#test/support/settings.ts'

/** Fakes GetSecretValue of Secrets Manager. */
let value = 'first'
let fault: 'denied' | 'silent' | undefined
let reads = 0
const { url, stop } = await startHttpServer((_, response) => {
  reads += 1
  if (fault === 'silent') return
  const [status, body] =
    fault === 'denied' ? [400, { __type: 'AccessDeniedException' }] : [200, { SecretString: value }]
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body))
})
process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = url
process.env.AWS_REGION = 'us-east-1'
process.env.AWS_ACCESS_KEY_ID = 'test'
process.env.AWS_SECRET_ACCESS_KEY = 'test'
afterAll(stop)

let now = Date.now()
const clock = { ...systemClock, now: () => now }
const budgetOf = (milliseconds: number) => startBudget(systemClock, milliseconds)

let arn = ''
beforeEach(() => {
  arn = crypto.randomUUID()
  value = 'first'
  fault = undefined
  reads = 0
})
const read = async () =>
  (await readSecret(arn, { settings: localSettings, clock, budget: budgetOf(10_000) })).text

describe('a secret', () => {
  test('is read once for many requests', async () => {
    for (let n = 0; n < 5; n += 1) await read()
    expect(reads).toBe(1)
  })

  test('is read without a trailing line break', async () => {
    value = 'pasted\n'
    expect(await read()).toBe('pasted')
  })

  test('that was changed is used for at most secrets.maxAgeSeconds', async () => {
    await read()
    value = 'second'
    now += 300_000
    expect(await read()).toBe('second')
  })

  test('is used until its maximum age if it cannot be read again', async () => {
    await read()
    fault = 'denied'
    now += 299_000
    expect(await read()).toBe('first')
    now += 1000
    await expect(read()).rejects.toThrow()
  })

  test('is read at most once a second while reads fail', async () => {
    await read()
    fault = 'denied'
    now += 250_000
    for (let n = 0; n < 5; n += 1) await read()
    expect(reads).toBe(2)
  })
})

describe('a renewal of a secret', () => {
  const renew = async () =>
    (await readSecret(arn, { settings: localSettings, clock, budget: budgetOf(10_000), renew: true })).text

  test('returns the value that was stored in the meantime', async () => {
    await read()
    value = 'second'
    now += 30_000
    expect(await renew()).toBe('second')
  })

  test('gives the new value to later requests', async () => {
    await read()
    value = 'second'
    now += 30_000
    await renew()
    expect(await read()).toBe('second')
  })

  test('is made every 30 seconds at most, however many unknown signatures arrive', async () => {
    await read()
    for (let second = 0; second < 60; second += 1) {
      now += 1000
      await renew()
    }
    expect(reads).toBe(3)
  })
})

test('the timeout of a function that reads a secret is not reported as another failure', async () => {
  fault = 'silent'
  process.env.WEBHOOKS_SECRET_ARN = arn
  const { secret } = deployedRuntime({ secret: readSecret }, localSettings)
  await expect(secret('webhooks', budgetOf(50))).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
})

describe('a version of a secret', () => {
  const versions = new Map([
    ['version-1', 'the first'],
    ['version-2', 'the second'],
  ])
  const readVersion = async (version?: string) => {
    const fake = await startFakeAws({
      'secretsmanager.GetSecretValue': ({ VersionId = 'version-2' }) => ({
        SecretString: versions.get(String(VersionId)),
        VersionId,
      }),
    })
    const usual = process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER
    process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = fake.endpoint
    try {
      const reading = { settings: localSettings, clock, budget: budgetOf(10_000) }
      return await readSecret(arn, version === undefined ? reading : { ...reading, version })
    } finally {
      process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = usual
      await fake.stop()
    }
  }

  test('is the current one, with its name', async () => {
    expect(await readVersion()).toEqual({ text: 'the second', version: 'version-2' })
  })

  test('is an earlier one on request, also when the current one is known', async () => {
    await readVersion()
    expect(await readVersion('version-1')).toEqual({ text: 'the first', version: 'version-1' })
  })
})
