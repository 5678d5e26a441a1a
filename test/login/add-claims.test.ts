import { describe, expect, test } from '@jest/globals'
import type { PreTokenGenerationV2TriggerEvent } from 'aws-lambda'
import { addClaims } from '#shared/login/add-claims.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { useFaultyService } from '#test/faults/faulty-service.ts'
import { declaredTable } from '#test/support/declared-table.ts'

const service = await useFaultyService()

const attributes = (more: Record<string, string>) => ({
  sub: 'sub-1',
  email: 'canary@acme.example',
  email_verified: 'true',
  'custom:tenant': 'acme',
  'custom:role': 'Editor',
  ...more,
})
const add = async (userAttributes: Record<string, string>, triggerSource: string, milliseconds = 4000) => {
  const pool = { region: 'us-east-1', userPoolId: 'us-east-1_pool' }
  const request = { userAttributes }
  const event = { ...pool, triggerSource, request, userName: 'sub-1' }
  const answer = await addClaims(event as unknown as PreTokenGenerationV2TriggerEvent, {
    table: declaredTable(
      'login.add-claims',
      service.runtime.openTable(startBudget(service.clock, milliseconds)),
    ),
    clock: service.clock,
    settings: service.settings,
    correlationId: 'invocation-1',
    isBlocked: async (tenant) => tenant === 'blocked',
  })
  return answer.response.claimsAndScopeOverrideDetails
}
const login = 'TokenGeneration_Authentication'
const refresh = 'TokenGeneration_RefreshTokens'
const added = (claims: Record<string, string>, scopesToAdd: string[]) => ({
  accessTokenGeneration: {
    claimsToAddOrOverride: claims,
    scopesToAdd,
    // Without it a token cannot enroll second factors or delete its user.
    scopesToSuppress: ['aws.cognito.signin.user.admin'],
  },
})

describe('an access token', () => {
  test.each<[string, Record<string, string>, object]>([
    [
      'names tenant, role and scopes',
      {},
      added({ tenant: 'acme', roles: 'Editor' }, ['codes:read', 'codes:write']),
    ],
    [
      'of a Viewer can read',
      { 'custom:role': 'Viewer' },
      added({ tenant: 'acme', roles: 'Viewer' }, ['codes:read']),
    ],
    ['of an unknown role has none', { 'custom:role': 'Owner' }, added({ tenant: 'acme' }, [])],
    [
      'of a tenant with a key separator has none',
      { 'custom:tenant': 'acme#0' },
      added({ roles: 'Editor' }, ['codes:read', 'codes:write']),
    ],
  ])('%s', async (_, more, expected) => {
    expect(await add(attributes(more), login)).toEqual(expected)
  })

  test('of a login writes no audit record', async () => {
    await add(attributes({ 'custom:tenant': 'quiet' }), login)
    expect(await service.items('quiet', 'audit')).toEqual([])
  })
})

describe('an access token for a refresh token', () => {
  test('of a blocked tenant has no claims of it', async () => {
    expect(await add(attributes({ 'custom:tenant': 'blocked' }), refresh)).toEqual(added({}, []))
  })

  test('of a blocked tenant is not audited in it', async () => {
    await add(attributes({ 'custom:tenant': 'blocked' }), refresh)
    expect(await service.items('blocked', 'audit')).toEqual([])
  })

  test('is audited in its tenant, with the user and without their e-mail', async () => {
    const details = await add(attributes({ 'custom:tenant': 'rotated' }), refresh)
    expect(details).toEqual(added({ tenant: 'rotated', roles: 'Editor' }, ['codes:read', 'codes:write']))
    const records = await service.items('rotated', 'audit')
    expect(records).toEqual([
      expect.objectContaining({
        action: 'token.rotated',
        actor_id: 'sub-1',
        token_sub: 'sub-1',
        issuer: 'https://cognito-idp.us-east-1.amazonaws.com/us-east-1_pool',
        role: 'Editor',
        tenant_id: 'rotated',
        result: 'allow',
        correlation_id: 'invocation-1',
      }),
    ])
    expect(JSON.stringify(records)).not.toContain('canary')
  })

  test('is audited once if the response of the table is lost', async () => {
    service.inject('lose-answer')
    await add(attributes({ 'custom:tenant': 'lost' }), refresh)
    expect(await service.items('lost', 'audit')).toHaveLength(1)
  })

  test('is not issued while it cannot be audited', async () => {
    service.inject('lose-request', 0, Number.POSITIVE_INFINITY)
    const adding = add(attributes({ 'custom:tenant': 'down' }), refresh, 500)
    await expect(adding).rejects.toMatchObject({ code: expect.stringMatching(/^DEPENDENCY\./) })
    service.faults.reset()
    expect(await service.items('down', 'audit')).toEqual([])
  })
})
