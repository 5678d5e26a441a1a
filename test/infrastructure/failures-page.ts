import { table } from '#test/bench/aws/table.ts'
import { type Failure, failures } from './failures.ts'

/** Returns the page that lists each failure with what notices it. */
export function failuresPage(): string {
  const groups = [
    ...Map.groupBy(failures, ({ kind, minutes, look }) => [kind, minutes, look].join()).values(),
  ]
  return `# What notices a failure

Written by \`npm run generate\` from \`test/infrastructure/failures.ts\`; do not edit. A test plays each row against the expressions of the
alarms, at 100 requests a minute of the API, of which the failing route gets one. ‘Minutes’ is the time until the alarm, without the minute
or two until CloudWatch has the metric. A failure without minutes raises no alarm: a graph or a table of the dashboard shows it.

${table(['Failure', 'Minutes', 'Noticed by', 'Why not by an alarm, or not earlier'], groups.map(rowOf))}

At more than 130 requests a minute of an area, its alarm comes up to two minutes later. An alarm of a route with a latency budget may last
for an hour after the last failure. Of a route with less than twelve requests an hour, only ‘Failed requests by operation’ shows failures.
Only \`npx commerce verify\` notices that the deletion protection or the point-in-time recovery of the table was turned off.
`
}

function rowOf([first, ...more]: Failure[]): (string | number)[] {
  if (!first) return []
  const { kind, minutes = '', look, reason = '' } = first
  const alarms = new Set([first, ...more].flatMap(({ alarm = [] }) => alarm))
  const names = [...alarms].map((alarm) => `\`${alarm}\``)
  return [kind, minutes, look ? `‘${look}’` : names.join(', '), reason]
}
