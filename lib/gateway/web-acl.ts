import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { UserPool } from 'aws-cdk-lib/aws-cognito'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { DataIdentifier, DataProtectionPolicy } from 'aws-cdk-lib/aws-logs'
import { CfnIPSet, CfnLoggingConfiguration, CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import type { Construct } from 'constructs'
import { routes } from '#functions/routes.ts'
import type { Settings } from '#shared/settings/register.ts'
import { serviceLog } from '../functions/service-log.ts'
import { type Stage, webAclMetric } from '../stage.ts'
import { byAddress, type Rule, rateRules, tooManyRequestsBody, visible } from './rate-rules.ts'

interface WebAclProps {
  stage: Stage
  settings: Settings
  key: Key | undefined
}

/**
 * Creates the sets of blocked addresses, which `npx commerce addresses block` changes. A deployment leaves their content
 * alone as long as the template does not change them.
 * @returns the rule of both web ACLs that blocks the addresses
 */
export function blockedAddressesRule(scope: Construct, stage: Stage): Rule {
  const statements = (['IPV4', 'IPV6'] as const).map((ipAddressVersion) => {
    const set = new CfnIPSet(scope, blockedSetIds[ipAddressVersion], {
      name: `commerce-${stage.name}-blocked-${ipAddressVersion.toLowerCase()}`,
      scope: 'REGIONAL',
      ipAddressVersion,
      addresses: [],
    })
    return { ipSetReferenceStatement: { arn: set.attrArn } }
  })
  return {
    name: 'BlockedAddresses',
    action: { block: {} },
    statement: { orStatement: { statements } },
    visibilityConfig: visible('BlockedAddresses'),
  }
}

/** The groups of managed rules with versions, by the names of the setting limits.webAcl. */
export const managedRuleGroups = {
  knownBadInputs: 'AWSManagedRulesKnownBadInputsRuleSet',
  common: 'AWSManagedRulesCommonRuleSet',
} as const

/** The logical ids of the sets of blocked addresses. */
const blockedSetIds = { IPV4: 'BlockedIpv4', IPV6: 'BlockedIpv6' } as const

/** Returns a rule that blocks, or one that only counts, as the setting says. */
function withAction(rule: Rule, action: Settings['limits.webAcl']['action']): Rule {
  if (action === 'block') return rule
  return rule.overrideAction ? { ...rule, overrideAction: { count: {} } } : { ...rule, action: { count: {} } }
}

/**
 * Creates the web ACL of the gateway: the managed rules of AWS, and rate rules. Its rates are above the service's own
 * throttles, so the service answers 429 first.
 */
export function webAcl(scope: Construct, api: RestApi, props: WebAclProps & { blocked: Rule }): CfnWebACL {
  const { settings, stage } = props
  const { managedRules: versions } = settings['limits.webAcl']
  const { tokenDomains, immunitySeconds } = settings['limits.webAcl'].captcha
  const acl = new CfnWebACL(scope, 'WebAcl', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    visibilityConfig: visible(webAclMetric(stage)),
    dataProtectionConfig: withoutSecrets(settings),
    // A page has another host than the API. Without this list WAF rejects its tokens.
    ...(tokenDomains.length > 0 && { tokenDomains }),
    captchaConfig: { immunityTimeProperty: { immunityTime: immunitySeconds } },
    customResponseBodies: {
      TooManyRequests: { contentType: 'APPLICATION_JSON', content: tooManyRequestsBody(settings) },
    },
    rules: [
      props.blocked,
      ...[
        // AWS has no versions of its lists of addresses.
        managed('IpReputation', 'AWSManagedRulesAmazonIpReputationList', { version: null }),
        managed('KnownBadInputs', managedRuleGroups.knownBadInputs, {
          version: versions.knownBadInputs,
        }),
        managed('CommonRules', managedRuleGroups.common, {
          version: versions.common,
          counted: countedOnly,
        }),
        ...rateRules(routes, settings),
      ].map((rule) => withAction(rule, settings['limits.webAcl'].action)),
    ].map((rule, priority) => ({ ...rule, priority })),
  })
  const { stageArn: resourceArn } = api.deploymentStage
  new CfnWebACLAssociation(scope, 'WebAclOfStage', { resourceArn, webAclArn: acl.attrArn })
  logRefusals(scope, acl, { ...props, id: 'WebAcl', suffix: '' })
  return acl
}

/**
 * Creates the web ACL of the user pool, whose public operations anyone can call without the service. It limits requests
 * per address. Cognito answers blocked requests with a ForbiddenException.
 */
export function userPoolWebAcl(
  scope: Construct,
  pool: UserPool,
  props: WebAclProps & { blocked: Rule },
): void {
  const acl = new CfnWebACL(scope, 'UsersWebAcl', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    visibilityConfig: visible('UsersWebAcl'),
    rules: [
      { ...props.blocked, priority: 0 },
      {
        name: 'Requests',
        priority: 1,
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

/** @param version that of the rules; with null, AWS chooses and changes it */
function managed(
  name: string,
  ruleSet: string,
  { version, counted = [] }: { version: string | null; counted?: readonly string[] },
): Rule {
  const ruleActionOverrides = counted.map((one) => ({ name: one, actionToUse: { count: {} } }))
  return {
    name,
    overrideAction: { none: {} },
    statement: {
      managedRuleGroupStatement: {
        vendorName: 'AWS',
        name: ruleSet,
        ...(version !== null && { version }),
        ruleActionOverrides,
      },
    },
    visibilityConfig: visible(name),
  }
}

/**
 * Returns the redaction of credentials, queries and bodies in everything that WAF records about a request, also of those
 * that a rate rule counted by.
 */
function withoutSecrets(settings: Settings): CfnWebACL.DataProtectionConfigProperty {
  const named = [settings['auth.apiKeyHeader'], settings['auth.nonce'].header].map((one) => one.toLowerCase())
  const headers = ['authorization', 'cookie', 'x-csrf-token', ...named, 'idempotency-key']
  const fields = [
    { fieldType: 'SINGLE_HEADER', fieldKeys: headers },
    { fieldType: 'QUERY_STRING' },
    { fieldType: 'BODY' },
  ]
  return {
    dataProtections: fields.map((field) => ({
      field,
      action: 'SUBSTITUTION',
      excludeRateBasedDetails: false,
    })),
  }
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
