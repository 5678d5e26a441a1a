import { describe, expect, test } from '@jest/globals'
import { functionOf, routes } from '#functions/routes.ts'
import { pascalCase } from '#lib/function-entries.ts'
import { otherSettings } from '#test/support/settings.ts'
import { type Resource, referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template } = await synthesise('prod')
const [[poolId, pool]] = resourcesOf(template, 'AWS::Cognito::UserPool') as [[string, Resource]]
const [[clientId, client]] = resourcesOf(template, 'AWS::Cognito::UserPoolClient') as [[string, Resource]]

describe('the user pool', () => {
  test('invokes the function that adds the claims, for access tokens too', () => {
    const asked = pool.Properties.LambdaConfig.PreTokenGenerationConfig
    expect(asked.LambdaVersion).toBe('V2_0')
    expect(pool.Properties.UserPoolTier).toBe('ESSENTIALS')
    const handler = referenceOf(asked.LambdaArn)
    expect(handler).toMatch(/^LoginAddClaimsLive/)
    const permissions = resourcesOf(template, 'AWS::Lambda::Permission').map(
      ([, { Properties }]) => Properties,
    )
    expect(permissions).toContainEqual({
      Action: 'lambda:InvokeFunction',
      FunctionName: { Ref: handler },
      Principal: 'cognito-idp.amazonaws.com',
      SourceArn: { 'Fn::GetAtt': [poolId, 'Arn'] },
    })
  })
})

test('permits only the login function to log users in with a password', () => {
  const policies = resourcesOf(template, 'AWS::IAM::Policy').filter(([, { Properties }]) =>
    JSON.stringify(Properties).includes('cognito-idp:'),
  )
  expect(policies.map(([id]) => id)).toEqual([expect.stringMatching(/^LoginSignInRole/)])
})

describe('its app client', () => {
  test('issues tokens for the durations in login.tokenLifetimes', async () => {
    const lifetimesOf = (properties: Resource['Properties']) => ({
      access: [properties.AccessTokenValidity, properties.TokenValidityUnits.AccessToken],
      refresh: [properties.RefreshTokenValidity, properties.TokenValidityUnits.RefreshToken],
    })
    expect(lifetimesOf(client.Properties)).toEqual({
      access: [60, 'minutes'],
      refresh: [30 * 24 * 60, 'minutes'],
    })
    const changes = { 'login.tokenLifetimes': otherSettings['login.tokenLifetimes'] }
    const changed = await synthesise('dev', { changes })
    const [[, other]] = resourcesOf(changed.template, 'AWS::Cognito::UserPoolClient') as [[string, Resource]]
    expect(lifetimesOf(other.Properties)).toEqual({
      access: [15, 'minutes'],
      refresh: [7 * 24 * 60, 'minutes'],
    })
  })
})

test.each(routes)('$route.operation knows the pool if it accepts tokens', (entry) => {
  const { name } = functionOf(entry)
  const { Properties: built } = resourceNamed(template, 'AWS::Lambda::Function', pascalCase(name))
  const { USER_POOL_ISSUER: issuer, USER_POOL_CLIENT_ID: audience } = built.Environment.Variables
  if (entry.route.auth !== 'bearer') return expect(issuer).toBeUndefined()
  expect(audience).toEqual({ Ref: clientId })
  expect(issuer).toEqual({ 'Fn::Join': ['', ['https://', { 'Fn::GetAtt': [poolId, 'ProviderName'] }]] })
})

test('the stack names the pool and its client', () => {
  expect(template.Outputs?.UserPoolId).toMatchObject({ Value: { Ref: poolId } })
  expect(template.Outputs?.UserPoolClientId).toMatchObject({ Value: { Ref: clientId } })
})
