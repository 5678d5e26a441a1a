import type { AlarmDefinition, LogQuery, Look, Threshold } from '#lib/monitoring/alarm-definition.ts'
import { alarmDefinitions } from '#lib/monitoring/alarm-definitions.ts'
import { looks } from '#lib/monitoring/looks.ts'
import { period } from '#lib/monitoring/metrics.ts'
import { busiestQueries, busiestSeconds } from '#lib/monitoring/saved-queries.ts'

const questions = [
  ['who deleted a code, and why if it was for good', 'find CODE --tenant T --from 30d'],
  ['everything under one correlation id', 'find CORRELATION_ID --from 24h'],
  [
    'what an API key did on a day',
    'find KEY_ID --tenant T --from 2026-01-30T00:00:00Z --to 2026-01-31T00:00:00Z',
  ],
  ['which tenants have refunds that are pending for an hour', 'refunds list --to 1h'],
  ['why a refund failed', 'audit list --tenant T --action refund_failed --from 24h'],
  ['why an import rejected rows, the first 100', 'operations list --tenant T --from 24h'],
  ['imports that failed', 'operations list --from 24h'],
  [
    'which deliveries to an endpoint failed, and what it answered',
    'deliveries list --tenant T --subscriber SUBSCRIBER_ID --status failed-attempt --from 2026-01-31T12:00:00Z',
  ],
  ['deliveries that are not tried any more', 'deliveries list --from 12h'],
  ['what was denied', 'audit list --tenant T --result deny --from 24h'],
] as const

const opening = `# Runbook

Generated from the alarms by \`npx commerce runbook\`. Each alarm wakes somebody, and its section is named like it, without the name of
the stack. What can wait for a working day has no alarm: the last part lists the graphs and queries to look at. STACK is the name
of the stack, T is a tenant. \`npx commerce runbook --stack\` fills in what the stack knows. The queries are for CloudWatch Logs Insights, where the saved
ones are listed under the name of the stack. In the name of a log group, … stands for text that CloudFormation generates.

A correlation id links a log line to the audit record and the events of the same request. Logs hold no personal data and
no ids of resources but those of mails. The audit holds the others. All alarms that are raised now, the saved queries, and the trace of a log line with \`xray_trace_id\`:

${fenced('sh', 'aws cloudwatch describe-alarms --state-value ALARM --alarm-name-prefix STACK-\naws logs describe-query-definitions --query-definition-name-prefix STACK/\naws xray batch-get-traces --trace-ids XRAY_TRACE_ID')}
All commands work with the permissions of docs/examples/operator-policy.json. Only \`unmask\` and traces need those of
docs/examples/operator-unmask-policy.json, too.

# Ask what happened

\`find\` shows all that is known under one id, as a timeline: a correlation id, an order, a refund, a code, an API key. Commands read the
time that you name, in UTC or like \`7d\`; \`--verbose\` prints what that took. Lists without \`--tenant\` show what waits or has failed in any
tenant. \`api-keys list\` and \`subscribers list\` name the ids. \`npx commerce console --stack STACK\` answers the same in a browser.

${fenced('sh', questions.map(([question, command]) => `# ${question}\nnpx commerce ${command} --stack STACK`).join('\n'))}
# Freeze first

Does the service write wrong data, or do callers see data of others? Then freeze it before you look for the cause. It takes seconds,
needs no deployment, and loses nothing: callers get 503 with \`Retry-After\`, and messages wait. \`--writes\` stops changes and lets
reads go on. \`--all\` stops every request: use it if data is disclosed, or if a key or a token of the service was stolen. Do not
freeze if requests only fail or are slow. docs/operations.md describes both, and what to do before \`unfreeze\`.

${['freeze --writes', 'freeze --all', 'unfreeze'].map((command) => fenced('sh', `npx commerce ${command} --stack STACK`)).join('\n')}
# Who causes the load

The dashboard shows the tenants and the anonymous sources with the most requests of the last 15 minutes. A source is a
keyed hash of an address. The same by commands, of all functions of the stack:

${busiestQueries.map(({ title, lines }) => `${title}:\n\n${fenced('sh', startQuery(lines))}`).join('\n')}
${fenced('sh', 'aws logs get-query-results --query-id ID')}
The addresses that the web ACL blocks now, by the id of the web ACL \`WebAcl…\` of the stack:

${fenced('sh', 'aws wafv2 list-web-acls --scope REGIONAL\naws wafv2 get-rate-based-statement-managed-keys --scope REGIONAL --web-acl-name WEB_ACL_NAME --web-acl-id WEB_ACL_ID --rule-name AnonymousRequests')}
The access log has the address of each request, masked. With docs/examples/operator-unmask-policy.json, which
belongs to a role for emergencies only:

Log group \`STACK…-AccessLog…\`:

${fenced('', 'fields unmask(sourceIp) as address\n| stats count(*) as requests by address, route, status\n| sort requests desc\n| limit 20')}
Block an address within a minute, and admit it again later. Deployments leave it blocked:

${fenced('sh', 'npx commerce addresses block ADDRESS --stack STACK\nnpx commerce addresses list --stack STACK\nnpx commerce addresses unblock ADDRESS --stack STACK')}
If the web ACL rejects legitimate callers, set \`limits.webAcl.action\` to \`count\` and deploy: its rules then only count, and
blocked addresses stay blocked. Correct the limits by the metrics of the rules, and go back to \`block\`.

The most used and the throttled keys of the table, if \`storage.contributorInsights\` is true: the console of DynamoDB, page
‘Monitor’ of the table.

# Alarms

Commands under Diagnosis change nothing, those under Response do. \`npx commerce rollback --dry-run --stack STACK\` says what a rollback
would do. An alarm ends by itself when its measure is within the limit again, as the graph shows; that of a route counts the last
hour. What failed meanwhile is over when the dead letters are redriven and callers had answers.
`

/** Returns the command that starts a query over all log groups of the stack. */
function startQuery(lines: readonly string[]): string {
  const query = [
    "SOURCE logGroups(namePrefix: ['STACK-'])",
    ...lines.map((line) => line.replaceAll('"', "'")),
  ]
  return [
    `aws logs start-query --start-time $(($(date +%s) - ${busiestSeconds})) --end-time $(date +%s) --query-string "`,
    `${query.join('\n| ')}"`,
  ].join('')
}

/** Returns the runbook page: a section for each alarm, and for each graph that is looked at. */
export function runbook(): string {
  return [
    opening,
    ...alarmDefinitions.map(sectionOfAlarm),
    '# Look at it on a working day\n',
    ...looks.map(sectionOfLook),
  ].join('\n')
}

/** The outputs of a stack that the runbook needs, by their placeholders. */
export const filledByOutputs: Readonly<Record<string, string>> = {
  TABLE: 'TableName',
  TABLE_ARN: 'TableArn',
  STREAM_ARN: 'TableStreamArn',
  VAULT: 'BackupVaultName',
  IMPORT_MACHINE_ARN: 'ImportMachineArn',
  WEB_ACL_NAME: 'WebAclName',
  WEB_ACL_ID: 'WebAclId',
}

/** Returns the runbook of one stack. A placeholder whose output the stack does not have stays. */
export function runbookOf(stack: string, outputs: Readonly<Record<string, string>>): string {
  const known = new Map([
    ['STACK', stack],
    ...Object.entries(filledByOutputs).flatMap(([placeholder, output]) => {
      const value = outputs[output]
      return value === undefined ? [] : [[placeholder, value] as const]
    }),
  ])
  return runbook().replace(/\b[A-Z]+(?:_[A-Z]+)*\b/g, (word) => known.get(word) ?? word)
}

function sectionOfAlarm(definition: AlarmDefinition): string {
  const { id, impact, act, fixes, threshold } = definition
  return [
    `## ${id}\n`,
    `**Impact:** ${impact}\n`,
    `**When:** ${conditionOf(threshold)}.\n`,
    `**Diagnosis:** the graph ‘${threshold.measure.graph}’ of the dashboard, and:\n\n${diagnosis(definition)}`,
    `**Response:** ${act}\n`,
    ...commandsOf(fixes),
  ].join('\n')
}

function sectionOfLook(look: Look): string {
  const { id, impact, act, fixes, graph } = look
  return [
    `## ${id}\n`,
    `**If:** ${impact}\n`,
    `**Look at:** ‘${graph}’ of the dashboard, and:\n\n${diagnosis(look)}`,
    `**Response:** ${act}\n`,
    ...commandsOf(fixes),
  ].join('\n')
}

function commandsOf(commands: readonly string[] = []): string[] {
  return commands.length > 0 ? [fenced('sh', commands.join('\n'))] : []
}

function diagnosis({ queries = [], commands }: AlarmDefinition | Look): string {
  return [
    ...queries.map((one) => `${logSource(one)}:\n\n${fenced('', one.query.replaceAll(' | ', '\n| '))}`),
    ...commandsOf(commands),
  ].join('\n')
}

function logSource(query: LogQuery): string {
  if ('saved' in query) return `Saved query \`STACK/${query.saved.title}\``
  return `Log group \`${'name' in query ? query.name : `STACK…-${query.group}…`}\``
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\`\n`
}

function conditionOf({ measure, above, below, periods = 1 }: Threshold): string {
  const minutes = periods * (measure.period ?? period).toMinutes()
  const duration = periods === 1 ? '' : `, for ${minutes} minutes`
  const limit = below === undefined ? `above ${above}` : `below ${below} or missing`
  return `${measure.text} ${limit}${duration}`
}
