import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { ProfileError, readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import {
  type Resource,
  resourceNamed,
  resourcesOf,
  synthesise,
  type Template,
} from '#test/infrastructure/synthesis.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

/** The template of a stage with the settings of this test, synthesized once for each profile. */
async function templateOf(settings: Settings) {
  const changed = [
    'events.maxAttempts',
    'limits.gateway',
    'limits.webAcl',
    'refunds.reconcile',
    'storage.backups',
    'storage.restoredTable',
  ] as const
  const changes = Object.fromEntries(changed.map((key) => [key, settings[key]]))
  return (await synthesise('prod', { changes })).template
}

const [local, other] = await Promise.all([templateOf(localSettings), templateOf(otherSettings)])

/** The throttle of all methods as `all`, and those of routes that differ from it by method and path. */
function throttlesOf(template: Template): Record<string, unknown> {
  const [stage] = resourcesOf(template, 'AWS::ApiGateway::Stage')
  const methods: Record<string, unknown>[] = stage?.[1].Properties.MethodSettings
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

describe('limits.gateway', () => {
  test('throttles all operations, and the named ones separately', () => {
    expect(throttlesOf(local)).toEqual({
      all: [500, 1000],
      'GET /~1codes:export': [20, 40],
      'HEAD /~1codes:export': [20, 40],
      'POST /~1codes:import': [20, 40],
      'POST /~1login': [100, 50],
    })
    expect(throttlesOf(other)).toEqual({
      all: [50, 100],
      'GET /~1health': [5, 10],
      'HEAD /~1health': [5, 10],
    })
  })

  test.each([
    ['orders.make', /limits\.gateway: there is no operation orders\.make/],
    ['codes.restore', /limits\.gateway: the gateway cannot tell codes\.restore and codes\.share apart/],
  ])('that names only %s is rejected', (operation, message) => {
    const settings = throttling(operation)
    expect(() => checkOperations(settings, routes, 'p.json')).toThrow(ProfileError)
    expect(() => checkOperations(settings, routes, 'p.json')).toThrow(message)
  })

  test('accepts operations that share a method, if both have the same throttle', () => {
    expect(() => checkOperations(throttling('codes.restore', 'codes.share'), routes, 'p.json')).not.toThrow()
  })
})

test('events.maxAttempts limits the attempts of both functions that read the stream', () => {
  const retriesOf = (template: Template) =>
    resourcesOf(template, 'AWS::Lambda::EventSourceMapping').flatMap(
      ([, { Properties }]) => Properties.MaximumRetryAttempts ?? [],
    )
  expect([retriesOf(local), retriesOf(other)]).toEqual([
    [29, 29],
    [6, 6],
  ])
})

test('refunds.reconcile sets the hour of the daily comparison', () => {
  const daily = [local, other].map(
    (template) => resourceNamed(template, 'AWS::Scheduler::Schedule', 'RefundsReconcileDaily').Properties,
  )
  expect(daily.map(({ ScheduleExpression }) => ScheduleExpression)).toEqual([
    'cron(0 4 * * ? *)',
    'cron(0 2 * * ? *)',
  ])
})

describe('limits.webAcl', () => {
  const ratesOf = (template: Template, start: string) => {
    const rules: Resource['Properties'][] = resourceNamed(template, 'AWS::WAFv2::WebACL', start).Properties
      .Rules
    return rules.flatMap(({ Statement: { RateBasedStatement: rate } }) =>
      rate ? [[rate.Limit, rate.EvaluationWindowSec]] : [],
    )
  }

  test('limits logins, password resets and one-time codes by address, anonymous requests, credentials, and all requests of an address', () => {
    const rates = [local, other].map((template) => ratesOf(template, 'WebAcl'))
    expect(rates).toEqual([
      [[300, 300], [300, 600], [300, 300], [3000, 60], ...Array(3).fill([6000, 60]), [12000, 60]],
      [[600, 600], [500, 300], [400, 120], [2000, 120], ...Array(3).fill([9000, 300]), [30000, 300]],
    ])
  })

  test('sets the versions of the managed rules', () => {
    const versions = [local, other].map((template) => {
      const rules: Resource['Properties'][] = resourceNamed(template, 'AWS::WAFv2::WebACL', 'WebAcl')
        .Properties.Rules
      return rules.flatMap(({ Statement: { ManagedRuleGroupStatement: group } }) =>
        group ? [group.Version] : [],
      )
    })
    expect(versions).toEqual([
      [undefined, undefined, undefined],
      [undefined, 'Version_1.20', 'Version_1.19'],
    ])
  })

  test('limits the requests to the user pool', () => {
    const rates = [local, other].map((template) => ratesOf(template, 'UsersWebAcl'))
    expect(rates).toEqual([[[1000, 300]], [[200, 60]]])
  })

  test('sets the Retry-After of blocked requests, and the domains and the lifetime of CAPTCHA tokens', () => {
    const { Rules, TokenDomains, CaptchaConfig } = resourceNamed(
      other,
      'AWS::WAFv2::WebACL',
      'WebAcl',
    ).Properties
    expect(JSON.stringify(Rules)).toContain('{"Name":"Retry-After","Value":"120"}')
    expect(TokenDomains).toEqual(['shop.example.com', 'admin.example.com'])
    expect(CaptchaConfig.ImmunityTimeProperty.ImmunityTime).toBe(600)
  })
})

describe('storage.backups', () => {
  const rulesOf = (template: Template) =>
    resourcesOf(template, 'AWS::Backup::BackupPlan').flatMap(
      ([, { Properties }]): { Lifecycle: object; CopyActions: object[] }[] =>
        Properties.BackupPlan.BackupPlanRule,
    )

  test('sets the retention of nightly and weekly backups', () => {
    expect(rulesOf(other).map(({ Lifecycle }) => Lifecycle)).toEqual([
      { DeleteAfterDays: 90 },
      { DeleteAfterDays: 300 },
    ])
  })

  test('names the vaults of other regions and accounts that receive a copy of each backup', () => {
    const copy = {
      DestinationBackupVaultArn: 'arn:aws:backup:eu-central-1:444455556666:backup-vault:commerce-copies',
      Lifecycle: { DeleteAfterDays: 180 },
    }
    expect(rulesOf(other).map(({ CopyActions }) => CopyActions)).toEqual([[copy], [copy]])
  })

  test.each(['keptDays', 'weeklyKeptDays'])('%s outside the limits of the lock is refused', (days) => {
    const changed = {
      ...otherSettings,
      'storage.backups': { ...otherSettings['storage.backups'], [days]: 29 },
    }
    expect(() => readProfile(changed, 'the profile')).toThrow(ProfileError)
  })

  test('locks the vault', () => {
    const lockOf = (template: Template) =>
      resourcesOf(template, 'AWS::Backup::BackupVault')[0]?.[1].Properties.LockConfiguration
    expect([lockOf(local), lockOf(other)]).toEqual([
      undefined,
      { MinRetentionDays: 30, MaxRetentionDays: 365, ChangeableForDays: 7 },
    ])
  })
})

test('storage.warmThroughput is that of the table and of its index', async () => {
  const warm = { 'storage.warmThroughput': otherSettings['storage.warmThroughput'] }
  const { template } = await synthesise('prod', { changes: warm })
  const [[, table] = []] = resourcesOf(template, 'AWS::DynamoDB::Table')
  const units = { ReadUnitsPerSecond: 40_000, WriteUnitsPerSecond: 25_000 }
  expect(table?.Properties.WarmThroughput).toEqual(units)
  expect(table?.Properties.GlobalSecondaryIndexes).toMatchObject([{ WarmThroughput: units }])
})

test('storage.warmThroughput of null leaves the table to AWS', () => {
  expect(JSON.stringify(resourcesOf(local, 'AWS::DynamoDB::Table'))).not.toContain('WarmThroughput')
})

describe('storage.restoredTable', () => {
  const text = JSON.stringify(other)

  test('replaces the table of the stack', () => {
    expect(resourcesOf(other, 'AWS::DynamoDB::Table')).toEqual([])
    expect(other.Outputs?.TableName?.Value).toBe('commerce-prod-restored')
  })

  test('is read and written by the functions', () => {
    expect(text).toContain('"TABLE_NAME":"commerce-prod-restored"')
    expect(text).toContain(':table/commerce-prod-restored/index/by-id')
  })

  test('feeds the functions from its stream', () => {
    const sources = resourcesOf(other, 'AWS::Lambda::EventSourceMapping').map(
      ([, { Properties }]) => Properties.EventSourceArn,
    )
    expect(sources.filter((arn) => arn === otherSettings['storage.restoredTable']?.streamArn)).toHaveLength(2)
  })
})

function throttling(...operations: string[]): Settings {
  const byOperation = Object.fromEntries(operations.map((one) => [one, { requestsPerSecond: 1, burst: 2 }]))
  const limits = { ...localSettings['limits.gateway'], byOperation }
  return readProfile({ ...localSettings, 'limits.gateway': limits }, 'the profile of this test')
}
