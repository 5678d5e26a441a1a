import { Duration, Stack } from 'aws-cdk-lib'
import { type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { AlertCode, WorkKind } from '#shared/platform/base/log.ts'
import {
  ageMetric,
  alertMetric,
  differenceMetric,
  probeMetric,
  serviceName,
} from '#shared/platform/base/metrics.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import { managedRuleGroups } from '../gateway/web-acl.ts'
import { hasWebAcl, metricsNamespace, webAclMetric } from '../stage.ts'
import type { Measure } from './measure.ts'
import { functionNamed, math, metric, metricIds, period, sumOf } from './metrics.ts'

/** The graphs of the dashboard that show several routes, functions or queues. */
export const sharedGraphs = {
  api: 'API: failed requests (%)',
  routes: 'Routes with a latency budget: failed requests (%)',
  areas: 'Other routes by area: failed requests (%)',
  latency: 'API: latency (ms)',
  schedules: 'Scheduled functions: completed runs',
  throttles: 'Throttled requests of the table and calls of functions',
  concurrency: 'Unreserved concurrent executions in use (%)',
  spillover: 'Calls beyond provisioned concurrency',
  blocked: 'Requests that the web ACL blocked',
  expiry: 'Days until a version of the managed rules expires',
  backups: 'Backups',
  mail: 'Mail: bounce and complaint rates',
  errors: 'Functions without a route: errors',
  deadLetters: 'Dead letters',
  streams: 'Streams: age of the oldest change (ms)',
  queues: 'Queues: age of the oldest message (s)',
  alerts: 'Alerts',
  differences: 'Differences between the ledger and the payment provider in a day',
  pending: 'Pending refunds and imports: age of the oldest (s)',
  imports: 'Imports: duration (ms), timeouts, failures',
} as const

export const hour = Duration.hours(1)
export const day = Duration.days(1)
export const longest: MetricOptions = { statistic: Stats.MAXIMUM, period }

export const errorsOf = (name: string): Measure => ({
  text: `errors of the function ${name} in five minutes`,
  graph: sharedGraphs.errors,
  label: name,
  metric: ({ functions }) => functionNamed(functions, name).metricErrors({ period }),
})

/** The runs of a scheduled function that ended without an error. */
export const completedRunsOf = (name: string, per: Duration = period): Measure => ({
  text: `runs of ${name} without an error in ${per.toMinutes()} minutes`,
  graph: sharedGraphs.schedules,
  label: name,
  period: per,
  metric: ({ functions }) => {
    const handler = functionNamed(functions, name)
    const [runs, errors] = metricIds(name, 'Runs', 'Errors')
    return math({
      label: 'completed runs',
      expression: `FILL(${runs}, 0) - FILL(${errors}, 0)`,
      usingMetrics: {
        [runs]: handler.metricInvocations({ period: per }),
        [errors]: handler.metricErrors({ period: per }),
      },
      period: per,
    })
  },
})

/** The probe runs each minute. Missing data breaches its limit: no run, or no log. */
export const successfulProbes: Measure = {
  text: 'successful calls of the public address in five minutes',
  graph: sharedGraphs.schedules,
  label: 'successful probes',
  metric: ({ stage }) =>
    metric(metricsNamespace(stage), probeMetric.name, {
      dimensionsMap: { [probeMetric.dimensions[0]]: serviceName },
      statistic: Stats.SUM,
    }),
}

/** The differences that the daily comparison of the ledger with the provider found. */
export const ledgerDifferences: Measure = {
  text: 'differences between the ledger and the payment provider in a day',
  graph: sharedGraphs.differences,
  label: 'differences',
  period: day,
  metric: ({ stage }) =>
    metric(metricsNamespace(stage), differenceMetric.name, {
      dimensionsMap: { [differenceMetric.dimensions[0]]: 'refunds' satisfies WorkKind },
      statistic: Stats.SUM,
      period: day,
    }),
}

export const deadLettersOf = (name: string): Measure => ({
  text: `messages in the dead-letter queue of ${name}`,
  graph: sharedGraphs.deadLetters,
  label: name,
  metric: ({ deadLetters }) => deadLetters.get(name)?.metricApproximateNumberOfMessagesVisible({ period }),
})

export const oldestMessageIn = (queue: TaskQueue): Measure => ({
  text: `the age of the oldest message in the queue ${queue}, in seconds,`,
  graph: sharedGraphs.queues,
  label: queue,
  metric: ({ queues }) => queues[queue].queue.metricApproximateAgeOfOldestMessage(longest),
})

export const oldestChangeFor = (name: string): Measure => ({
  text: `the age of the oldest change that waits for ${name}, in milliseconds,`,
  graph: sharedGraphs.streams,
  label: name,
  metric: ({ functions }) => functionNamed(functions, name).metric('IteratorAge', longest),
})

export const oldestPending = (work: WorkKind, per: Duration = period): Measure => ({
  text: `the age of the oldest of the pending ${work.replace('_', ' ')}, in seconds,`,
  graph: sharedGraphs.pending,
  label: work,
  period: per,
  metric: ({ stage }) =>
    metric(metricsNamespace(stage), ageMetric.name, {
      dimensionsMap: { [ageMetric.dimensions[0]]: work },
      statistic: Stats.MAXIMUM,
      period: per,
    }),
})

/** What the service logs for an operator to look at, by its code. */
export const alertsOf = (code: AlertCode, text: string): Measure => ({
  text: `${text} in five minutes`,
  graph: sharedGraphs.alerts,
  label: code,
  metric: ({ stage }) =>
    metric(metricsNamespace(stage), alertMetric.name, {
      dimensionsMap: { [alertMetric.dimensions[0]]: code },
      statistic: Stats.SUM,
    }),
})

/** The throttled reads and writes of the table and of its index, which is throttled separately. */
export const throttledRequests: Measure = {
  text: 'throttled requests of the table in five minutes',
  graph: sharedGraphs.throttles,
  label: 'throttled requests of the table',
  metric: ({ table: { tableName: TableName } }) => {
    const throttled = [{ TableName }, { TableName, GlobalSecondaryIndexName: byIdIndex }].flatMap(
      (dimensionsMap) =>
        ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) =>
          metric('AWS/DynamoDB', name, { dimensionsMap, statistic: Stats.SUM }),
        ),
    )
    return sumOf('t', 'throttled requests', throttled)
  },
}

/** The throttled calls of all functions of the account, which share one quota: there is no dimension. */
export const throttledCalls: Measure = {
  text: 'throttled calls of functions in five minutes',
  graph: sharedGraphs.throttles,
  label: 'throttled calls of functions',
  metric: () => metric('AWS/Lambda', 'Throttles', { statistic: Stats.SUM }),
}

/** https://docs.aws.amazon.com/waf/latest/developerguide/waf-metrics.html */
export const blockedRequests: Measure = {
  text: 'requests that the web ACL blocked in five minutes',
  graph: sharedGraphs.blocked,
  label: 'blocked requests',
  metric: ({ stage, settings, api }) =>
    hasWebAcl(stage, settings)
      ? metric('AWS/WAFV2', 'BlockedRequests', {
          dimensionsMap: { WebACL: webAclMetric(stage), Region: Stack.of(api).region, Rule: 'ALL' },
          statistic: Stats.SUM,
        })
      : undefined,
}

/** https://docs.aws.amazon.com/waf/latest/developerguide/waf-using-managed-rule-groups-expiration.html */
export const daysOfManagedRules: Measure = {
  text: 'the days until a version of the managed rules expires',
  graph: sharedGraphs.expiry,
  label: 'days of the managed rules',
  period: day,
  metric({ stage, settings, api }) {
    if (!hasWebAcl(stage, settings)) return undefined
    const { managedRules } = settings['limits.webAcl']
    const days = (['knownBadInputs', 'common'] as const).flatMap((name) => {
      const { [name]: Version } = managedRules
      if (Version === null) return []
      const group = { ManagedRuleGroup: managedRuleGroups[name], Vendor: 'AWS', Version }
      const dimensionsMap = { ...group, Region: Stack.of(api).region }
      return metric('AWS/WAFV2', 'DaysToExpiry', { dimensionsMap, statistic: Stats.MINIMUM, period: day })
    })
    if (days.length === 0) return undefined
    const usingMetrics = Object.fromEntries(days.map((one, index) => [`v${index}`, one]))
    const expression = `MIN([${Object.keys(usingMetrics).join(', ')}])`
    return math({ expression, usingMetrics, label: 'days', period: day })
  },
}

/** https://docs.aws.amazon.com/aws-backup/latest/devguide/cloudwatch.html */
export const completedBackups: Measure = {
  text: 'completed backups of the table in an hour',
  graph: sharedGraphs.backups,
  label: 'completed backups',
  period: hour,
  metric({ backups }) {
    if (!backups || backups.completed) return undefined
    const dimensionsMap = { BackupVaultName: backups.vault.backupVaultName }
    return metric('AWS/Backup', 'NumberOfBackupJobsCompleted', {
      dimensionsMap,
      statistic: Stats.SUM,
      period: hour,
    })
  },
}

/** The copies of backups in other vaults. AWS counts them by the vault of the backup. */
export const failedCopies: Measure = {
  text: 'failed copies of backups in an hour',
  graph: sharedGraphs.backups,
  label: 'failed copies',
  period: hour,
  metric({ backups, settings }) {
    if (!backups || settings['storage.backups'].copies.length === 0) return undefined
    const dimensionsMap = { BackupVaultName: backups.vault.backupVaultName }
    return metric('AWS/Backup', 'NumberOfCopyJobsFailed', {
      dimensionsMap,
      statistic: Stats.SUM,
      period: hour,
    })
  },
}

/** The weekly backups of the last eight days, if there are no nightly ones (see `noteCompleted`). */
export const recentWeeklyBackups: Measure = {
  text: 'weekly backups that completed in the last eight days',
  graph: sharedGraphs.backups,
  label: 'recent weekly backups',
  period: hour,
  metric: ({ backups }) =>
    backups?.completed?.metricApproximateNumberOfMessagesVisible({
      period: hour,
      statistic: Stats.MAXIMUM,
    }),
}

/** https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-cloudwatch-alarm.html */
export const mailRate = (kind: 'Bounce' | 'Complaint'): Measure => ({
  text: `the ${kind.toLowerCase()} rate of the account’s mails, from 0 to 1,`,
  graph: sharedGraphs.mail,
  label: `${kind.toLowerCase()} rate`,
  period: hour,
  metric: () => metric('AWS/SES', `Reputation.${kind}Rate`, { statistic: Stats.AVERAGE, period: hour }),
})
