import { describe, expect, test } from '@jest/globals'
import { propertiesOf, type Resource, templatesOf } from './synthesis.ts'
import { capacityOf } from './web-acl-statements.ts'

const { template, settings } = await templatesOf('prod')
const acl = propertiesOf(template, 'WebAcl')
const rules: Resource['Properties'][] = acl.Rules
const ruleNamed = (name: string) => rules.find((rule) => rule.Name === name)

describe('the web ACL', () => {
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

  test('has at most ten rate rules, or its deployment fails', () => {
    const rates = rules.filter(({ Statement }) => Statement.RateBasedStatement)
    expect(rates.length).toBeGreaterThan(0)
    expect(rates.length).toBeLessThanOrEqual(10)
  })

  // Their rates are tested as settings.
  test.each([
    ['Logins', '/login'],
    ['PasswordResets', '/password/reset'],
    ['OneTimeCodes', '/otp/'],
  ])('%s are limited by source address', (name, path) => {
    const { ScopeDownStatement: at, AggregateKeyType } = ruleNamed(name)?.Statement.RateBasedStatement ?? {}
    expect(AggregateKeyType).toBe('IP')
    const matching = (SearchString: string, PositionalConstraint: string, part: object, Type: string) => ({
      ByteMatchStatement: {
        ...{ SearchString, PositionalConstraint, FieldToMatch: part },
        TextTransformations: [{ Priority: 0, Type }],
      },
    })
    // A preflight is no POST.
    expect(at.AndStatement.Statements).toEqual([
      matching('POST', 'EXACTLY', { Method: {} }, 'NONE'),
      matching(path, 'CONTAINS', { UriPath: {} }, 'URL_DECODE'),
    ])
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
    'Webhooks',
  ])('too many %s are blocked', (name) => {
    const { CustomResponse: response } = ruleNamed(name)?.Action.Block ?? {}
    const headers = Object.fromEntries(
      response.ResponseHeaders.map(({ Name, Value }: Record<string, string>) => [Name, Value]),
    )

    test('with 429 in the error envelope', () => {
      const body = acl.CustomResponseBodies[response.CustomResponseBodyKey]
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
    ['Tokens', 'Header', 'authorization'],
    ['ApiKeys', 'Header', 'x-api-key'],
    ['Sessions', 'Cookie', '__Host-session'],
  ])('%s are limited each, however they are written', (name, kind, Name) => {
    const TextTransformations = [
      { Priority: 0, Type: 'COMPRESS_WHITE_SPACE' },
      { Priority: 1, Type: 'LOWERCASE' },
    ]
    expect(ruleNamed(name)?.Statement.RateBasedStatement).toMatchObject({
      AggregateKeyType: 'CUSTOM_KEYS',
      CustomKeys: [{ [kind]: { Name, TextTransformations } }],
    })
  })

  test('the header of API keys is that of auth.apiKeyHeader, also in the redaction', async () => {
    const changes = { 'auth.apiKeyHeader': 'X-Service-Key' }
    const { Rules, DataProtectionConfig } = propertiesOf(
      (await templatesOf('prod', { changes })).template,
      'WebAcl',
    )
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
  test('are rejected before any other rule is evaluated', () => {
    expect(rules[0]).toMatchObject({ Name: 'BlockedAddresses', Action: { Block: {} } })
  })

  test('are those of two sets, one for each version of IP', () => {
    const { Statements: sets } = rules[0].Statement.OrStatement
    expect(sets.map((one: Resource['Properties']) => one.IPSetReferenceStatement.Arn)).toEqual([
      '<BlockedIpv4.Arn>',
      '<BlockedIpv6.Arn>',
    ])
  })

  test('are also blocked by the web ACL of the user pool', () => {
    expect(propertiesOf(template, 'UsersWebAcl').Rules[0].Statement).toEqual(rules[0].Statement)
  })

  test('are all that a web ACL blocks that only counts', async () => {
    const counting = { 'limits.webAcl': { ...settings['limits.webAcl'], action: 'count' as const } }
    const counted = await templatesOf('prod', { changes: counting })
    const actions: [string, string][] = propertiesOf(counted.template, 'WebAcl').Rules.map(
      ({ Name, Action, OverrideAction }: Resource['Properties']) => [
        Name,
        Object.keys(Action ?? OverrideAction)[0],
      ],
    )
    expect(actions.filter(([, action]) => action !== 'Count')).toEqual([['BlockedAddresses', 'Block']])
  })
})

describe('the recorded data of requests', () => {
  test('has no samples', () => {
    for (const { VisibilityConfig: visibility } of [...rules, acl])
      expect(visibility.SampledRequestsEnabled).toBe(false)
  })

  test('has no credential, query or body', () => {
    const substituted = (Field: object) => ({ Action: 'SUBSTITUTION', ExcludeRateBasedDetails: false, Field })
    const FieldKeys = expect.arrayContaining(['authorization', 'cookie', 'x-api-key'])
    expect(acl.DataProtectionConfig.DataProtections).toEqual([
      substituted({ FieldType: 'SINGLE_HEADER', FieldKeys }),
      substituted({ FieldType: 'QUERY_STRING' }),
      substituted({ FieldType: 'BODY' }),
    ])
  })
})
