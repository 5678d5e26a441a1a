import { describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { deployedRuntime } from '#shared/platform/aws/runtime.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { KeyName, SecretRead } from '#shared/platform/base/secrets.ts'
import {
  newSecret,
  openSecret,
  openSecrets,
  sealSecret,
  signingHeaders,
} from '#shared/subscribers/signing-secret.ts'
import { localSettings } from '#test/support/settings.ts'

const owner = { id: 'subscriber-1', tenant_id: 'acme' }
const secret = newSecret(systemClock.randomBytes)

/** The secret of the key in Secrets Manager, with the versions that exist. */
function storedSecret() {
  const versions = new Map([['version-1', 'the first secret of the key that seals']])
  const reads: (string | undefined)[] = []
  const readSecret = async (_arn: string, { version }: SecretRead) => {
    reads.push(version)
    const found = version ?? [...versions.keys()].at(-1) ?? ''
    const text = versions.get(found)
    if (text === undefined) throw new Error('ResourceNotFoundException')
    return { text, version: found }
  }
  return { versions, reads, readSecret }
}

/** The work of a process. @param current the version that it knows as the current one; the newest if absent */
function workOf({ readSecret }: ReturnType<typeof storedSecret>, current?: string) {
  process.env.SUBSCRIBERS_SECRET_ARN = 'arn'
  const { versionedKey } = deployedRuntime(
    {
      secret: (arn, reading) => {
        const version = reading.version ?? current
        return readSecret(arn, version === undefined ? reading : { ...reading, version })
      },
    },
    localSettings,
  )
  const budget = startBudget(systemClock, 60_000)
  return {
    clock: systemClock,
    versionedKey: (name: KeyName, version?: string) => versionedKey(name, budget, version),
  }
}

describe('a sealed secret', () => {
  test('opens for its subscriber', async () => {
    const work = workOf(storedSecret())
    expect(await openSecret(await sealSecret(secret, owner, work), owner, work)).toBe(secret)
  })

  test.each([
    ['subscriber', { ...owner, id: 'subscriber-2' }],
    ['tenant', { ...owner, tenant_id: 'other' }],
  ])('does not open for another %s', async (_, other) => {
    const work = workOf(storedSecret())
    const sealed = await sealSecret(secret, owner, work)
    await expect(openSecret(sealed, other, work)).rejects.toThrow()
  })

  test('opens after a rotation of the key', async () => {
    const stored = storedSecret()
    const sealed = await sealSecret(secret, owner, workOf(stored))
    stored.versions.set('version-2', 'the second secret of the key that seals')
    expect(await openSecret(sealed, owner, workOf(stored))).toBe(secret)
  })

  test('that is sealed again after the rotation does not need the old version', async () => {
    const stored = storedSecret()
    const sealed = await sealSecret(secret, owner, workOf(stored))
    stored.versions.set('version-2', 'the second secret of the key that seals')
    const work = workOf(stored)
    const again = await sealSecret(await openSecret(sealed, owner, work), owner, work)
    stored.versions.delete('version-1')
    expect(await openSecret(again, owner, workOf(stored))).toBe(secret)
  })

  test('does not open when the version that sealed it is gone', async () => {
    const stored = storedSecret()
    const sealed = await sealSecret(secret, owner, workOf(stored))
    stored.versions.set('version-2', 'the second secret of the key that seals')
    stored.versions.delete('version-1')
    await expect(openSecret(sealed, owner, workOf(stored))).rejects.toMatchObject({
      code: 'DEPENDENCY.unavailable',
    })
  })

  test('of the current version needs no read of a version', async () => {
    const stored = storedSecret()
    const work = workOf(stored)
    await openSecret(await sealSecret(secret, owner, work), owner, work)
    expect(stored.reads.filter((version) => version !== undefined)).toEqual([])
  })

  test('of another process that knows a newer version opens', async () => {
    const stored = storedSecret()
    stored.versions.set('version-2', 'the second secret of the key that seals')
    const sealed = await sealSecret(secret, owner, workOf(stored))
    expect(await openSecret(sealed, owner, workOf(stored, 'version-1'))).toBe(secret)
  })
})

describe('the secrets of a subscriber', () => {
  const work = workOf(storedSecret())
  const at = Date.parse('2026-03-01T12:00:00Z')
  async function subscriber() {
    const [newest, old] = await Promise.all([sealSecret(secret, owner, work), sealSecret('old', owner, work)])
    return {
      ...owner,
      secrets: [{ sealed: newest }, { sealed: old, valid_until: at }],
    }
  }

  test('are the new and the old one before the overlap ends', async () => {
    expect(await openSecrets(await subscriber(), { ...work, now: () => at - 1 })).toEqual([secret, 'old'])
  })

  test('are the new one when the overlap ends', async () => {
    expect(await openSecrets(await subscriber(), { ...work, now: () => at })).toEqual([secret])
  })
})

describe('the headers of an event', () => {
  const body = '{"event_id":"event-1","text":"für 5 €"}'
  const other = newSecret(systemClock.randomBytes)
  const headers = () => {
    const at = Date.now()
    return signingHeaders({ eventId: 'event-1', body, at, secrets: [secret, other] }, localSettings)
  }

  test.each([
    ['newest', secret],
    ['older', other],
  ])('verify with the %s secret in the library of Standard Webhooks', (_, known) => {
    expect(new Webhook(known).verify(body, headers())).toEqual(JSON.parse(body))
  })

  test('do not verify with another secret', () => {
    const unknown = new Webhook(newSecret(systemClock.randomBytes))
    expect(() => unknown.verify(body, headers())).toThrow('No matching signature')
  })

  test('equal those that the library makes', () => {
    const at = new Date('2026-03-01T12:00:00.900Z')
    const made = signingHeaders(
      { eventId: 'event-1', body, at: at.getTime(), secrets: [secret] },
      localSettings,
    )
    expect(made).toEqual({
      'webhook-id': 'event-1',
      'webhook-timestamp': '1772366400',
      'webhook-signature': new Webhook(secret).sign('event-1', at, body),
    })
  })

  test('have the names and the digest of the setting webhooks.scheme', () => {
    const scheme = {
      idHeader: 'X-Id',
      timestampHeader: 'X-Time',
      signatureHeader: 'X-Signature',
      digest: 'sha512',
      prefix: 'v2=',
    } as const
    const settings = { ...localSettings, 'webhooks.scheme': scheme }
    const made = signingHeaders({ eventId: 'event-1', body, at: 0, secrets: [secret] }, settings)
    // 64 bytes of SHA-512 are 88 characters of base64.
    expect(made).toEqual({
      'X-Id': 'event-1',
      'X-Time': '0',
      'X-Signature': expect.stringMatching(/^v2=[A-Za-z0-9+/]{86}==$/),
    })
  })
})

test('a new secret has 32 random bytes', () => {
  const made = newSecret(systemClock.randomBytes)
  expect(Buffer.from(made.replace('whsec_', ''), 'base64')).toHaveLength(32)
  expect(made).not.toBe(newSecret(systemClock.randomBytes))
})
