import { writeFile } from 'node:fs/promises'
import { alarmDefinitions, apiFailing } from '#lib/alarm-definitions.ts'
import { type AlarmDefinition, type Measure, periodSeconds, type Threshold } from '#lib/alarm-types.ts'
import { graphOf } from '#lib/graph-titles.ts'
import { command } from './command.ts'

const usage = `usage: npm run -s runbook [-- --out FILE]
Writes what to do about each alarm as Markdown, to a file or to standard output.`

const opening = `# Runbook

Generated from the alarms by \`npm run runbook\`. Each section is named like its alarm, without the name of the stack. The
name contains the severity: \`page\` means now, \`ticket\` the next working day. STACK stands for the name of the stack, T
for a tenant. The queries are for CloudWatch Logs Insights. The name of a log group begins with STACK and ends with the
text that is shown; for functions of nested stacks, the name of the nested stack is in between. While
\`${apiFailing.id}\` is in alarm, no other alarm pages.

A correlation id links a log line to the audit record and the events of the same request. Logs hold no personal data and
no resource ids. The audit holds the ids.
`

/** Returns the runbook page: a section for each alarm that notifies people, in the order of their definitions. */
export function runbook(definitions: readonly AlarmDefinition[] = alarmDefinitions): string {
  return [opening, ...definitions.map(section)].join('\n')
}

function section(definition: AlarmDefinition): string {
  const { id, severity, breaks, act, queries, commands } = definition
  const look = [
    ...queries.map(
      ({ group, query }) =>
        `Log group \`STACK…-${group}…\`:\n\n${fenced('', query.replaceAll(' | ', '\n| '))}`,
    ),
    ...(commands.length > 0 ? [`Commands:\n\n${fenced('sh', commands.join('\n'))}`] : []),
  ]
  return [
    `## ${severity}-${id}\n`,
    `**Impact:** ${breaks}\n`,
    `**When:** ${conditionOf(definition)}\n`,
    `**How to look:** ${graphsOf(definition)} of the dashboard, and:\n\n${look.join('\n')}`,
    `**What to do:** ${act}\n`,
  ].join('\n')
}

/** Returns the graphs of the dashboard for an alarm. The windows of one alarm are on one graph. */
function graphsOf({ threshold, windows = [] }: AlarmDefinition): string {
  const measures = (threshold ? [threshold] : windows).map(({ measure }) => measure)
  return [...new Set(measures.map((measure) => `the graph ‘${graphOf(measure)}’`))].join(' and ')
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\`\n`
}

function conditionOf({ id, severity, threshold, windows }: AlarmDefinition): string {
  if (threshold && (severity === 'ticket' || id === apiFailing.id)) return `${textOf(threshold)}.`
  const parts = (windows ?? [{ ...threshold, id }]).map(
    (window) => `${textOf(window)} (\`silent-${window.id}\`)`,
  )
  return `${parts.join(', and ')}.`
}

function textOf({ measure, above, below, periods }: Threshold): string {
  const minutes = (periods * periodSeconds(measure)) / 60
  const duration = periods === 1 ? '' : `, for ${minutes} minutes`
  const limit = below === undefined ? `above ${above}` : `below ${below} or missing`
  const subject = subjects[measure.of] as (measure: Measure) => string
  return `${subject(measure)} ${limit}${duration}`
}

/** The subject of a condition, for each measure. */
const subjects: { [One in Measure as One['of']]: (measure: One) => string } = {
  'failed requests': ({ route }) => `failed requests of ${route.operation} in five minutes`,
  latency: ({ route, percentile }) => `the p${percentile} of ${route.operation} in milliseconds`,
  'failures in a hundred requests': ({ route, minutes, fewest }) =>
    `failures of ${route.operation} in a hundred requests of ${minutes} minutes, from ${fewest} on,`,
  tail: ({ route }) => `the p99 of ${route.operation} divided by its p95`,
  'failures in a hundred requests of the API': ({ fewest }) =>
    `failures of all routes in a hundred requests of five minutes, from ${fewest} on,`,
  'completed runs': ({ name }) => `runs of ${name} that ended without an error, in five minutes,`,
  'age of the oldest message': ({ queue }) =>
    `the age of the oldest message in the queue ${queue}, in seconds,`,
  'throttled requests of the table': ({ of }) => `${of} in five minutes`,
  'throttled calls of functions': ({ of }) => `${of} in five minutes`,
  'completed backups': () => 'backups of the table that completed in an hour',
  'rate of bounces': ({ of }) => `the ${of} of the account’s mails, from 0 to 1,`,
  'rate of complaints': ({ of }) => `the ${of} of the account’s mails, from 0 to 1,`,
  'errors of the function': ({ name }) => `errors of the function ${name} in five minutes`,
  'runs that ended badly': () => 'runs of the import workflow that failed in five minutes',
  'age of the oldest unfinished': ({ work }) => `the age of the oldest unfinished ${work}, in seconds,`,
  'age of the oldest change': ({ name }) =>
    `the age of the oldest change that waits for ${name}, in milliseconds,`,
  'messages in the dead-letter queue': ({ name }) => `messages in the dead-letter queue of ${name}`,
}

if (import.meta.main)
  await command(usage, { out: 'optional' }, async ({ out }) => {
    if (out === undefined) process.stdout.write(runbook())
    else await writeFile(out, runbook())
  })
