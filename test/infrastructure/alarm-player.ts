import type { Signal } from './failures.ts'
import { mod, resultOf, type Series } from './metric-math.ts'
import type { Resource } from './synthesis.ts'

type Dimensions = Readonly<Record<string, string>>
type Properties = Resource['Properties']

/** What a stage without failures measures in a minute, at 100 requests a minute of the API and one of each route. */
function healthy(metric: string, dimensions: Dimensions, minute: number): number | undefined {
  const { FunctionName, QueueName, Resource: path } = dimensions
  const daily = mod(minute, 1440) === 1439 ? 1 : undefined
  switch (metric) {
    case 'Count':
      return path === undefined ? 100 : 1
    case 'Invocations':
      return FunctionName === '<RefundsReconcile>' ? daily : 1
    case 'NumberOfBackupJobsCompleted':
      return daily
    case 'ApproximateNumberOfMessagesVisible':
      return QueueName === '<CompletedBackups.QueueName>' ? 1 : 0
    case 'ApproximateAgeOfOldestMessage':
    case 'Errors':
    case 'IteratorAge':
    case 'oldest_pending_seconds':
      return 0
    case 'successful_probes':
    case 'UnreservedConcurrentExecutions':
      return 1
  }
  return undefined
}

/**
 * Returns the minute in which an alarm is raised, counted from the first one of a failure. It is evaluated each minute over
 * the periods that end then, as CloudWatch does.
 */
export function raisedAfter(alarm: Properties, signals: readonly Signal[], most: number): number | undefined {
  for (let minute = 1; minute <= most; minute += 1) if (isRaised(alarm, signals, minute)) return minute
  return undefined
}

/** @param minute the end of the latest period; 0 is the beginning of the failure */
export function isRaised(alarm: Properties, signals: readonly Signal[], minute: number): boolean {
  const { EvaluationPeriods, Threshold, ComparisonOperator, TreatMissingData } = alarm
  const [expression, metrics] = measured(alarm)
  const { period } = metrics[0] ?? { period: 5 }
  return Array.from({ length: EvaluationPeriods }, (_, index) => minute - index * period).every((end) => {
    const series: Series = Object.fromEntries(metrics.map((one) => [one.id, aggregated(one, signals, end)]))
    const value = resultOf(expression, series)
    if (value === undefined) return TreatMissingData === 'breaching'
    return ComparisonOperator === 'GreaterThanThreshold' ? value > Threshold : value < Threshold
  })
}

interface Measured {
  id: string
  metric: string
  dimensions: Dimensions
  statistic: string
  /** In minutes. */
  period: number
}

/** Returns the expression of an alarm, and its metrics by their ids. */
function measured(alarm: Properties): [string, Measured[]] {
  const dimensionsOf = (list: { Name: string; Value: string }[] = []) =>
    Object.fromEntries(list.map(({ Name, Value }) => [Name, Value]))
  if (alarm.Metrics === undefined) {
    const { MetricName: metric, Dimensions, Statistic: statistic, Period } = alarm
    return ['m', [{ id: 'm', metric, dimensions: dimensionsOf(Dimensions), statistic, period: Period / 60 }]]
  }
  const [{ Expression }] = alarm.Metrics
  const metrics = alarm.Metrics.flatMap(({ Id: id, MetricStat: stat }: Properties) =>
    stat
      ? [
          {
            id,
            metric: stat.Metric.MetricName,
            dimensions: dimensionsOf(stat.Metric.Dimensions),
            statistic: stat.Stat,
            period: stat.Period / 60,
          },
        ]
      : [],
  )
  return [Expression, metrics]
}

function aggregated(
  { metric, dimensions, statistic, period }: Measured,
  signals: readonly Signal[],
  end: number,
): number | undefined {
  const signal = signals.find(
    (one) =>
      one.metric === metric &&
      Object.entries(one.dimensions ?? {}).every(([name, value]) => dimensions[name] === value),
  )
  const values = Array.from({ length: period }, (_, index) => end - period + index).flatMap(
    (minute) =>
      (signal && (minute >= 0 || signal.before) ? signal.at(minute) : healthy(metric, dimensions, minute)) ??
      [],
  )
  if (values.length === 0) return undefined
  if (statistic === 'Maximum') return Math.max(...values)
  // A count of requests is the number of its samples.
  if (statistic === 'Sum' || statistic === 'SampleCount') return values.reduce((sum, one) => sum + one, 0)
  throw new Error(`the statistic ${statistic} is not played`)
}
