import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { filledByOutputs, runbook, runbookOf } from '#bin/commands/deployment/runbook.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { pausedConsumers } from '#lib/functions/freeze.ts'
import { deadLettersOutput, functionOutput, pascalCase } from '#lib/functions/function-names.ts'
import { alarmDefinitions } from '#lib/monitoring/alarm-definitions.ts'
import { looks } from '#lib/monitoring/looks.ts'
import { busiestQueries } from '#lib/monitoring/saved-queries.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { commandLinesIn, unknownParts } from '#test/support/command-lines.ts'
import { withProvisioned, withWeeklyBackups } from './stage-settings.ts'
import { idsOf, type Resource, resourcesOf, type Synthesis, templatesOf } from './synthesis.ts'

/** With every alarm that settings can add. */
const prod = await templatesOf('prod', { changes: withProvisioned })
const weekly = await templatesOf('prod', { changes: withWeeklyBackups })
const { template, watch } = prod
const page = runbook()
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
)
const alarms = ['prod', 'with weekly backups'].flatMap((one) =>
  resourcesOf(one === 'prod' ? watch : weekly.watch, 'AWS::CloudWatch::Alarm'),
)
const alarmNameOf = ([, { Properties }]: [string, Resource]) =>
  Properties.AlarmName.replace(/^commerce-prod-/, '')

/** The log groups that a runbook queries, as patterns of their names. */
function askedIn(text: string): RegExp[] {
  return [...text.matchAll(/^Log group `(\S+)`/gm)].map(([, name = '']) => {
    const pattern = name.replace('STACK', 'commerce-prod').replaceAll('…', '.*')
    return new RegExp(`^${pattern}$`)
  })
}

/** The fixed names of log groups, or those that CloudFormation generates. A nested stack has a name like any resource. */
function groupsOf({ stacks }: Synthesis): string[] {
  return Object.entries(stacks).flatMap(([path, its]) => {
    const stack = path === 'commerce-prod' ? path : `commerce-prod-${path}NestedStack0A1B2C3D-1X2Y3Z`
    return resourcesOf(its, 'AWS::Logs::LogGroup').map(
      ([id, { Properties }]) => Properties.LogGroupName ?? `${stack}-${id}-1X2Y3Z`,
    )
  })
}

describe('the runbook', () => {
  test('has a section for each alarm and for each graph that is looked at, and no other', () => {
    const names = new Set([...alarms.map(alarmNameOf), ...looks.map(({ id }) => id)])
    expect([...sections.keys()].sort()).toEqual([...names].sort())
    expect(sections.size).toBe(page.match(/^## /gm)?.length)
  })

  test('states impact, diagnosis and remedy like the alarm itself', () => {
    for (const alarm of alarms) {
      const text = sections.get(alarmNameOf(alarm)) ?? ''
      const described = alarm[1].Properties.AlarmDescription
      const stated = alarmDefinitions.filter(({ impact, act }) => described === `${impact} ${act}`)
      expect(stated).not.toEqual([])
      expect(stated.some(({ impact, act }) => text.includes(impact) && text.includes(act))).toBe(true)
      expect(text).toMatch(/^```(sh)?\n\w/m)
    }
  })

  test('finds the busiest tenant and source by the queries of the dashboard', () => {
    const [, text = ''] = page.split('# Who causes the load')
    for (const { lines } of busiestQueries)
      for (const line of lines) expect(text).toContain(`| ${line.replaceAll('"', "'")}`)
    expect(text.match(/SOURCE logGroups\(namePrefix: \['STACK-'\]\)/g)).toHaveLength(busiestQueries.length)
  })

  test('queries existing log groups', () => {
    const found = askedIn(page).map((asked) => groupsOf(prod).filter((name) => asked.test(name)).length)
    expect(new Set(found)).toEqual(new Set([1]))
    expect(found.length).toBeGreaterThan(0)
  })

  test('names the log groups of each query', () => {
    const queries = page.match(/^((Log group|Saved query) `[^`]+`:\n\n)?```\n\w/gm) ?? []
    expect(queries.length).toBeGreaterThan(alarms.length / 2)
    expect(queries.filter((one) => !/^(Log|Saved)/.test(one))).toEqual([])
  })

  test('names saved queries that the stack has', () => {
    const named = [...page.matchAll(/^Saved query `STACK\/(.*)`/gm)].map(
      ([, title]) => `commerce-prod/${title}`,
    )
    const saved = resourcesOf(watch, 'AWS::Logs::QueryDefinition').map(
      ([, { Properties }]) => Properties.Name,
    )
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((one) => !saved.includes(one))).toEqual([])
  })

  test('names the operation that fails in an area', () => {
    const section = sections.get('CodesFailing')
    expect(section).toContain('filter watched = "codes"')
    expect(section).toMatch(/stats count\(\*\) .* by operation, error_code/)
  })

  test('finds crashes, which functions do not log themselves', () => {
    const alarmed = alarms.filter(([, { Properties }]) =>
      JSON.stringify(Properties).includes('"MetricName":"Errors"'),
    )
    const names = new Set(alarmed.map(alarmNameOf))
    expect(names.size).toBeGreaterThan(0)
    // The texts of Lambda.
    for (const name of names)
      for (const crash of ['errorType', 'Invoke Error', 'Task timed out', 'Runtime exited'])
        expect(sections.get(name)).toContain(crash)
  })

  const ofPaused = pausedConsumers.flatMap(({ name }) =>
    [...sections.keys()].filter((one) => new RegExp(`^${pascalCase(name)}(Late|NotRunning)$`).test(one)),
  )
  test.each([...ofPaused, 'ApiFailing', 'RequestsUnanswered', 'FunctionsThrottled', 'PublicAddressSilent'])(
    'says what ends a freeze, which raises %s',
    (alarm) => {
      expect(sections.get(alarm)).toContain('npx commerce unfreeze')
    },
  )

  test.each([
    ['Throttles', 'FunctionName'],
    ['ProvisionedConcurrencySpilloverInvocations', 'FunctionName,Resource'],
  ])('finds the functions with %s by a command to paste', async (metric, dimensions) => {
    const found = page.match(/^aws cloudwatch get-metric-data (?:.*\\\n)*.*/gm)
    const command = found?.find((one) => one.includes(metric))
    // A stand-in for the AWS CLI that prints its last argument.
    const script = `aws() { printf '%s' "\${@: -1}"; }\n${command}`
    const { stdout } = await promisify(execFile)('bash', ['-c', script])
    const Expression = `SEARCH('{AWS/Lambda,${dimensions}} MetricName="${metric}"', 'Sum', 300)`
    expect(JSON.parse(stdout)).toEqual([{ Id: 'functions', Expression }])
  })

  test.each([
    ['RefundsPendingLong', 'npx commerce refunds list --to 15m --stack STACK'],
    ['RefundsUnsettledLong', 'npx commerce refunds list --to 10d --stack STACK'],
    [
      'EventBusDeadLettersPresent',
      'npx commerce dead-letters redrive events.relay --from TIME --to TIME --stack STACK',
    ],
    ['LoginFailing', 'npx commerce rollback --stack STACK'],
  ])('answers %s by `%s`', (alarm, command) => {
    expect(sections.get(alarm)?.split('\n')).toContain(command)
  })

  test('finds the dead-letter queue of the bus by its name', () => {
    const [, id] = /list-queues --queue-name-prefix STACK-(\w+)/.exec(page) ?? []
    expect(idsOf(template, 'AWS::SQS::Queue')).toContain(id)
  })

  test('of a stack needs only outputs that the stack has', () => {
    const names = Object.keys(template.Outputs ?? {})
    expect(Object.values(filledByOutputs).filter((output) => !names.includes(output))).toEqual([])
  })

  test('of a stack has no placeholder of what the stack knows', () => {
    const outputs = Object.fromEntries(Object.values(filledByOutputs).map((name) => [name, `the-${name}`]))
    const filled = runbookOf('shop', outputs)
    const placeholders = ['STACK', ...Object.keys(filledByOutputs)]
    expect(placeholders.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([])
    expect(placeholders.filter((name) => new RegExp(`\\b${name}\\b`).test(filled))).toEqual([])
    expect(filled).toContain('--table-name the-TableName\n')
  })

  test('of a stack without an output keeps its placeholder', () => {
    expect(runbookOf('shop', {})).toContain('--table-name TABLE\n')
  })

  const commandLines = commandLinesIn(page)

  test('names commands and options that exist', () => {
    expect(commandLines.flatMap(unknownParts)).toEqual([])
  })

  test.each(['dead-letters redrive', 'audit list', 'refunds list', 'find'])(
    'names the command %s',
    (command) => {
      expect(commandLines.map(({ name }) => name)).toContain(command)
    },
  )

  test('names queues that exist', () => {
    const named = [...page.matchAll(/dead-letters redrive (\S+)/g)].map(([, name]) => name)
    const known = [...Object.keys(taskQueues), ...subscriptions.map(({ name }) => name)]
    expect(named.filter((name) => !known.includes(name ?? ''))).toEqual([])
  })

  test('names the redrive of each function of the stream, with the stack outputs that it requires', () => {
    const streamed = subscriptions.filter(({ source }) => typeof source === 'object' && 'stream' in source)
    expect(streamed.length).toBeGreaterThan(0)
    for (const { name } of streamed) {
      const section = sections.get(`${pascalCase(name)}DeadLettersPresent`) ?? ''
      expect(section).toContain(`npx commerce dead-letters redrive ${name} --stack STACK`)
      const { Outputs: outputs = {} } = template
      expect(JSON.stringify(outputs[functionOutput(name)])).toContain(`<${pascalCase(name)}Live>`)
      expect(outputs[deadLettersOutput(name)]?.Value).toBe(`<${pascalCase(name)}DeadLetters>`)
    }
  })
})

test('a description fits into an alarm', () => {
  for (const { impact, act } of alarmDefinitions) expect(`${impact} ${act}`.length).toBeLessThanOrEqual(1024)
})
