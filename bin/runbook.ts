import { writeFile } from 'node:fs/promises'
import { alarmDefinitions, apiFailing } from '#lib/alarm-definitions.ts'
import { type AlarmDefinition, type Measure, periodSeconds, type Threshold } from '#lib/alarm-types.ts'
import { graphOf } from '#lib/graph-titles.ts'
import { command } from './command.ts'

const usage = `usage: npm run -s runbook [-- --out FILE]
Writes what to do about each alarm as Markdown, to a file or to standard output.`

const opening = `# Runbook

Generated from the alarms by \`npm run runbook\`. The heading of a section is the name of its alarm without the name of
the stack. A name contains the severity: \`page\` means now, \`ticket\` means the next working day. STACK stands for the
name of the stack, T for a tenant. The queries are for CloudWatch Logs Insights. The name of a log group begins with STACK and
contains the text that is shown; in between is the name of a nested stack, if the function is in one. While \`${apiFailing.id}\` is in alarm, no other alarm pages.

A correlation id leads from a line of the log to the audit record and the events of the same request. No log holds
anything of a person, nor the id of what was worked on: the audit has the latter.
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
    `**What breaks:** ${breaks}\n`,
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
  if (threshold && (severity === 'ticket' || id === apiFailing.id)) return `${inWords(threshold)}.`
  const parts = (windows ?? [{ ...threshold, id }]).map(
    (window) => `${inWords(window)} (\`silent-${window.id}\`)`,
  )
  return `${parts.join(', and ')}.`
}

function inWords({ measure, above, below, periods }: Threshold): string {
  const minutes = (periods * periodSeconds(measure)) / 60
  const often = periods === 1 ? '' : `, for ${minutes} minutes`
  const limit = below === undefined ? `above ${above}` : `below ${below} or missing`
  return `${subjectOf(measure)} ${limit}${often}`
}

function subjectOf(measure: Measure): string {
  switch (measure.of) {
    case 'failed requests':
      return `failed requests of ${measure.route.operation} in five minutes`
    case 'latency':
      return `the p${measure.percentile} of ${measure.route.operation} in milliseconds`
    case 'failures in a hundred requests':
      return `failures of ${measure.route.operation} in a hundred requests of ${measure.minutes} minutes, from ${measure.fewest} on,`
    case 'tail':
      return `the p99 of ${measure.route.operation} divided by its p95`
    case 'failures in a hundred requests of the API':
      return `failures of all routes in a hundred requests of five minutes, from ${measure.fewest} on,`
    case 'completed runs':
      return `runs of ${measure.name} that ended without an error, in five minutes,`
    case 'age of the oldest message':
      return `the age of the oldest message in the queue ${measure.queue}, in seconds,`
    case 'throttled requests of the table':
    case 'throttled calls of functions':
      return `${measure.of} in five minutes`
    case 'completed backups':
      return 'backups of the table that completed in an hour'
    case 'rate of bounces':
    case 'rate of complaints':
      return `the ${measure.of} of the account’s mails, from 0 to 1,`
    case 'errors of the function':
      return `errors of the function ${measure.name} in five minutes`
    case 'runs that ended badly':
      return 'runs of the workflow of imports that ended badly in five minutes'
    case 'age of the oldest unfinished':
      return `the age of the oldest of the ${measure.work} that are not over, in seconds,`
    case 'age of the oldest change':
      return `the age of the oldest change that waits for ${measure.name}, in milliseconds,`
    case 'messages in the dead-letter queue':
      return `messages in the dead-letter queue of ${measure.name}`
  }
}

if (import.meta.main)
  await command(usage, { out: 'optional' }, async ({ out }) => {
    if (out === undefined) process.stdout.write(runbook())
    else await writeFile(out, runbook())
  })
