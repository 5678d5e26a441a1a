import { table } from '#test/bench/aws/table.ts'
import { type Failure, failures } from './failures.ts'

/** Returns the page that lists each failure with what notices it. */
export function failuresPage(): string {
  const groups = [
    ...Map.groupBy(failures, ({ kind, minutes, look }) => [kind, minutes, look].join()).values(),
  ]
  return `# What notices a failure

Written by \`npm run generate\` from \`test/infrastructure/failures.ts\`; do not edit. A test plays each row against the expressions of the
alarms, at 100 requests a minute of the API, of which the failing route gets one. An alarm wakes somebody. All else waits for a working
day: a graph or a table of the dashboard shows it, and the [runbook](operations.md#dashboard-and-alarms) has its query.
‘Minutes’ is the time until the alarm, without the minute or two until CloudWatch has the metric.

${table(['Failure', 'Minutes', 'Noticed by', 'Why no alarm'], groups.map(rowOf))}

At more than 130 requests a minute of an area, its alarm comes up to two minutes later: it needs 0.15 % of the requests of a quarter of an
hour. A route with less than twelve requests an hour does not reach three failures in that time: only its total in the table ‘Failed
requests by operation’ shows it. An alarm of a route with a latency budget may last for an hour after the last failure. An outage raises
several alarms at once: let the incident service group them.

Nothing notices at once that somebody turns off the deletion protection or the point-in-time recovery of the table.
\`npx commerce verify\`, which runs after each deployment, fails on them, and the backups of AWS Backup go on meanwhile.
`
}

function rowOf([first, ...more]: Failure[]): (string | number)[] {
  if (!first) return []
  const { kind, minutes = '', look, givenUp = '' } = first
  const alarms = new Set([first, ...more].flatMap(({ alarm = [] }) => alarm))
  const names = [...alarms].map((alarm) => `\`${alarm}\``)
  return [kind, minutes, ...(look ? [`‘${look}’`, givenUp] : [names.join(', '), ''])]
}
