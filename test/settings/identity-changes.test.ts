import { describe } from '@jest/globals'
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
import { type Row, twoDeployments } from './two-deployments.ts'

const { expectChanges } = await twoDeployments()

/** Sends the mail of a requested code, as the queue does. */
function sendMail(service: Service, messageId: string, sent: Mail[] = []): Promise<unknown> {
  const { table, settings, runtime } = service
  const context = { ...service, table, settings, derivedKey: runtime.derivedKey, clock: systemClock }
  return sendCode(messageId, context, async (_, mail) => {
    sent.push(mail)
  })
}

describe('one-time codes', () => {
  const wrong = 'CODE.invalid'
  expectChanges([
    [
      'otp.code',
      async (_, service) => {
        const email = newEmail()
        const code = await requestedCode(service, email)
        for (let n = 0; n < 3; n += 1) await verifyCode(service, email, otherThan(code))
        return [code.length, (await verifyCode(service, email, code)).status]
      },
      // The third attempt ends the code with a limit of two, and not with a limit of five.
      [6, 200],
      [8, 400],
    ],
    [
      'otp.mail',
      async (_, service) => {
        const { message_id: id } = (await requestCode(service, newEmail())).json
        const { code } = await mailOf(service, id)
        const sent: Mail[] = []
        await sendMail(service, id, sent)
        return sent.map(({ from, subject, text }) => [from, subject, text.replaceAll(code, 'CODE')])
      },
      [['no-reply@example.com', 'Your sign-in code', 'Your code is CODE. It is valid for 5 minutes.']],
      [['shop@example.org', 'Anmeldung', 'Ihr Code: CODE – CODE']],
    ],
    [
      'otp.sourceThrottle',
      async (_, { settings }) => {
        const service = await startService({ settings })
        for (let n = 0; n < 8; n += 1) await verifyCode(service, newEmail(), '123456')
        return outcome(await verifyCode(service, newEmail(), '123456'))
      },
      // The ninth wrong code is rejected with a limit of eight, and not with a limit of sixty.
      '400 CODE.invalid',
      '429 RATE_LIMIT.exceeded',
    ],
    [
      'otp.dailyWrongAttempts',
      async (_, { settings }) => {
        let now = Date.now()
        const service = await startService({ settings, clock: { ...systemClock, now: () => now } })
        const email = newEmail()
        const codes: string[] = []
        for (const from of ['a', 'b', 'c', 'd']) {
          now += 6 * 60_000
          const { json } = await requestCode(service, email, { from })
          const code = json.message_id && (await mailOf(service, json.message_id)).code
          const answer = code ? await verifyCode(service, email, otherThan(code), { from }) : { json }
          codes.push(answer.json.error.code)
        }
        return codes
      },
      [wrong, wrong, wrong, wrong],
      [wrong, wrong, wrong, 'RATE_LIMIT.exceeded'],
    ],
    [
      'otp.mailsPerAddress',
      async (_, service) => {
        const email = newEmail()
        const statuses: number[] = []
        for (const from of ['a', 'b', 'c', 'd', 'e'])
          statuses.push((await requestCode(service, email, { from })).status)
        return statuses
      },
      [202, 202, 202, 202, 202],
      [202, 202, 202, 202, 429],
    ],
    [
      'otp.deliveredOn',
      async (_, service) => {
        const { message_id: id } = (await requestCode(service, newEmail())).json
        await sendMail(service, id)
        const item = await service.table.get(mailKey(id))
        return item?.outbox ? eventsOf(item).map(({ type }) => type) : []
      },
      ['otp.requested', 'otp.delivered'],
      ['otp.requested'],
    ],
    [
      'otp.user',
      async (_, { settings, runtime }) => {
        const { user_id, email_hash } = await personOf('a@b.example', settings, runtime.derivedKey)
        const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
        return [user_id === email_hash, uuid.test(user_id)]
      },
      [true, false],
      [false, true],
    ],
    [
      'idempotency.anonymousScope',
      async (_, service) => {
        const [email, headers] = [newEmail(), { 'Idempotency-Key': 'same' }]
        await requestCode(service, email, { from: '192.0.2.1', headers })
        const again = await requestCode(service, email, { from: '192.0.2.2', headers })
        return again.headers['Idempotency-Status']
      },
      'replayed',
      'stored',
    ],
    [
      'auth.publicTenant',
      async (_, service) => {
        const { json } = await requestCode(service, newEmail())
        return (await service.table.get(mailKey(json.message_id)))?.tenant_id
      },
      'public',
      'shoppers',
    ],
  ])
})

describe('sessions', () => {
  const discount = (service: Service, headers: Record<string, string>) =>
    service.call({
      method: 'POST',
      path: '/discount/verify',
      headers: { 'Idempotency-Key': crypto.randomUUID(), ...headers },
      body: { code: 'X' },
    })
  expectChanges([
    [
      'otp.sessionSeconds',
      async (_, service) => {
        const { answer } = await newSession(service)
        const [session] = (await service.items(service.settings['auth.publicTenant'], 'session')).slice(-1)
        const lasting = (Number(session?.valid_until) - Date.parse(String(session?.started_at))) / 1000
        return [answer.cookies?.[0]?.match(/Max-Age=(\d+)/)?.[1], Math.round(lasting)]
      },
      ['3600', 3600],
      ['600', 600],
    ],
    [
      'auth.sessionOperations',
      async (_, service) => {
        const { headers } = await newSession(service)
        const orders = await service.call({ path: '/v1/orders', headers })
        return [await discount(service, headers), orders].map(outcome)
      },
      ['200', '401 AUTH.invalid_credentials'],
      // The other profile requires a second factor for lists, and a code by mail is none.
      ['401 AUTH.invalid_credentials', '403 POLICY.mfa.required'],
    ],
    [
      'auth.csrf',
      async (_, { settings }) => {
        const operations = { 'auth.sessionOperations': ['discount.verify'] }
        const service = await startService({ settings: { ...settings, ...operations } })
        const { headers } = await newSession(service)
        const { Cookie = '', ...token } = headers
        const answers = [await discount(service, headers), await discount(service, { Cookie })]
        return [Object.keys(token), ...answers.map(outcome)]
      },
      [['X-CSRF-Token'], '200', '403 AUTHZ.csrf.token'],
      // The other profile returns 404 for a code that does not apply.
      [['X-XSRF-Token'], '404 NOT_FOUND.code', '419 AUTHZ.csrf.token'],
    ],
  ])
})

describe('API keys', () => {
  const keyOf = async ({ table }: Service, scopes: string[]) => {
    const key = { tenant: 'keyed', name: 'n', scopes }
    return (await make({ table, clock: systemClock, name: 'jane' }, key)).key
  }
  /** The status of a call by a key with these scopes. */
  const by = (setting: string, scopes: string[], path: string, local: number, other: number): Row => [
    setting,
    async (_, service) => {
      const key = await keyOf(service, scopes)
      const headers = { [service.settings['auth.apiKeyHeader']]: key }
      return (await service.call({ path, headers })).status
    },
    local,
    other,
  ]
  // A key with the scope of the operation gets a 404 for an absent order.
  const order = `/v1/orders/${newId(systemClock)}`
  expectChanges([
    [
      'auth.apiKeyHeader',
      async (_, service) => {
        const key = await keyOf(service, ['codes:read'])
        const statuses = ['X-Api-Key', 'X-Service-Key'].map(
          async (header) => (await service.call({ path: '/codes', headers: { [header]: key } })).status,
        )
        return Promise.all(statuses)
      },
      [200, 401],
      [401, 200],
    ],
    by('auth.operationScopes', ['sales'], order, 403, 404),
    by('auth.operationScopes, of operations without a scope', ['operations:read'], '/operations/x', 404, 403),
    by('auth.apiKeyPermissions', [], order, 403, 404),
    by('auth.apiKeyPermissions, which does not extend scopes', ['codes:read'], order, 403, 403),
  ])
})
