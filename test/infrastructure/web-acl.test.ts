import { describe, expect, test } from '@jest/globals'
import { type Resource, referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'
import { capacityOf } from './web-acl-statements.ts'

const [{ template, settings }, local] = await Promise.all([synthesise('prod'), synthesise('local')])
const [[aclId, acl]] = resourcesOf(template, 'AWS::WAFv2::WebACL').filter(([id]) =>
  id.startsWith('WebAcl'),
) as [[string, Resource]]
const rules = acl.Properties.Rules as Resource['Properties'][]
const ruleNamed = (name: string) => rules.find((rule) => rule.Name === name)

describe('the web ACL', () => {
  test('protects the stage of the gateway', () => {
    const association = resourceNamed(template, 'AWS::WAFv2::WebACLAssociation', 'WebAclOfStage')
    expect(referenceOf(association.Properties.WebACLArn)).toBe(aclId)
    const [[stageId]] = resourcesOf(template, 'AWS::ApiGateway::Stage') as [[string, Resource]]
    expect(JSON.stringify(association.Properties.ResourceArn)).toContain(stageId)
    expect(acl.Properties).toMatchObject({ Scope: 'REGIONAL', DefaultAction: { Allow: {} } })
  })

  test('has the managed rules', () => {
    const managed = rules.flatMap(({ Statement: { ManagedRuleGroupStatement: group }, OverrideAction }) =>
      group ? [[group.VendorName, group.Name, OverrideAction]] : [],
    )
    expect(managed).toEqual([
      ['AWS', 'AWSManagedRulesAmazonIpReputationList', { None: {} }],
      ['AWS', 'AWSManagedRulesKnownBadInputsRuleSet', { None: {} }],
      ['AWS', 'AWSManagedRulesCommonRuleSet', { None: {} }],
    ])
  })

  test('does not check sizes and contents of bodies, which the functions check', () => {
    const { RuleActionOverrides: overrides } =
      ruleNamed('CommonRules')?.Statement.ManagedRuleGroupStatement ?? {}
    expect(overrides).toContainEqual({ Name: 'SizeRestrictions_BODY', ActionToUse: { Count: {} } })
    expect(overrides).toContainEqual({ Name: 'CrossSiteScripting_BODY', ActionToUse: { Count: {} } })
  })

  test.each([
    ['Logins', '/login', 300, 300],
    ['PasswordResets', '/password/reset', 300, 600],
    ['OneTimeCodes', '/otp/', 300, 300],
  ])('%s are limited by source address', (name, path, limit, seconds) => {
    const { ScopeDownStatement: at, ...rate } = ruleNamed(name)?.Statement.RateBasedStatement ?? {}
    expect(rate).toEqual({ AggregateKeyType: 'IP', Limit: limit, EvaluationWindowSec: seconds })
    const matching = (SearchString: string, PositionalConstraint: string, part: object, Type: string) => ({
      ByteMatchStatement: {
        ...{ SearchString, PositionalConstraint, FieldToMatch: part },
        TextTransformations: [{ Priority: 0, Type }],
      },
    })
    // A preflight is no POST.
    expect(at.AndStatement.Statements).toEqual(
      expect.arrayContaining([
        matching(path, 'CONTAINS', { UriPath: {} }, 'URL_DECODE'),
        matching('POST', 'EXACTLY', { Method: {} }, 'NONE'),
      ]),
    )
  })

  test('too many logins require a CAPTCHA', () => {
    expect(ruleNamed('Logins')?.Action).toEqual({ Captcha: {} })
  })

  describe.each([
    'PasswordResets',
    'OneTimeCodes',
    'AnonymousRequests',
    'Tokens',
    'ApiKeys',
    'Sessions',
    'Addresses',
  ])('too many %s are blocked', (name) => {
    const { CustomResponse: response } = ruleNamed(name)?.Action.Block ?? {}
    const headers = Object.fromEntries(
      response.ResponseHeaders.map(({ Name, Value }: Record<string, string>) => [Name, Value]),
    )

    test('with 429 in the error envelope', () => {
      const body = acl.Properties.CustomResponseBodies[response.CustomResponseBodyKey]
      expect(response.ResponseCode).toBe(429)
      expect(body.ContentType).toBe('APPLICATION_JSON')
      expect(JSON.parse(body.Content).error).toMatchObject({
        code: 'RATE_LIMIT.exceeded',
        http: 429,
        retryable: true,
        correlation_id: headers['X-Correlation-Id'],
      })
    })

    test('with Retry-After and the security headers', () => {
      expect(headers).toMatchObject({ 'Retry-After': '60', 'X-Frame-Options': 'DENY' })
    })

    test('within the number of headers that WAF permits, and without Content-Type', () => {
      expect(Object.keys(headers).length).toBeLessThanOrEqual(10)
      expect(Object.keys(headers)).not.toContain('Content-Type')
    })
  })

  test.each([
    ['Tokens', { Header: { Name: 'authorization' } }],
    ['ApiKeys', { Header: { Name: 'x-api-key' } }],
    ['Sessions', { Cookie: { Name: '__Host-session' } }],
  ])('%s are limited to 100 requests a second each, however they are written', (name, key) => {
    const written = [
      { Priority: 0, Type: 'COMPRESS_WHITE_SPACE' },
      { Priority: 1, Type: 'LOWERCASE' },
    ]
    const [[kind, value] = ['', {}]] = Object.entries(key)
    expect(ruleNamed(name)?.Statement.RateBasedStatement).toEqual({
      AggregateKeyType: 'CUSTOM_KEYS',
      CustomKeys: [{ [kind]: { ...value, TextTransformations: written } }],
      Limit: 6000,
      EvaluationWindowSec: 60,
    })
  })

  test('the header of API keys is that of auth.apiKeyHeader, also in the redaction', async () => {
    const { template: other } = await synthesise('prod', {
      changes: { 'auth.apiKeyHeader': 'X-Service-Key' },
    })
    const { Rules, DataProtectionConfig } = resourceNamed(other, 'AWS::WAFv2::WebACL', 'WebAcl').Properties
    expect(JSON.stringify([Rules, DataProtectionConfig])).not.toContain('x-api-key')
    expect(JSON.stringify(Rules)).toContain('"Header":{"Name":"x-service-key"')
    expect(DataProtectionConfig.DataProtections[0].Field.FieldKeys).toContain('x-service-key')
  })

  test('needs no more capacity than a web ACL has at its base price', () => {
    const capacity = rules.reduce((sum, { Statement }) => sum + capacityOf(Statement), 0)
    expect(capacity).toBeGreaterThan(925)
    expect(capacity).toBeLessThanOrEqual(1500)
  })

  test('every rule has its own priority', () => {
    expect(rules.map(({ Priority }) => Priority)).toEqual(rules.map((_, index) => index))
  })
})

describe('blocked addresses', () => {
  const blocking = ruleNamed('BlockedAddresses')

  test('are rejected before any other rule is evaluated', () => {
    expect(blocking).toMatchObject({ Priority: 0, Action: { Block: {} } })
  })

  test('are those of two sets, one for each version of IP, which begin empty', () => {
    const sets = resourcesOf(template, 'AWS::WAFv2::IPSet')
    expect(sets.map(([, { Properties }]) => [Properties.IPAddressVersion, Properties.Addresses])).toEqual([
      ['IPV4', []],
      ['IPV6', []],
    ])
    const used = blocking?.Statement.OrStatement.Statements.map(
      (one: Resource['Properties']) => one.IPSetReferenceStatement.Arn['Fn::GetAtt'][0],
    )
    expect(used).toEqual(sets.map(([id]) => id))
  })
})

describe('a web ACL that only counts', () => {
  const counting = { ...settings['limits.webAcl'], action: 'count' as const }
  const actionsOf = async () => {
    const { template: counted } = await synthesise('prod', { changes: { 'limits.webAcl': counting } })
    const { Rules } = resourceNamed(counted, 'AWS::WAFv2::WebACL', 'WebAcl').Properties
    return (Rules as Resource['Properties'][]).map(({ Name, Action, OverrideAction }) => [
      Name,
      Object.keys(Action ?? OverrideAction)[0],
    ])
  }

  test('still blocks the addresses that an operator blocked, and nothing else', async () => {
    const blocked = (await actionsOf()).filter(([, action]) => action !== 'Count')
    expect(blocked).toEqual([['BlockedAddresses', 'Block']])
  })
})

describe('the recorded data of requests', () => {
  test('has no samples, and no credential, query or body', () => {
    for (const { VisibilityConfig: visibility } of [...rules, acl.Properties]) {
      expect(visibility.SampledRequestsEnabled).toBe(false)
    }
    const { DataProtections: protections } = acl.Properties.DataProtectionConfig
    const protectedFields = protections.map(({ Action, Field }: Record<string, { FieldType: string }>) => [
      Action,
      Field?.FieldType,
    ])
    expect(
      protections.map((one: { ExcludeRateBasedDetails: boolean }) => one.ExcludeRateBasedDetails),
    ).toEqual([false, false, false])
    expect(protectedFields).toEqual([
      ['SUBSTITUTION', 'SINGLE_HEADER'],
      ['SUBSTITUTION', 'QUERY_STRING'],
      ['SUBSTITUTION', 'BODY'],
    ])
    expect(protections[0].Field.FieldKeys).toEqual(
      expect.arrayContaining(['authorization', 'cookie', 'x-api-key']),
    )
  })

  test('is a log of rejections only, with masked addresses', () => {
    const logging = resourceNamed(template, 'AWS::WAFv2::LoggingConfiguration', 'WebAclLogging')
    const { DefaultBehavior, Filters } = logging.Properties.LoggingFilter
    expect([DefaultBehavior, Filters.map(({ Behavior }: { Behavior: string }) => Behavior)]).toEqual([
      'DROP',
      ['KEEP', 'KEEP'],
    ])
    const [[, log]] = resourcesOf(template, 'AWS::Logs::LogGroup').filter(([id]) =>
      id.startsWith('WebAclLog'),
    ) as [[string, Resource]]
    expect(log.Properties.LogGroupName).toBe('aws-waf-logs-commerce-prod')
    expect(JSON.stringify(log.Properties.DataProtectionPolicy)).toContain('IpAddress')
  })
})

describe('the web ACL of the user pool', () => {
  const users = resourceNamed(template, 'AWS::WAFv2::WebACL', 'UsersWebAcl')

  test('is attached to the pool', () => {
    const association = resourceNamed(template, 'AWS::WAFv2::WebACLAssociation', 'WebAclOfUsers')
    const [[poolId]] = resourcesOf(template, 'AWS::Cognito::UserPool') as [[string, Resource]]
    expect(association.Properties.ResourceArn).toEqual({ 'Fn::GetAtt': [poolId, 'Arn'] })
    expect(referenceOf(association.Properties.WebACLArn)).toMatch(/^UsersWebAcl/)
  })

  test('blocks the same addresses as that of the gateway', () => {
    const [first] = users.Properties.Rules
    expect(first.Statement).toEqual(ruleNamed('BlockedAddresses')?.Statement)
  })

  test('blocks an address above its rate', () => {
    expect(users.Properties.Rules.slice(1)).toMatchObject([
      {
        Action: { Block: {} },
        Statement: {
          RateBasedStatement: { AggregateKeyType: 'IP', Limit: 1000, EvaluationWindowSec: 300 },
        },
      },
    ])
  })

  test('logs blocked requests to a group that the key of the stage permits', () => {
    const { Properties: log } = resourceNamed(template, 'AWS::Logs::LogGroup', 'UsersWebAclLog')
    expect(log.LogGroupName).toBe('aws-waf-logs-commerce-prod-users')
    const [[, key]] = resourcesOf(template, 'AWS::KMS::Key') as [[string, Resource]]
    expect(JSON.stringify(key.Properties.KeyPolicy)).toContain(`log-group:${log.LogGroupName}"`)
  })
})

test('the local stage, whose engine rejects it, has none', () => {
  for (const type of ['WebACL', 'WebACLAssociation', 'LoggingConfiguration']) {
    expect(resourcesOf(local.template, `AWS::WAFv2::${type}`)).toHaveLength(0)
  }
})
