import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { UserPool } from 'aws-cdk-lib/aws-cognito'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { DataIdentifier, DataProtectionPolicy } from 'aws-cdk-lib/aws-logs'
import { CfnLoggingConfiguration, CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import type { Construct } from 'constructs'
import { envelope, fail } from '#shared/platform/base/failure.ts'
import { securityHeaders } from '#shared/platform/request/respond.ts'
import type { Settings } from '#shared/settings/register.ts'
import { serviceLog } from './service-log.ts'
import type { Stage } from './stage.ts'

/** A rate that the web ACL allows each source address for the paths that contain `path`. */
interface RateRule {
  name: string
  path: string
  limit: 'logins' | 'passwordResets' | 'oneTimeCodes'
  /** Asks for a CAPTCHA instead of blocking: a browser that solves it continues. */
  captcha: boolean
}

export const rateRules: readonly RateRule[] = [
  { name: 'Logins', path: '/login', limit: 'logins', captcha: true },
  { name: 'PasswordResets', path: '/password/reset', limit: 'passwordResets', captcha: false },
  { name: 'OneTimeCodes', path: '/otp/', limit: 'oneTimeCodes', captcha: false },
]

interface WebAclProps {
  stage: Stage
  settings: Settings
  key: Key | undefined
}

/**
 * Creates the web ACL of the gateway: the managed rules of AWS, and rate rules for logins, password resets and one-time
 * codes. Its rates are above the service's own throttles, so the service answers 429 first.
 */
export function webAcl(scope: Construct, api: RestApi, props: WebAclProps): void {
  const limits = props.settings['limits.webAcl']
  const { tokenDomains, immunitySeconds } = limits.captcha
  const acl = new CfnWebACL(scope, 'WebAcl', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    visibilityConfig: visible('WebAcl'),
    dataProtectionConfig: withoutSecrets(),
    // A page has another host than the API. Without this list WAF rejects its tokens.
    tokenDomains,
    captchaConfig: { immunityTimeProperty: { immunityTime: immunitySeconds } },
    customResponseBodies: {
      TooManyRequests: { contentType: 'APPLICATION_JSON', content: tooManyRequestsBody },
    },
    rules: [
      managed('IpReputation', 'AWSManagedRulesAmazonIpReputationList'),
      managed('KnownBadInputs', 'AWSManagedRulesKnownBadInputsRuleSet'),
      managed('CommonRules', 'AWSManagedRulesCommonRuleSet', countedOnly),
      ...rateRules.map((rule) => rateRule(rule, limits)),
    ].map((rule, priority) => ({ ...rule, priority })),
  })
  const { stageArn: resourceArn } = api.deploymentStage
  new CfnWebACLAssociation(scope, 'WebAclOfStage', { resourceArn, webAclArn: acl.attrArn })
  logRefusals(scope, acl, { ...props, id: 'WebAcl', suffix: '' })
}

/**
 * Creates the web ACL of the user pool, whose public operations anyone can call without the service. It limits requests
 * per address. Cognito answers blocked requests with a ForbiddenException.
 */
export function userPoolWebAcl(scope: Construct, pool: UserPool, props: WebAclProps): void {
  const acl = new CfnWebACL(scope, 'UsersWebAcl', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    visibilityConfig: visible('UsersWebAcl'),
    rules: [
      {
        name: 'Requests',
        priority: 0,
        action: { block: {} },
        statement: byAddress(props.settings['limits.webAcl'].userPool),
        visibilityConfig: visible('UsersRequests'),
      },
    ],
  })
  const { userPoolArn: resourceArn } = pool
  new CfnWebACLAssociation(scope, 'WebAclOfUsers', { resourceArn, webAclArn: acl.attrArn })
  logRefusals(scope, acl, { ...props, id: 'UsersWebAcl', suffix: '-users' })
}

/**
 * Rules of the common set that only count. Query arguments and bodies are validated against their schemas, are never
 * rendered as HTML and open no file or address, so a search or a name may hold any text. The size of a body is limited
 * by route. The longest permitted list query exceeds the 2,048 bytes of AWS; the gateway accepts 10,240 bytes for
 * request line and headers. Programs need not send a User-Agent.
 */
const countedOnly = [
  'SizeRestrictions_QUERYSTRING',
  'SizeRestrictions_BODY',
  'CrossSiteScripting_QUERYARGUMENTS',
  'CrossSiteScripting_BODY',
  'GenericLFI_QUERYARGUMENTS',
  'GenericLFI_BODY',
  'GenericRFI_QUERYARGUMENTS',
  'GenericRFI_BODY',
  'RestrictedExtensions_QUERYARGUMENTS',
  'EC2MetaDataSSRF_QUERYARGUMENTS',
  'EC2MetaDataSSRF_BODY',
  'NoUserAgent_HEADER',
]

type Rule = Omit<CfnWebACL.RuleProperty, 'priority'>

function managed(name: string, ruleSet: string, counted: readonly string[] = []): Rule {
  const ruleActionOverrides = counted.map((one) => ({ name: one, actionToUse: { count: {} } }))
  return {
    name,
    overrideAction: { none: {} },
    statement: { managedRuleGroupStatement: { vendorName: 'AWS', name: ruleSet, ruleActionOverrides } },
    visibilityConfig: visible(name),
  }
}

/** Returns a rate rule by source address, for POST only: a preflight is not an attempt. */
function rateRule({ name, path, limit, captcha }: RateRule, limits: Settings['limits.webAcl']): Rule {
  const matching = (positionalConstraint: string, searchString: string) => ({
    positionalConstraint,
    searchString,
  })
  const [post, below] = [matching('EXACTLY', 'POST'), matching('CONTAINS', path)]
  const statements = [
    { ...post, fieldToMatch: { method: {} }, textTransformations: [{ priority: 0, type: 'NONE' }] },
    // The gateway's own address has the stage before the path and accepts a trailing slash.
    { ...below, fieldToMatch: { uriPath: {} }, textTransformations: [{ priority: 0, type: 'URL_DECODE' }] },
  ].map((byteMatchStatement) => ({ byteMatchStatement }))
  return {
    name,
    action: captcha ? { captcha: {} } : tooManyRequests(limits.retryAfterSeconds),
    statement: byAddress(limits[limit], { andStatement: { statements } }),
    visibilityConfig: visible(name),
  }
}

/** Returns the condition that a source address sends more requests than allowed. */
function byAddress(
  { requests, windowSeconds }: { requests: number; windowSeconds: number },
  scopeDownStatement?: CfnWebACL.StatementProperty,
): CfnWebACL.StatementProperty {
  const limit = { limit: requests, evaluationWindowSec: windowSeconds, aggregateKeyType: 'IP' }
  return { rateBasedStatement: { ...limit, ...(scopeDownStatement && { scopeDownStatement }) } }
}

/** WAF sends constant texts: it knows neither the caller's correlation id nor the gateway's request id. */
const correlationId = 'web-acl'
const tooManyRequestsBody = JSON.stringify(envelope(fail('RATE_LIMIT.exceeded'), correlationId))

/**
 * Returns a block action with 429 in the error envelope. A custom response of WAF takes precedence over the gateway's
 * WAF_FILTERED response, which has one status, 403, for all rules.
 */
function tooManyRequests(retryAfterSeconds: number): CfnWebACL.RuleActionProperty {
  const headers = {
    ...securityHeaders,
    'Cache-Control': 'no-store',
    Vary: 'Origin',
    'X-Correlation-Id': correlationId,
    'Retry-After': String(retryAfterSeconds),
  }
  const responseHeaders = Object.entries(headers).map(([name, value]) => ({ name, value }))
  return {
    block: {
      customResponse: { responseCode: 429, customResponseBodyKey: 'TooManyRequests', responseHeaders },
    },
  }
}

/** Returns a configuration without samples, which would show requests with their headers. */
function visible(metricName: string): CfnWebACL.VisibilityConfigProperty {
  return { metricName, cloudWatchMetricsEnabled: true, sampledRequestsEnabled: false }
}

/** Returns the redaction of credentials, queries and bodies in everything that WAF records about a request. */
function withoutSecrets(): CfnWebACL.DataProtectionConfigProperty {
  const headers = ['authorization', 'cookie', 'x-csrf-token', 'x-api-key', 'x-token-nonce', 'idempotency-key']
  const fields = [
    { fieldType: 'SINGLE_HEADER', fieldKeys: headers },
    { fieldType: 'QUERY_STRING' },
    { fieldType: 'BODY' },
  ]
  return { dataProtections: fields.map((field) => ({ field, action: 'SUBSTITUTION' })) }
}

/** Logs blocked requests and CAPTCHAs with the matching rule. Addresses are masked. */
function logRefusals(
  scope: Construct,
  acl: CfnWebACL,
  { stage, key, id, suffix }: WebAclProps & { id: string; suffix: string },
): void {
  const log = serviceLog(scope, `${id}Log`, {
    stage,
    key,
    // WAF rejects log groups without this prefix.
    logGroupName: `aws-waf-logs-commerce-${stage.name}${suffix}`,
    dataProtectionPolicy: new DataProtectionPolicy({
      identifiers: [DataIdentifier.IPADDRESS, DataIdentifier.EMAILADDRESS],
    }),
  })
  const keep = (Action: string) => ({
    Behavior: 'KEEP',
    Requirement: 'MEETS_ANY',
    Conditions: [{ ActionCondition: { Action } }],
  })
  new CfnLoggingConfiguration(scope, `${id}Logging`, {
    resourceArn: acl.attrArn,
    logDestinationConfigs: [log.logGroupArn],
    loggingFilter: { DefaultBehavior: 'DROP', Filters: ['BLOCK', 'CAPTCHA'].map(keep) },
  })
}
