import { beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { refusalMilliseconds } from '#shared/login/sign-in.ts'
import { anyCharacter } from '#test/formats/any-text.ts'
import { movableSystemClock } from '#test/support/clocks.ts'
import { password } from '#test/support/identity-provider/cognito-users.ts'
import { providerOfTest } from '#test/support/identity-provider/provider-of-test.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { outcome } from '#test/support/outcome.ts'
import { runs } from '#test/support/runs.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

const provider = await providerOfTest()

/** A delayed rejection takes no real time. */
const clock = movableSystemClock()
let service: Service
beforeEach(async () => {
  service ??= await startService({ clock })
})

let callers = 0
const login = (
  email: string,
  given = password,
  headers: Record<string, string> = {},
  at = service,
): Promise<Answer> => at.call({ method: 'POST', path: '/login', headers, body: { email, password: given } })
const loginsOf = async (tenant: string) => (await service.items(tenant, 'login')).flatMap(eventsOf)

describe('a successful login', () => {
  test('returns the tokens, and publishes an event with the e-mail as a hash', async () => {
    const answer = await login('Jane@Happy.example')
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 3600,
        refresh_token: expect.any(String),
      },
    ])
    expect(answer.headers['Cache-Control']).toBe('no-store')
    const [event, ...more] = await loginsOf('happy')
    expect(more).toEqual([])
    expect(event).toMatchObject({ type: 'login.success', version: 1 })
    const { id, tenant_id, user_id, email_hash, ...rest } = (event?.data ?? {}) as Record<string, unknown>
    expect([tenant_id, rest]).toEqual(['happy', {}])
    expect(user_id).toBe(decodeJwt(answer.json.access_token).sub)
    expect(user_id).not.toBe(email_hash)
    expect(email_hash).toMatch(/^[\w-]{43}$/)
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(provider.calls[0]?.input.AuthParameters.USERNAME).toBe('jane@happy.example')
  })

  test('is executed each time, regardless of the key', async () => {
    const headers = { 'Idempotency-Key': 'same' }
    const first = await login('keyed@happy.example', password, headers)
    const again = await login('keyed@happy.example', password, headers)
    expect(again.json.refresh_token).not.toBe(first.json.refresh_token)
    expect(again.headers).not.toHaveProperty('Idempotency-Status')
  })
})

describe('a rejected login', () => {
  test.each([
    ['with a wrong password', 'jane@acme.example', 'wrong', '401 AUTH.invalid_credentials'],
    ['with an unknown e-mail', 'unknown-1@acme.example', password, '401 AUTH.invalid_credentials'],
    ['of an unconfirmed user', 'unconfirmed-1@acme.example', password, '401 AUTH.invalid_credentials'],
    ['after too many wrong passwords', 'locked-1@acme.example', password, '401 AUTH.invalid_credentials'],
    ['of a disabled user', 'disabled-1@acme.example', password, '401 AUTH.invalid_credentials'],
    ['of a user without a tenant', 'homeless-1@acme.example', password, '403 POLICY.account.locked'],
    ['of a user whose password was reset', 'reset-1@acme.example', password, '401 AUTH.invalid_credentials'],
    [
      'with a temporary password',
      'temporary-1@acme.example',
      password,
      '403 POLICY.password.change_required',
    ],
    ['without the second factor', 'totp-1@acme.example', password, '403 POLICY.mfa.required'],
    ['without a configured factor', 'setup-1@acme.example', password, '403 POLICY.mfa.required'],
  ])('%s', async (_, email, given, expected) => {
    const before = (await loginsOf('public')).length
    const answer = await login(email, given)
    expect(outcome(answer)).toBe(expected)
    expect(answer.json).not.toHaveProperty('access_token')
    expect(provider.calls).toHaveLength(1)
    const events = (await loginsOf('public')).slice(before)
    expect(events.map(({ type }) => type)).toEqual(['login.fail'])
    const { failure } = service.lines.at(-1) ?? {}
    expect(failure?.code).toBe(answer.json.error.code)
  })

  test('takes the same time if the provider rejects at once', async () => {
    const from = clock.now()
    await login('disabled-3@acme.example', 'wrong')
    expect(clock.now() - from).toBeGreaterThanOrEqual(refusalMilliseconds)
  })

  test('is returned without calling the provider if the budget is too small for an equal rejection and its event', async () => {
    const limits = { ...localSettings['requests.timeoutHeader'], minMilliseconds: 500 }
    const hasty = await startService({ settings: { ...localSettings, 'requests.timeoutHeader': limits } })
    const answer = await login('disabled-4@acme.example', 'wrong', { 'X-Request-Timeout': '800' }, hasty)
    expect([outcome(answer), provider.calls]).toEqual(['504 DEPENDENCY.timeout', []])
  })

  test('states how to prove a missing factor', async () => {
    const { headers, json } = await login('totp-2@acme.example')
    expect(headers['WWW-Authenticate']).toBe(
      'Bearer realm="commerce-api", error="insufficient_user_authentication", acr_values="mfa"',
    )
    expect(json.error.details).toEqual({
      challenge: 'SOFTWARE_TOKEN_MFA',
      www_authenticate: headers['WWW-Authenticate'],
    })
  })

  test('without the password does not distinguish accounts by response, work or event', async () => {
    const outcomes = []
    const kinds = ['unknown', 'jane', 'disabled', 'locked', 'reset', 'unconfirmed']
    for (const email of kinds.map((kind) => `${kind}-2@tell.example`)) {
      provider.calls.length = 0
      const before = (await loginsOf('public')).length
      const { headers, ...answer } = await login(email, 'wrong', { 'X-Correlation-Id': 'same' })
      const events = (await loginsOf('public')).slice(before)
      const calls = provider.calls.map(({ operation }) => operation)
      const shown = events.map(({ type, data }) => [type, Object.keys(data), data.tenant_id])
      outcomes.push({ answer, headers, calls, shown })
    }
    for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0])
    expect(outcomes[0]?.calls).toEqual(['AdminInitiateAuth'])
    expect(outcomes[0]?.headers['WWW-Authenticate']).toBe('Bearer realm="commerce-api"')
  })
})

describe('a password', () => {
  test('of any characters reaches the provider unchanged', async () => {
    const anyPassword = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 256 })
    await fc.assert(
      fc.asyncProperty(anyPassword, async (given) => {
        provider.calls.length = 0
        expect((await login(`any-${callers++}@acme.example`, given)).status).toBe(401)
        expect(provider.calls[0]?.input.AuthParameters.PASSWORD).toBe(given)
      }),
      { ...runs(30) },
    )
  })

  test.each([
    ['of 256 characters is checked', '🔑'.repeat(256), '401 AUTH.invalid_credentials'],
    ['of more characters is rejected', '🔑'.repeat(257), '400 VALIDATION.field.length'],
    ['without characters is rejected', '', '400 VALIDATION.field.length'],
  ])('%s', async (_, given, expected) => {
    const answer = await login('long@acme.example', given)
    expect(outcome(answer)).toBe(expected)
    expect(answer.body).not.toContain('🔑')
  })

  test.each(['jane', 'a b@acme.example', ''])('of %j does not reach the provider', async (email) => {
    expect(outcome(await login(email))).toBe('400 VALIDATION.email')
    expect(provider.calls).toEqual([])
  })
})
