import { describe, expect, test } from '@jest/globals'
import { ProfileError, readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import {
  propertiesOf,
  type Resource,
  resourcesOf,
  type Template,
  templatesOf,
  valueAt,
} from '#test/infrastructure/synthesis.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

const changed = [
  'events.maxAttempts',
  'imports.chunksAtOnce',
  'limits.gateway',
  'limits.webAcl',
  'login.tokenLifetimes',
  'mail.domain',
  'otp.deliveredOn',
  'refunds.reconcile',
  'storage.backups',
  'storage.contributorInsights',
  'storage.warmThroughput',
] as const

/** The template of a stage with the settings of this test, synthesized once for each profile. */
async function templateOf(settings: Settings, more: object = {}): Promise<Template> {
  const changes = { ...Object.fromEntries(changed.map((key) => [key, settings[key]])), ...more }
  return (await templatesOf('prod', { changes })).template
}
const { 'mail.domain': domain, 'storage.restoredTable': restoredTable } = otherSettings
const [local, other, restored] = await Promise.all([
  templateOf(localSettings),
  templateOf(otherSettings),
  templateOf(otherSettings, {
    'storage.restoredTable': restoredTable,
    'mail.domain': { ...domain, verified: false },
  }),
])

/** The throttle of all methods as `all`, and those of routes that differ from it by method and path. */
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

/** The values of a part of all rules of a web ACL that have this part. */
const inRules =
  (acl: string, part: string, ...names: string[]) =>
  (template: Template) =>
    propertiesOf(template, acl).Rules.flatMap(({ Statement: { [part]: one } }: Resource['Properties']) =>
      one ? [names.map((name) => one[name])] : [],
    )
const rates = ['RateBasedStatement', 'Limit', 'EvaluationWindowSec'] as const
const rule = (index: number, part: string) => `Backups.BackupPlan.BackupPlanRule.${index}.${part}`
const copies = [
  {
    DestinationBackupVaultArn: 'arn:aws:backup:eu-central-1:444455556666:backup-vault:commerce-copies',
    Lifecycle: { DeleteAfterDays: 180 },
  },
]
const warm = { ReadUnitsPerSecond: 40_000, WriteUnitsPerSecond: 25_000 }

/** A setting; the path of a value in the template, or what returns it; and its values in both deployments. */
type Row = [key: string, value: string | ((template: Template) => unknown), local: unknown, other: unknown]
const rows: Row[] = [
  [
    'limits.gateway',
    throttlesOf,
    {
      all: [500, 1000],
      'GET /~1codes:export': [20, 40],
      'HEAD /~1codes:export': [20, 40],
      'POST /~1codes:import': [20, 40],
      'POST /~1login': [100, 50],
    },
    { all: [50, 100], 'GET /~1health': [5, 10], 'HEAD /~1health': [5, 10] },
  ],
  [
    // Logins, password resets and one-time codes by address, anonymous requests, credentials, all of an address, webhooks.
    'limits.webAcl: its rates',
    inRules('WebAcl', ...rates),
    [[300, 300], [300, 600], [300, 300], [3000, 60], ...Array(3).fill([6000, 60]), [12000, 60], [24000, 60]],
    [
      [600, 600],
      [500, 300],
      [400, 120],
      [2000, 120],
      ...Array(3).fill([9000, 300]),
      [30000, 300],
      [60000, 300],
    ],
  ],
  [
    'limits.webAcl: the versions of the managed rules',
    inRules('WebAcl', 'ManagedRuleGroupStatement', 'Version'),
    [[undefined], [undefined], [undefined]],
    [[undefined], ['Version_1.20'], ['Version_1.19']],
  ],
  ['limits.webAcl: the user pool', inRules('UsersWebAcl', ...rates), [[1000, 300]], [[200, 60]]],
  [
    'limits.webAcl: the Retry-After',
    (template) => /"Name":"Retry-After","Value":"(\d+)"/.exec(JSON.stringify(template.Resources.WebAcl))?.[1],
    '60',
    '120',
  ],
  [
    'limits.webAcl: the domains of CAPTCHA tokens',
    'WebAcl.TokenDomains',
    ['localhost'],
    ['shop.example.com', 'admin.example.com'],
  ],
  [
    'limits.webAcl: the lifetime of CAPTCHA tokens',
    'WebAcl.CaptchaConfig.ImmunityTimeProperty.ImmunityTime',
    300,
    600,
  ],
  ['events.maxAttempts, of the relay', 'EventsRelayTableStream.MaximumRetryAttempts', 29, 6],
  ['events.maxAttempts, of tasks', 'TasksEnqueueTableStream.MaximumRetryAttempts', 29, 6],
  [
    'refunds.reconcile: the hour',
    'RefundsReconcileDaily.ScheduleExpression',
    'cron(0 4 * * ? *)',
    'cron(0 2 * * ? *)',
  ],
  [
    'imports.chunksAtOnce',
    (template) =>
      JSON.parse(String(valueAt(template, 'ImportMachine.DefinitionString'))).States.Rows.MaxConcurrency,
    5,
    otherSettings['imports.chunksAtOnce'],
  ],
  ['login.tokenLifetimes, of access', 'UsersLoginClient.AccessTokenValidity', 60, 15],
  ['login.tokenLifetimes, of refreshing', 'UsersLoginClient.RefreshTokenValidity', 30 * 24 * 60, 7 * 24 * 60],
  ['mail.domain', 'MailIdentity.EmailIdentity', 'no-reply@mail.acme.cloud', 'example.org'],
  ['otp.deliveredOn: reports of SES', 'MailEventsRule.State', undefined, 'ENABLED'],
  [
    'storage.contributorInsights',
    'Table.ContributorInsightsSpecification',
    undefined,
    { Enabled: true, Mode: 'ACCESSED_AND_THROTTLED_KEYS' },
  ],
  ['storage.backups: nightly ones', rule(0, 'Lifecycle.DeleteAfterDays'), 7, 90],
  ['storage.backups: weekly ones', rule(1, 'Lifecycle.DeleteAfterDays'), 35, 300],
  ['storage.backups: copies of nightly ones', rule(0, 'CopyActions'), [], copies],
  ['storage.backups: copies of weekly ones', rule(1, 'CopyActions'), [], copies],
  [
    'storage.backups: the lock',
    'BackupVault.LockConfiguration',
    undefined,
    { MinRetentionDays: 30, MaxRetentionDays: 365, ChangeableForDays: 7 },
  ],
  ['storage.warmThroughput, of the table', 'Table.WarmThroughput', undefined, warm],
  ['storage.warmThroughput, of the index', 'Table.GlobalSecondaryIndexes.0.WarmThroughput', undefined, warm],
]

test.each(rows)('%s', (_, value, ...expected) => {
  const read = typeof value === 'string' ? (template: Template) => valueAt(template, value) : value
  expect([local, other].map(read)).toEqual(expected)
})

test('mail.domain: the user pool sends with Cognito until SES has verified the domain', () => {
  expect(valueAt(restored, 'Users.EmailConfiguration')).toBeUndefined()
})

describe('storage.restoredTable', () => {
  const text = JSON.stringify(restored)

  test('replaces the table of the stack', () => {
    expect(restored.Resources).not.toHaveProperty('Table')
    expect(restored.Outputs?.TableName?.Value).toBe('commerce-prod-restored')
  })

  test('is read and written by the functions', () => {
    expect(text).toContain('"TABLE_NAME":"commerce-prod-restored"')
    expect(text).toContain(':table/commerce-prod-restored/index/by-id')
  })

  test('feeds the functions from its stream', () => {
    const sources = resourcesOf(restored, 'AWS::Lambda::EventSourceMapping').map(
      ([, { Properties }]) => Properties.EventSourceArn,
    )
    expect(sources.filter((arn) => arn === restoredTable?.streamArn)).toHaveLength(2)
  })
})

test.each(['keptDays', 'weeklyKeptDays'])(
  'storage.backups: %s outside the limits of the lock is rejected',
  (days) => {
    const storage = { ...otherSettings['storage.backups'], [days]: 29 }
    expect(() => readProfile({ ...otherSettings, 'storage.backups': storage }, 'p.json')).toThrow(
      ProfileError,
    )
  },
)
