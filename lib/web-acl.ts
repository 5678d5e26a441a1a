import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { DataIdentifier, DataProtectionPolicy } from 'aws-cdk-lib/aws-logs'
import { CfnLoggingConfiguration, CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import type { Construct } from 'constructs'
import { serviceLog } from './service-log.ts'
import type { Stage } from './stage.ts'

/**
 * What stands before the gateway: the managed rules of AWS, and a CAPTCHA for addresses that log in, or ask for new
 * passwords, far more often than a person does. What it blocks the gateway answers, in the envelope (WAF_FILTERED in
 * gateway-responses.ts).
 */
export function webAcl(scope: Construct, api: RestApi, stage: Stage, key?: Key): void {
  const acl = new CfnWebACL(scope, 'WebAcl', {
    scope: 'REGIONAL',
    defaultAction: { allow: {} },
    visibilityConfig: visible('WebAcl'),
    dataProtectionConfig: withoutSecrets(),
    rules: [
      managed('IpReputation', 'AWSManagedRulesAmazonIpReputationList'),
      managed('KnownBadInputs', 'AWSManagedRulesKnownBadInputsRuleSet'),
      managed('CommonRules', 'AWSManagedRulesCommonRuleSet', ownCare),
      captchaAbove('Logins', '/login', { limit: 50, evaluationWindowSec: 300 }),
      captchaAbove('PasswordResets', '/password/reset', { limit: 50, evaluationWindowSec: 600 }),
    ].map((rule, priority) => ({ ...rule, priority })),
  })
  new CfnWebACLAssociation(scope, 'WebAclOfStage', {
    resourceArn: api.deploymentStage.stageArn,
    webAclArn: acl.attrArn,
  })
  logRefusals(scope, acl, { stage, key })
}

/**
 * Rules of the common set that only count: bodies are checked against their schemas and never shown as HTML, so a
 * name or a password may hold anything; their size is limited by route; and programs need not name themselves.
 */
const ownCare = [
  'SizeRestrictions_BODY',
  'CrossSiteScripting_BODY',
  'GenericLFI_BODY',
  'GenericRFI_BODY',
  'EC2MetaDataSSRF_BODY',
  'NoUserAgent_HEADER',
]

type Rule = Omit<CfnWebACL.RuleProperty, 'priority'>

function managed(name: string, ruleSet: string, counted: readonly string[] = []): Rule {
  const ruleActionOverrides = counted.map((one) => ({ name: one, actionToUse: { count: {} } }))
  return {
    name,
    overrideAction: { none: {} },
    statement: {
      managedRuleGroupStatement: { vendorName: 'AWS', name: ruleSet, ruleActionOverrides },
    },
    visibilityConfig: visible(name),
  }
}

/** Counts by address alone, so that many e-mails tried from one address are noticed, too. */
function captchaAbove(
  name: string,
  path: string,
  rate: { limit: number; evaluationWindowSec: number },
): Rule {
  return {
    name,
    action: { captcha: {} },
    statement: {
      rateBasedStatement: {
        ...rate,
        aggregateKeyType: 'IP',
        scopeDownStatement: {
          byteMatchStatement: {
            // The gateway's own address has the stage before the path, and it forgives a slash after it.
            positionalConstraint: 'CONTAINS',
            searchString: path,
            fieldToMatch: { uriPath: {} },
            textTransformations: [{ priority: 0, type: 'URL_DECODE' }],
          },
        },
      },
    },
    visibilityConfig: visible(name),
  }
}

/** Samples would show requests with their headers. */
function visible(metricName: string): CfnWebACL.VisibilityConfigProperty {
  return { metricName, cloudWatchMetricsEnabled: true, sampledRequestsEnabled: false }
}

/** Holds for everything that is told of a request, its logs and whatever else looks at them. */
function withoutSecrets(): CfnWebACL.DataProtectionConfigProperty {
  const headers = ['authorization', 'cookie', 'x-csrf-token', 'x-api-key', 'x-token-nonce', 'idempotency-key']
  const fields = [
    { fieldType: 'SINGLE_HEADER', fieldKeys: headers },
    { fieldType: 'QUERY_STRING' },
    { fieldType: 'BODY' },
  ]
  return { dataProtections: fields.map((field) => ({ field, action: 'SUBSTITUTION' })) }
}

/** What was refused, and by which rule; whoever reads it sees no address. */
function logRefusals(
  scope: Construct,
  acl: CfnWebACL,
  { stage, key }: { stage: Stage; key: Key | undefined },
): void {
  const log = serviceLog(scope, 'WebAclLog', {
    stage,
    key,
    // Such a log has to be called so.
    logGroupName: `aws-waf-logs-commerce-${stage.name}`,
    dataProtectionPolicy: new DataProtectionPolicy({
      identifiers: [DataIdentifier.IPADDRESS, DataIdentifier.EMAILADDRESS],
    }),
  })
  const keep = (Action: string) => ({
    Behavior: 'KEEP',
    Requirement: 'MEETS_ANY',
    Conditions: [{ ActionCondition: { Action } }],
  })
  new CfnLoggingConfiguration(scope, 'WebAclLogging', {
    resourceArn: acl.attrArn,
    logDestinationConfigs: [log.logGroupArn],
    loggingFilter: { DefaultBehavior: 'DROP', Filters: ['BLOCK', 'CAPTCHA'].map(keep) },
  })
}
