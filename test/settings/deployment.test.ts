import { expect } from '@jest/globals'
import { localValues } from '#bin/build/local-values.ts'
import { stageNamed } from '#lib/stage.ts'
import type { Settings } from '#shared/settings/register.ts'
import {
  propertiesOf,
  type Resource,
  resourcesOf,
  type Template,
  templatesOf,
  valueAt,
} from '#test/infrastructure/synthesis.ts'
import { localSettings } from '#test/support/settings.ts'
import { newTenantOf, type Row, type Tenant, testChanges, valuesOf } from './changes.ts'

/** Returns the value at a path of the template. */
const at = (path: string) => (template: Template) => valueAt(template, path)

/** Returns the throttle of all methods, and those of routes that differ from it by method and path. */
function throttlesOf(template: Template): Record<string, unknown> {
  const methods: Record<string, unknown>[] = propertiesOf(template, 'ApiDeploymentStageprod').MethodSettings
  const throttles = methods.map(
    ({ HttpMethod, ResourcePath, MetricsEnabled, ThrottlingRateLimit, ThrottlingBurstLimit, ...rest }) => {
      // A method with its own options inherits none.
      expect(rest).toEqual({ LoggingLevel: 'ERROR', DataTraceEnabled: false })
      return [`${HttpMethod} ${ResourcePath}`, [ThrottlingRateLimit, ThrottlingBurstLimit]] as const
    },
  )
  const [[, all] = []] = throttles.filter(([name]) => name === '* /*')
  const ofRoutes = throttles.filter(([name]) => !/ \/(~1\{proxy\+\})?$/.test(name))
  const apart = ofRoutes.filter(([, throttle]) => String(throttle) !== String(all))
  return { all, ...Object.fromEntries(apart) }
}

/** Returns the values of a part of all rules of a web ACL that have this part. */
const inRules =
  (acl: string, part: string, ...names: string[]) =>
  (template: Template) =>
    propertiesOf(template, acl).Rules.flatMap(({ Statement: { [part]: one } }: Resource['Properties']) =>
      one ? [names.map((name) => one[name])] : [],
    )
const rates = ['RateBasedStatement', 'Limit', 'EvaluationWindowSec'] as const
const versions = ['ManagedRuleGroupStatement', 'Version'] as const
const rule = (index: number, part: string) => at(`Backups.BackupPlan.BackupPlanRule.${index}.${part}`)

const webAcl: Partial<Settings['limits.webAcl']> = {
  managedRules: { knownBadInputs: 'Version_1.20', common: 'Version_1.18' },
  anonymous: { requests: 2000, windowSeconds: 120 },
  credentials: { requests: 9000, windowSeconds: 300 },
  addresses: { requests: 30_000, windowSeconds: 300 },
  webhooks: { requests: 60_000, windowSeconds: 300 },
  logins: { requests: 600, windowSeconds: 600 },
  passwordResets: { requests: 500, windowSeconds: 300 },
  oneTimeCodes: { requests: 400, windowSeconds: 120 },
  userPool: { requests: 200, windowSeconds: 60 },
  retryAfterSeconds: 120,
  captcha: { tokenDomains: ['shop.example.com', 'admin.example.com'], immunitySeconds: 600 },
}
const vault = 'arn:aws:backup:eu-central-1:444455556666:backup-vault:commerce-copies'
const backups = {
  keptDays: 90,
  weeklyKeptDays: 300,
  lock: { minDays: 30, maxDays: 365, changeableDays: 7 },
  copies: [{ vaultArn: vault, keptDays: 180 }],
}
const copies = [{ DestinationBackupVaultArn: vault, Lifecycle: { DeleteAfterDays: 180 } }]
const throughput = { writeUnits: 25_000, readUnits: 40_000 }
const warm = { ReadUnitsPerSecond: 40_000, WriteUnitsPerSecond: 25_000 }
const mail = {
  from: 'no-reply@acme.cloud',
  domain: { identity: 'acme.cloud', mailFrom: 'bounce.acme.cloud', verified: true },
}
const certificateArn = 'arn:aws:acm:eu-west-1:111122223333:certificate/12345678-1234-1234-1234-123456789012'

/** The template of the changes has all of them. */
// biome-ignore format: a table of rows
const rows: Row<Template>[] = [
  ['limits.gateway',
    { requestsPerSecond: 50, burst: 100, byOperation: { 'health.read': { requestsPerSecond: 5, burst: 10 } }},
    throttlesOf, { all: [50, 100], 'GET /~1health': [5, 10], 'HEAD /~1health': [5, 10] }],
  // Logins, password resets and one-time codes by address, anonymous requests, credentials, all of an address, webhooks.
  ['limits.webAcl', webAcl, inRules('WebAcl', ...rates),
    [...[[600, 600], [500, 300], [400, 120], [2000, 120]], ...[...Array(3).fill([9000, 300]), [30000, 300], [60000, 300]]]],
  ['limits.webAcl', webAcl, inRules('WebAcl', ...versions), [[undefined], ['Version_1.20'], ['Version_1.18']]],
  ['limits.webAcl', webAcl, inRules('UsersWebAcl', ...rates), [[200, 60]]],
  ['limits.webAcl', webAcl,
    (template) => /"Name":"Retry-After","Value":"(\d+)"/.exec(JSON.stringify(template.Resources.WebAcl))?.[1], '120'],
  ['limits.webAcl', webAcl, at('WebAcl.TokenDomains'), ['shop.example.com', 'admin.example.com']],
  ['limits.webAcl', webAcl, at('WebAcl.CaptchaConfig.ImmunityTimeProperty.ImmunityTime'), 600],
  ['limits.provisionedConcurrency', { 'orders.create': 5 },
    at('OrdersCreateLive.ProvisionedConcurrencyConfig.ProvisionedConcurrentExecutions'), 5],
  ['api.domain', { host: 'api.acme.cloud', certificateArn }, at('Domain.DomainName'), 'api.acme.cloud'],
  ['api.gatewayAddress', 'closed', at('Api.DisableExecuteApiEndpoint'), true],
  ['webhooks.maxAttempts', 3, at('Webhooks.RedrivePolicy.maxReceiveCount'), 3],
  ['events.replay', { archiveDays: 7 }, at('EventBusEventArchive.RetentionDays'), 7],
  ['refunds.reconcile', { hour: 2 }, at('RefundsReconcileDaily.ScheduleExpression'), 'cron(0 2 * * ? *)'],
  ['login.tokenLifetimes', { accessMinutes: 15, refreshDays: 7 }, ({ Resources }) => {
    const { AccessTokenValidity, RefreshTokenValidity } = Resources.UsersLoginClient?.Properties ?? {}
    return [AccessTokenValidity, RefreshTokenValidity]
  }, [15, 7 * 24 * 60]],
  ['mail.sender', mail, at('MailIdentity.EmailIdentity'), 'acme.cloud'],
  ['mail.sender', mail, at('Users.EmailConfiguration.EmailSendingAccount'), 'DEVELOPER'],
  ['otp.deliveredOn', 'delivery', at('MailEventsRule.State'), 'ENABLED'],
  ['traces.share', 0.5, at('Traces.SamplingRule.FixedRate'), 0.5],
  ['storage.contributorInsights', true, at('Table.ContributorInsightsSpecification'),
    { Enabled: true, Mode: 'ACCESSED_AND_THROTTLED_KEYS' }],
  ['storage.backups', backups, rule(0, 'Lifecycle.DeleteAfterDays'), 90],
  ['storage.backups', backups, rule(1, 'Lifecycle.DeleteAfterDays'), 300],
  ['storage.backups', backups, rule(0, 'CopyActions'), copies],
  ['storage.backups', backups, rule(1, 'CopyActions'), copies],
  ['storage.backups', backups, at('BackupVault.LockConfiguration'),
    { MinRetentionDays: 30, MaxRetentionDays: 365, ChangeableForDays: 7 }],
  ['storage.warmThroughput', throughput, at('Table.WarmThroughput'), warm],
  ['storage.warmThroughput', throughput, at('Table.GlobalSecondaryIndexes.0.WarmThroughput'), warm],
]

const prod = async (changes: Partial<Settings>) => (await templatesOf('prod', { changes })).template
const local = Object.fromEntries(rows.map(([key]) => [key, localSettings[key]]))
testChanges(rows, (changes) => prod(Object.keys(changes).length === 0 ? local : valuesOf(rows)))

const [tableName, stream] = ['commerce-prod-restored', 'stream/2026-01-01T00:00:00.000']
const streamArn = `arn:aws:dynamodb:eu-west-1:111122223333:table/${tableName}/${stream}`

// biome-ignore format: a table of rows
const restored: Row<Template>[] = [
  ['storage.restoredTable', { tableName, streamArn }, (template) => {
    const text = JSON.stringify(template)
    const sources = resourcesOf(template, 'AWS::Lambda::EventSourceMapping').filter(
      ([, { Properties }]) => Properties.EventSourceArn === streamArn,
    )
    return {
      isCreated: 'Table' in template.Resources,
      output: template.Outputs?.TableName?.Value,
      isUsed: ['"TABLE_NAME":"', ':table/'].map((before) => text.includes(`${before}${tableName}`)),
      sources: sources.length,
    }
  }, { isCreated: false, output: tableName, isUsed: [true, true], sources: 2 }],
  // The user pool sends with Cognito until SES has verified the domain.
  ['mail.sender', { ...mail, domain: { ...mail.domain, verified: false } }, at('Users.EmailConfiguration'), undefined],
]
testChanges(restored, (changes) =>
  prod(Object.keys(changes).length === 0 ? valuesOf(rows) : valuesOf(restored)),
)

const environment = { account: '111122223333', region: 'eu-west-1' }
const missing = ({ settings }: Pick<Tenant, 'settings'>) =>
  localValues(settings, stageNamed('prod')).some((line) => line.includes('aws.environment'))

testChanges([['aws.environment', environment, missing, false]], newTenantOf)

const watched = { alarms: true, webAcl: true }
const dev = async (changes: Partial<Settings>) => {
  const { template, watch } = await templatesOf('dev', { changes })
  return { ...template, Resources: { ...template.Resources, ...watch.Resources } }
}
const kinds = ['AWS::CloudWatch::Dashboard', 'AWS::SNS::Topic', 'AWS::WAFv2::WebACL']

testChanges(
  [
    [
      'stages.dev',
      watched,
      (template: Template) => kinds.map((kind) => resourcesOf(template, kind).length),
      [1, 1, 2],
    ],
  ],
  dev,
)
