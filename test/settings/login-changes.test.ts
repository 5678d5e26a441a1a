import { afterAll, expect, test } from '@jest/globals'
import type { PreTokenGenerationV2TriggerEvent } from 'aws-lambda'
import { addClaims } from '#shared/login/add-claims.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { fillWindows } from '#test/login/fill-window.ts'
import { clientId, password } from '#test/support/identity-provider/cognito-users.ts'
import {
  startIdentityProvider,
  useIdentityProvider,
} from '#test/support/identity-provider/identity-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { otherSettings } from '#test/support/settings.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */

const provider = await startIdentityProvider()
useIdentityProvider(provider)
afterAll(() => provider.stop())
const services = await Promise.all([startService(), startService({ settings: otherSettings })])
const both = <T>(ask: (service: Service) => Promise<T>) => Promise.all(services.map(ask))
const post = (service: Service, path: string, body: unknown) => service.call({ method: 'POST', path, body })
const login = (service: Service, email: string) => post(service, '/login', { email, password })

test('login.shape', async () => {
  const answers = await both((service) => login(service, 'shape@acme.example'))
  expect(answers.map(({ status, json }) => [status, Object.keys(json)])).toEqual([
    [200, ['access_token', 'token_type', 'expires_in', 'refresh_token']],
    [201, ['access_token', 'expires_in']],
  ])
})

test('passwordReset.shape', async () => {
  const answers = await both((service) => post(service, '/password/reset', { email: 'a@acme.example' }))
  expect(answers.map(({ status, json }) => [status, json])).toEqual([
    [202, { message_id: expect.any(String) }],
    [200, {}],
  ])
})

test('login.captcha', async () => {
  const details = await both(async (service) => {
    await login(service, 'captcha@acme.example')
    await fillWindows(service.tableName, Array(100).fill(Date.now()))
    return (await login(service, 'captcha@acme.example')).json.error.details
  })
  expect(details).toEqual([{ captcha_required: true }, { puzzle_required: true }])
})

test.each([
  ['login.countBy', '/login', 200],
  ['passwordReset.countBy', '/password/reset', 202],
])('%s', async (_, path, passed) => {
  // The source made 100 requests for other addresses: twice the limit, and less than five times.
  const call = (service: Service, email: string) =>
    post(service, path, path === '/login' ? { email, password } : { email })
  const statuses = await both(async ({ settings }) => {
    const service = await startService({ settings })
    await call(service, 'before@acme.example')
    await fillWindows(service.tableName, Array(100).fill(Date.now()))
    return (await call(service, 'after@acme.example')).status
  })
  expect(statuses).toEqual([passed, 429])
})

test('login.refusalMilliseconds', async () => {
  const durations = await both(async (service) => {
    const startedAt = performance.now()
    await post(service, '/login', { email: 'floor@acme.example', password: 'wrong' })
    return performance.now() - startedAt
  })
  const leasts = services.map(({ settings }) => settings['login.refusalMilliseconds'])
  expect(leasts).toEqual([400, 0])
  expect(durations[0]).toBeGreaterThanOrEqual(398)
})

test('login.scopes, in the claims named by auth.scopeClaim and auth.roleClaim', async () => {
  const event = {
    triggerSource: 'TokenGeneration_Authentication',
    callerContext: { clientId },
    request: { userAttributes: { sub: 's', 'custom:tenant': 'acme', 'custom:role': 'Admin' } },
  } as unknown as PreTokenGenerationV2TriggerEvent
  const added = await both(async ({ settings, table }) => {
    const isBlocked = async () => false
    const context = { settings, table, clock: systemClock, correlationId: 'c', isBlocked }
    const { response } = await addClaims(event, context)
    return response.claimsAndScopeOverrideDetails
  })
  const scopesToSuppress = ['aws.cognito.signin.user.admin']
  expect(added).toEqual([
    {
      accessTokenGeneration: {
        claimsToAddOrOverride: { aud: clientId, tenant: 'acme', roles: 'Admin' },
        scopesToAdd: ['codes:read', 'codes:write'],
        scopesToSuppress,
      },
    },
    {
      accessTokenGeneration: {
        claimsToAddOrOverride: { aud: clientId, tenant: 'acme', scp: 'orders:write codes:write' },
        scopesToAdd: [],
        scopesToSuppress,
      },
      groupOverrideDetails: { groupsToOverride: ['Admin'] },
    },
  ])
})
