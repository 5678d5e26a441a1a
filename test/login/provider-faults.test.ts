import { describe, expect, test } from '@jest/globals'
import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { clientId, password, userPoolId } from '#test/support/identity-provider/cognito-users.ts'
import type { ProviderFault } from '#test/support/identity-provider/identity-provider.ts'
import { providerOfTest } from '#test/support/identity-provider/provider-of-test.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

const provider = await providerOfTest()
const service = await startService()

const said = (status: number, type: string, message = ''): ProviderFault => ({
  status,
  body: { __type: type, message },
})

const faults: [what: string, fault: ProviderFault, answer: string][] = [
  ['resets the connection', 'reset', '503 DEPENDENCY.unavailable'],
  ['loses the answer', 'lose', '504 DEPENDENCY.timeout'],
  ['is slow', { milliseconds: 12_000 }, '504 DEPENDENCY.timeout'],
  ['throttles', said(400, 'TooManyRequestsException'), '503 DEPENDENCY.unavailable'],
  ['refuses the address', said(400, 'ForbiddenException'), '503 DEPENDENCY.unavailable'],
  ['has a fault of its own', said(500, 'InternalErrorException'), '503 DEPENDENCY.unavailable'],
  ['could not add the claims', said(400, 'UserLambdaValidationException'), '503 DEPENDENCY.unavailable'],
  ['answers without tokens', { status: 200, body: {} }, '502 DEPENDENCY.bad_gateway'],
  ['does not know the client', said(400, 'ResourceNotFoundException'), '500 INTERNAL.unexpected'],
  [
    'does not allow the flow',
    said(400, 'InvalidParameterException', 'Auth flow not enabled for this client'),
    '500 INTERNAL.unexpected',
  ],
  [
    'wants a secret of the client',
    said(400, 'NotAuthorizedException', 'Client is configured with secret but SECRET_HASH was not received'),
    '500 INTERNAL.unexpected',
  ],
]

describe('a login if the provider', () => {
  test.each(faults)('%s responds after one attempt, and publishes nothing', async (_, fault, expected) => {
    provider.faults = () => fault
    const { status, json, headers } = await service.call({
      method: 'POST',
      path: '/login',
      headers: { 'X-Request-Timeout': '8000' },
      body: { email: 'jane@faults.example', password },
      failsInternally: expected.startsWith('500'),
    })
    expect(`${status} ${json.error.code}`).toBe(expected)
    expect(headers['Retry-After'] ?? 'none').toMatch(status === 503 ? /^[1-5]$/ : /^none$/)
    expect(provider.calls).toHaveLength(1)
    expect(await service.items('public', 'login')).toEqual([])
    expect(await service.items('faults', 'login')).toEqual([])
  })
})

describe('a mail if the provider', () => {
  const send = (email: string) =>
    cognitoProvider({ userPoolId, clientId }, localSettings).sendReset(email, startBudget(systemClock, 8000))

  test.each(faults.filter(([what]) => !/tokens|flow|secret/.test(what)))(
    '%s is not recorded as sent',
    async (_, fault, expected) => {
      provider.faults = () => fault
      const sending = send('jane@faults.example')
      if (expected.startsWith('500')) await expect(sending).rejects.toThrow()
      else await expect(sending).rejects.toMatchObject({ code: expected.slice(4) })
      expect(provider.calls).toHaveLength(1)
    },
  )

  test.each(['unknown-1@a.example', 'disabled-1@a.example', 'eager-1@a.example'])(
    'has no user for it, as for %s, is done',
    async (email) => {
      await send(email)
      // A slow answer of another case may still mail its user.
      expect(provider.mailed).not.toContain(email)
    },
  )
})
