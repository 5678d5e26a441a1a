import { afterAll } from '@jest/globals'
import type { PreTokenGenerationV2TriggerEvent } from 'aws-lambda'
import { personOf } from '#shared/identity/person.ts'
import { addClaims } from '#shared/login/add-claims.ts'
import { mailKey } from '#shared/otp/code-mail.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import type { Mail } from '#shared/platform/aws/ses.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { fillWindows } from '#test/login/fill-window.ts'
import { password } from '#test/support/identity-provider/cognito-users.ts'
import {
  startIdentityProvider,
  useIdentityProvider,
} from '#test/support/identity-provider/identity-provider.ts'
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
import { each, newTenantOf, type Row, type Tenant, testChanges } from './changes.ts'

const provider = await startIdentityProvider()
useIdentityProvider(provider)
afterAll(() => provider.stop())

/** Sends the mail of a requested code, as the queue does. */
async function sendMail({ service }: Tenant): Promise<{ id: string; code: string; mails: Mail[] }> {
  const { table, settings, runtime } = service
  const { message_id: id } = (await requestCode(service, newEmail())).json
  const { code } = await mailOf(service, id)
  const mails: Mail[] = []
  const context = { ...service, table, settings, derivedKey: runtime.derivedKey, clock: systemClock }
  await sendCode(id, context, async (_, mail) => {
    mails.push(mail)
  })
  return { id, code, mails }
}

/** Starts the deployment with a table of its own, so that nothing was counted yet. */
const fresh = ({ settings }: Tenant, now = Date.now) =>
  startService({ settings, clock: { ...systemClock, now } })

const post = (service: Service, path: string, email: string) =>
  service.call({ method: 'POST', path, body: path === '/login' ? { email, password } : { email } })

/** Calls again after 100 requests of the source: twice the limit, and less than five times. */
async function callWhenBusy(tenant: Tenant, path: string, ...[first, second]: [string, string]) {
  const service = await fresh(tenant)
  await post(service, path, first)
  await fillWindows(service.tableName, Array(100).fill(Date.now()))
  return post(service, path, second)
}
const [one, another] = ['one@acme.example', 'another@acme.example']

/** Returns what the trigger of the user pool adds to the token of an Admin. */
async function addedClaims({ service: { settings, table } }: Tenant) {
  const event = {
    triggerSource: 'TokenGeneration_Authentication',
    request: { userAttributes: { sub: 's', 'custom:tenant': 'acme', 'custom:role': 'Admin' } },
  } as unknown as PreTokenGenerationV2TriggerEvent
  const isBlocked = async () => false
  const { response } = await addClaims(event, {
    settings,
    table,
    clock: systemClock,
    correlationId: 'c',
    isBlocked,
  })
  return response.claimsAndScopeOverrideDetails?.accessTokenGeneration
}
const claims = {
  claimsToAddOrOverride: { tenant: 'acme', roles: 'Admin' },
  scopesToAdd: ['codes:read', 'codes:write'],
  scopesToSuppress: ['aws.cognito.signin.user.admin'],
}

const bySource = [{ by: 'source' as const, times: 2 }]
const wrong = 'CODE.invalid'
const limited = 'RATE_LIMIT.exceeded'

// biome-ignore format: a table of rows
const rows: Row[] = [
  ['otp.code', { digits: 8 }, async ({ service }) => (await requestedCode(service, newEmail())).length, 8],
  ['otp.code', { maxAttempts: 2 }, async ({ service }) => {
    const email = newEmail()
    const code = await requestedCode(service, email)
    const tries = [otherThan(code), otherThan(code), otherThan(code), code]
    return (await each(tries, (one) => verifyCode(service, email, one))).at(-1)?.status
  }, 400],
  ['otp.mail', { subject: 'Anmeldung', text: 'Ihr Code: {code} – {code}' }, async (tenant) => {
    const { code, mails } = await sendMail(tenant)
    return mails.map(({ subject, text }) => [subject, text.replaceAll(code, 'CODE')])
  }, [['Anmeldung', 'Ihr Code: CODE – CODE']]],
  ['mail.sender', { from: 'shop@example.org' },
    async (tenant) => (await sendMail(tenant)).mails.map(({ from }) => from), ['shop@example.org']],
  ['mail.sender', null, async ({ service }) => {
    const { status, json } = await requestCode(service, newEmail())
    return [status, json.error?.code, json.error?.details]
  }, [503, 'DEPENDENCY.unavailable', { dependency: 'mail' }]],
  ['otp.sourceThrottle', { wrongAttempts: 8 }, async (tenant) => {
    const service = await fresh(tenant)
    return (await each(Array(9).fill('123456'), (code) => verifyCode(service, newEmail(), code)))
      .map(outcome)
      .at(-1)
  }, '429 RATE_LIMIT.exceeded'],
  ['otp.sourceThrottle', { requests: 3, wrongAttempts: 2, windowSeconds: 60 },
    // The third pause is longer than the window.
    async (tenant) => {
    let now = Date.now()
    const service = await fresh(tenant, () => now)
    return each([0, 0, 0, 0, 61], async (seconds) => {
      now += seconds * 1000
      return (await requestCode(service, newEmail())).status
    })
  }, [202, 202, 202, 429, 202]],
  ['otp.dailyWrongAttempts', { limit: 6 }, async (tenant) => {
    let now = Date.now()
    const service = await fresh(tenant, () => now)
    const email = newEmail()
    return each(['a', 'b', 'c', 'd', 'e', 'f', 'g'], async (from) => {
      now += 6 * 60_000
      const { json } = await requestCode(service, email, { from })
      const code = json.message_id && (await mailOf(service, json.message_id)).code
      const answer = code ? await verifyCode(service, email, otherThan(code), { from }) : { json }
      return answer.json.error.code
    })
  }, [...Array(6).fill(wrong), limited]],
  ['otp.mailsPerAddress', { limit: 4 }, async ({ service }) => {
    const email = newEmail()
    return each(
      ['a', 'b', 'c', 'd', 'e'],
      async (from) => (await requestCode(service, email, { from })).status,
    )
  }, [202, 202, 202, 202, 429]],
  ['otp.deliveredOn', 'delivery', async (tenant) => {
    const { id } = await sendMail(tenant)
    const item = await tenant.service.table.get(mailKey(id))
    return item?.outbox ? eventsOf(item).map(({ type }) => type) : []
  }, ['otp.requested']],
  ['otp.sessionSeconds', 600, async ({ service }) => {
    const { answer } = await newSession(service)
    const [session] = (await service.items(service.settings['auth.publicTenant'], 'session')).slice(-1)
    const lasting = (Number(session?.valid_until) - Date.parse(String(session?.started_at))) / 1000
    return [answer.cookies?.[0]?.match(/Max-Age=(\d+)/)?.[1], Math.round(lasting)]
  }, ['600', 600]],
  ['otp.user', 'uuid', async ({ settings, service }) => {
    const { user_id, email_hash } = await personOf('a@b.example', settings, service.runtime.derivedKey)
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    return [user_id === email_hash, uuid.test(user_id)]
  }, [false, true]],
  ['login.shape', { status: 201, fields: ['access_token', 'expires_in'] }, async ({ service }) => {
    const { status, json } = await post(service, '/login', 'shape@acme.example')
    return [status, Object.keys(json)]
  }, [201, ['access_token', 'expires_in']]],
  ['passwordReset.shape', { status: 200, fields: [] }, async ({ service }) => {
    const { status, json } = await post(service, '/password/reset', 'a@acme.example')
    return [status, Object.keys(json)]
  }, [200, []]],
  ['login.captcha', { detail: 'puzzle_required' },
    async (tenant) => (await callWhenBusy(tenant, '/login', one, one)).json.error.details, { puzzle_required: true }],
  ['login.countBy', bySource, async (tenant) => (await callWhenBusy(tenant, '/login', one, another)).status, 429],
  ['passwordReset.countBy', bySource,
    async (tenant) => (await callWhenBusy(tenant, '/password/reset', one, another)).status, 429],
  ['login.scopes', { Admin: ['codes:read'] }, addedClaims, { ...claims, scopesToAdd: ['codes:read'] }],
]

testChanges(rows, newTenantOf)
