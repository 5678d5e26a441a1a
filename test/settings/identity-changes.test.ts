import { describe, expect, test } from '@jest/globals'
import { make } from '#bin/commands/api-keys.ts'
import { personOf } from '#shared/identity/person.ts'
import { mailKey } from '#shared/otp/code-mail.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import type { Mail } from '#shared/platform/aws/ses.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { eventsOf } from '#test/support/item-events.ts'
import {
  mailOf,
  newEmail,
  newSession,
  otherThan,
  requestCode,
  requestedCode,
  verifyCode,
} from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */

const services = await Promise.all(
  [localSettings, otherSettings].map((settings) => startService({ settings })),
)

/** Returns the outcomes of both deployments, the local one first. */
const both = <T>(ask: (service: Service) => Promise<T>) => Promise.all(services.map(ask))

describe('one-time codes', () => {
  test('otp.code', async () => {
    const ask = async (service: Service) => {
      const email = newEmail()
      const code = await requestedCode(service, email)
      for (let n = 0; n < 3; n += 1) await verifyCode(service, email, otherThan(code))
      return [code.length, (await verifyCode(service, email, code)).status]
    }
    // The third attempt ends the code with a limit of two, and not with a limit of five.
    expect(await both(ask)).toEqual([
      [6, 200],
      [8, 400],
    ])
  })

  test('otp.mail', async () => {
    const mails: Mail[] = []
    const codes = await both(async (service) => {
      const { json } = await requestCode(service, newEmail())
      const { code } = await mailOf(service, json.message_id)
      const context = { ...service, clock: systemClock, derivedKey: service.runtime.derivedKey }
      await sendCode(json.message_id, context, async (_, mail) => {
        mails.push(mail)
      })
      return code
    })
    expect(mails.map(({ from, subject, text }) => [from, subject, text]).toSorted()).toEqual([
      ['no-reply@example.com', 'Your sign-in code', `Your code is ${codes[0]}. It is valid for 5 minutes.`],
      ['shop@example.org', 'Anmeldung', `Ihr Code: ${codes[1]} – ${codes[1]}`],
    ])
  })

  test('otp.sourceThrottle', async () => {
    const outcomes = await both(async ({ settings }) => {
      const service = await startService({ settings })
      for (let n = 0; n < 8; n += 1) await verifyCode(service, newEmail(), '123456')
      return outcome(await verifyCode(service, newEmail(), '123456'))
    })
    // The ninth wrong code is rejected with a limit of eight, and not with a limit of sixty.
    expect(outcomes).toEqual(['400 CODE.invalid', '429 RATE_LIMIT.exceeded'])
  })

  test('otp.dailyWrongAttempts', async () => {
    const outcomes = await both(async ({ settings }) => {
      let now = Date.now()
      const service = await startService({ settings, clock: { ...systemClock, now: () => now } })
      const email = newEmail()
      const attempts = ['a', 'b', 'c', 'd'].map((from) => async () => {
        now += 6 * 60_000
        const { json } = await requestCode(service, email, { from })
        if (!json.message_id) return json.error.code
        const { code } = await mailOf(service, json.message_id)
        return (await verifyCode(service, email, otherThan(code), { from })).json.error.code
      })
      const codes = []
      for (const attempt of attempts) codes.push(await attempt())
      return codes
    })
    const invalid = 'CODE.invalid'
    expect(outcomes).toEqual([
      [invalid, invalid, invalid, invalid],
      [invalid, invalid, invalid, 'RATE_LIMIT.exceeded'],
    ])
  })

  test('otp.mailsPerAddress', async () => {
    const outcomes = await both(async (service) => {
      const email = newEmail()
      const answers = []
      for (let n = 0; n < 5; n += 1) answers.push(await requestCode(service, email, { from: `source-${n}` }))
      return answers.map(({ status }) => status)
    })
    expect(outcomes).toEqual([
      [202, 202, 202, 202, 202],
      [202, 202, 202, 202, 429],
    ])
  })

  test('otp.deliveredOn', async () => {
    const published = await both(async (service) => {
      const { json } = await requestCode(service, newEmail())
      const { table, settings, runtime } = service
      const { derivedKey } = runtime
      const context = { table, settings, derivedKey, clock: systemClock }
      await sendCode(json.message_id, context, async () => {})
      const item = await table.get(mailKey(json.message_id))
      return item?.outbox ? eventsOf(item).map(({ type }) => type) : []
    })
    expect(published).toEqual([['otp.requested', 'otp.delivered'], ['otp.requested']])
  })

  test('otp.user', async () => {
    const users = await both(async ({ settings, runtime }) =>
      personOf('a@b.example', settings, runtime.derivedKey),
    )
    expect(users[0]?.user_id).toBe(users[0]?.email_hash)
    expect(users[1]?.user_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('auth.publicTenant', async () =>
    expect(
      await both(async (service) => {
        const { json } = await requestCode(service, newEmail())
        return (await service.table.get(mailKey(json.message_id)))?.tenant_id
      }),
    ).toEqual(['public', 'shoppers']))
})

describe('sessions', () => {
  test('otp.sessionSeconds', async () =>
    expect(
      await both(async (service) => {
        const { answer } = await newSession(service)
        const [session] = (await service.items(service.settings['auth.publicTenant'], 'session')).slice(-1)
        const lasting = (Number(session?.valid_until) - Date.parse(String(session?.started_at))) / 1000
        return [answer.cookies?.[0]?.match(/Max-Age=(\d+)/)?.[1], Math.round(lasting)]
      }),
    ).toEqual([
      ['3600', 3600],
      ['600', 600],
    ]))

  const discount = (service: Service, headers: Record<string, string>) =>
    service.call({
      method: 'POST',
      path: '/discount/verify',
      headers: { 'Idempotency-Key': crypto.randomUUID(), ...headers },
      body: { code: 'X' },
    })

  test('auth.sessionOperations', async () =>
    expect(
      await both(async (service) => {
        const { headers } = await newSession(service)
        return [
          outcome(await discount(service, headers)),
          outcome(await service.call({ path: '/v1/orders', headers })),
        ]
      }),
    ).toEqual([
      ['200', '401 AUTH.invalid_credentials'],
      // The other profile requires a second factor for lists, and a code by mail is none.
      ['401 AUTH.invalid_credentials', '403 POLICY.mfa.required'],
    ]))

  test('auth.csrf', async () => {
    const operations = { 'auth.sessionOperations': ['discount.verify'] }
    const asking = await Promise.all(
      services.map(({ settings }) => startService({ settings: { ...settings, ...operations } })),
    )
    const answers = asking.map(async (service) => {
      const { headers } = await newSession(service)
      const { Cookie = '' } = headers
      return [outcome(await discount(service, headers)), outcome(await discount(service, { Cookie }))]
    })
    expect(await Promise.all(answers)).toEqual([
      ['200', '403 AUTHZ.csrf.token'],
      // The other profile returns 404 for a code that does not apply.
      ['404 NOT_FOUND.code', '419 AUTHZ.csrf.token'],
    ])
    expect(asking.map(({ settings }) => settings['auth.csrf'].header)).toEqual([
      'X-CSRF-Token',
      'X-XSRF-Token',
    ])
  })
})

test('auth.apiKeyHeader', async () =>
  expect(
    await both(async (service) => {
      const { key } = await make(
        { table: service.table, clock: systemClock, name: 'jane' },
        {
          tenant: 'keyed',
          name: 'n',
          scopes: ['codes:read'],
        },
      )
      const by = async (header: string) =>
        (await service.call({ path: '/codes', headers: { [header]: key } })).status
      return [await by('X-Api-Key'), await by('X-Service-Key')]
    }),
  ).toEqual([
    [200, 401],
    [401, 200],
  ]))

describe('API keys', () => {
  const statusOf = async (service: Service, scopes: string[], path: string) => {
    const { settings } = service
    const { key } = await make(
      { table: service.table, clock: systemClock, name: 'jane' },
      { tenant: 'keyed', name: 'n', scopes },
    )
    return (await service.call({ path, headers: { [settings['auth.apiKeyHeader']]: key } })).status
  }
  const order = `/v1/orders/${newId(systemClock)}`

  test('auth.operationScopes', async () =>
    // A key with the scope of the operation gets a 404 for an absent order.
    expect(await both((service) => statusOf(service, ['sales'], order))).toEqual([403, 404]))

  test('auth.operationScopes denies keys the operations that have no scope', async () =>
    expect(await both((service) => statusOf(service, ['operations:read'], '/operations/x'))).toEqual([
      404, 403,
    ]))

  test('auth.apiKeyPermissions', async () =>
    expect(await both((service) => statusOf(service, [], order))).toEqual([403, 404]))

  test('auth.apiKeyPermissions does not extend a key with scopes', async () =>
    expect(await both((service) => statusOf(service, ['codes:read'], order))).toEqual([403, 403]))
})
