import type { AlarmDefinition, Threshold } from '#lib/monitoring/alarm-definition.ts'
import { alarmDefinitions, apiFailing } from '#lib/monitoring/alarm-definitions.ts'
import { busiestQueries, busiestSeconds } from '#lib/monitoring/busiest.ts'
import { period } from '#lib/monitoring/metrics.ts'

const opening = `# Runbook

Generated from the alarms by \`npx commerce runbook\`. Each section is named like its alarm, without the name of the stack. The
name contains the severity: \`page\` means now, \`ticket\` the next working day; \`silent\` alarms only feed pages. STACK is the name
of the stack, T is a tenant. \`npx commerce runbook --stack\` fills in what the stack knows. The queries are for CloudWatch Logs Insights. In the name of a
log group, … stands for text that CloudFormation generates. While \`${apiFailing.id}\` is in alarm, no other alarm pages.

A correlation id links a log line to the audit record and the events of the same request. Logs hold no personal data and
no resource ids. The audit holds the ids. All alarms that are raised now, and the trace of a log line with \`xray_trace_id\`:

${fenced('sh', 'aws cloudwatch describe-alarms --state-value ALARM --alarm-name-prefix STACK --alarm-types MetricAlarm CompositeAlarm\naws xray batch-get-traces --trace-ids XRAY_TRACE_ID')}
All commands work with the permissions of docs/examples/operator-policy.json. Only \`unmask\` needs those of
docs/examples/operator-unmask-policy.json, too.

# Freeze first

Does the service write wrong data, or do callers see data of others? Then freeze it before you look for the cause. It takes seconds,
needs no deployment, and loses nothing: callers get 503 with \`Retry-After\`, and messages wait. \`--writes\` stops changes and lets
reads go on. \`--all\` stops every request: use it if data is disclosed, or if a key or a token of the service was stolen. Do not
freeze if requests only fail or are slow. docs/operations.md describes both, and what to do before \`unfreeze\`.

${fenced('sh', 'npx commerce freeze --writes --stack STACK\nnpx commerce freeze --all --stack STACK\nnpx commerce unfreeze --stack STACK')}
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
Block an address within a minute, and admit it again later:

${fenced('sh', 'npx commerce addresses block ADDRESS --stack STACK\nnpx commerce addresses list --stack STACK\nnpx commerce addresses unblock ADDRESS --stack STACK')}
If the web ACL rejects legitimate callers, set \`limits.webAcl.action\` to \`count\` and deploy: its rules then only count, and
blocked addresses stay blocked.

The most used and the throttled keys of the table, if \`storage.contributorInsights\` is true: the console of DynamoDB, page
‘Monitor’ of the table.

# Alarms
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

/** Returns the runbook page: a section for each alarm that notifies people, in the order of their definitions. */
export function runbook(definitions: readonly AlarmDefinition[] = alarmDefinitions): string {
  return [opening, ...definitions.map(section)].join('\n')
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

function section(definition: AlarmDefinition): string {
  const { id, severity, impact, act, queries = [], commands = [] } = definition
  const look = [
    ...queries.map(
      ({ group, name = `STACK…-${group}…`, query }) =>
        `Log group \`${name}\`:\n\n${fenced('', query.replaceAll(' | ', '\n| '))}`,
    ),
    ...(commands.length > 0 ? [`Commands:\n\n${fenced('sh', commands.join('\n'))}`] : []),
  ]
  return [
    `## ${severity}-${id}\n`,
    `**Impact:** ${impact}\n`,
    `**When:** ${conditionOf(definition)}\n`,
    `**Diagnosis:** ${graphsOf(definition)} of the dashboard, and:\n\n${look.join('\n')}`,
    `**Response:** ${act}\n`,
  ].join('\n')
}

/** Returns the graphs of the dashboard for an alarm. The windows of one alarm are on one graph. */
function graphsOf({ thresholds }: AlarmDefinition): string {
  return [...new Set(thresholds.map(({ measure }) => `the graph ‘${measure.graph}’`))].join(' and ')
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\`\n`
}

function conditionOf({ id, severity, thresholds }: AlarmDefinition): string {
  const [only] = thresholds
  if (thresholds.length === 1 && (severity === 'ticket' || id === apiFailing.id)) return `${textOf(only)}.`
  const parts = thresholds.map((part) => `${textOf(part)} (\`silent-${id}${part.window ?? ''}\`)`)
  return `${parts.join(', and ')}.`
}

function textOf({ measure, above, below, periods = 1 }: Threshold): string {
  const minutes = periods * (measure.period ?? period).toMinutes()
  const duration = periods === 1 ? '' : `, for ${minutes} minutes`
  const limit = below === undefined ? `above ${above}` : `below ${below} or missing`
  return `${measure.text} ${limit}${duration}`
}
