import { describe, expect, test } from '@jest/globals'
import { hasResource, type Resource, referenceOf, resourcesOf, synthesise } from './synthesis.ts'

const { template } = await synthesise('prod')
const [[aclId, acl]] = resourcesOf(template, 'AWS::WAFv2::WebACL') as [[string, Resource]]
const rules = acl.Properties.Rules as Resource['Properties'][]
const ruleNamed = (name: string) => rules.find((rule) => rule.Name === name)

describe('the web ACL', () => {
  test('stands before the stage of the gateway', () => {
    const [[, association]] = resourcesOf(template, 'AWS::WAFv2::WebACLAssociation') as [[string, Resource]]
    expect(referenceOf(association.Properties.WebACLArn)).toBe(aclId)
    const [[stageId]] = resourcesOf(template, 'AWS::ApiGateway::Stage') as [[string, Resource]]
    expect(JSON.stringify(association.Properties.ResourceArn)).toContain(stageId)
    expect(acl.Properties).toMatchObject({ Scope: 'REGIONAL', DefaultAction: { Allow: {} } })
  })

  test('has the managed rules, whose refusals the gateway answers in the envelope', () => {
    const managed = rules.flatMap(({ Statement: { ManagedRuleGroupStatement: group }, OverrideAction }) =>
      group ? [[group.VendorName, group.Name, OverrideAction]] : [],
    )
    expect(managed).toEqual([
      ['AWS', 'AWSManagedRulesAmazonIpReputationList', { None: {} }],
      ['AWS', 'AWSManagedRulesKnownBadInputsRuleSet', { None: {} }],
      ['AWS', 'AWSManagedRulesCommonRuleSet', { None: {} }],
    ])
    expect(
      hasResource(template, 'AWS::ApiGateway::GatewayResponse', {
        ResponseType: 'WAF_FILTERED',
        StatusCode: '403',
      }),
    ).toBe(true)
  })

  test('leaves to the functions what they check themselves: sizes and contents of bodies', () => {
    const { RuleActionOverrides: overrides } =
      ruleNamed('CommonRules')?.Statement.ManagedRuleGroupStatement ?? {}
    expect(overrides).toContainEqual({ Name: 'SizeRestrictions_BODY', ActionToUse: { Count: {} } })
    expect(overrides).toContainEqual({ Name: 'CrossSiteScripting_BODY', ActionToUse: { Count: {} } })
  })

  test.each([
    ['Logins', '/login', 50, 300],
    ['PasswordResets', '/password/reset', 50, 600],
  ])(
    '%s from one address are asked for a CAPTCHA above the limit of the contract',
    (name, path, limit, seconds) => {
      const rule = ruleNamed(name)
      expect(rule?.Action).toEqual({ Captcha: {} })
      const { ScopeDownStatement: at, ...rate } = rule?.Statement.RateBasedStatement ?? {}
      expect(rate).toEqual({ AggregateKeyType: 'IP', Limit: limit, EvaluationWindowSec: seconds })
      expect(at.ByteMatchStatement).toMatchObject({
        SearchString: path,
        PositionalConstraint: 'CONTAINS',
        FieldToMatch: { UriPath: {} },
      })
    },
  )

  test('every rule has a place of its own', () => {
    expect(rules.map(({ Priority }) => Priority)).toEqual(rules.map((_, index) => index))
  })
})

describe('what it tells of requests', () => {
  test('is no sample, and holds no credential, query or body', () => {
    for (const { VisibilityConfig: told } of [...rules, acl.Properties]) {
      expect(told.SampledRequestsEnabled).toBe(false)
    }
    const { DataProtections: protections } = acl.Properties.DataProtectionConfig
    const protectedFields = protections.map(({ Action, Field }: Record<string, { FieldType: string }>) => [
      Action,
      Field?.FieldType,
    ])
    expect(protectedFields).toEqual([
      ['SUBSTITUTION', 'SINGLE_HEADER'],
      ['SUBSTITUTION', 'QUERY_STRING'],
      ['SUBSTITUTION', 'BODY'],
    ])
    expect(protections[0].Field.FieldKeys).toEqual(
      expect.arrayContaining(['authorization', 'cookie', 'x-api-key']),
    )
  })

  test('is a log of refusals alone, in which addresses are masked', () => {
    const [[, logging]] = resourcesOf(template, 'AWS::WAFv2::LoggingConfiguration') as [[string, Resource]]
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

test('the local stage, whose engine refuses it, has none', async () => {
  const local = await synthesise('local')
  for (const type of ['WebACL', 'WebACLAssociation', 'LoggingConfiguration']) {
    expect(resourcesOf(local.template, `AWS::WAFv2::${type}`)).toHaveLength(0)
  }
})
