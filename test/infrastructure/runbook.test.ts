import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { filledByOutputs, runbook, runbookOf } from '#bin/commands/runbook.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { pausedConsumers } from '#lib/freeze.ts'
import { deadLettersOutput, functionOutput, pascalCase } from '#lib/function-entries.ts'
import type { AlarmDefinition } from '#lib/monitoring/alarm-definition.ts'
import { alarmDefinitions } from '#lib/monitoring/alarm-definitions.ts'
import { busiestQueries } from '#lib/monitoring/busiest.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { commandLinesIn, unknownParts } from '#test/support/command-lines.ts'
import { moreRoutes, withDomain, withProvisioned } from './stage-settings.ts'
import { idsOf, type Resource, resourcesOf, type Synthesis, templatesOf } from './synthesis.ts'

/** With every alarm that settings can add. */
const prod = await templatesOf('prod', { changes: withProvisioned })
const grown = await templatesOf('prod', { changes: withDomain, moreRoutes })
const { template, watch } = prod
const page = runbook()
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
)
const all = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) =>
  resourcesOf(watch, type),
)
const alarmNameOf = ([, { Properties }]: [string, Resource]) =>
  Properties.AlarmName.replace(/^commerce-prod-/, '')
const notifying = all.filter(([, { Properties }]) => Properties.AlarmActions)
const silent = all.filter(([, { Properties }]) => !Properties.AlarmActions)

/** The name of the alarm that notifies of this one: itself or its parent. */
function ownerOf(alarm: [string, Resource]): string {
  const [owner = alarm] = notifying.filter(([, { Properties }]) =>
    Properties.AlarmRule?.includes(`"<${alarm[0]}.Arn>"`),
  )
  return alarmNameOf(owner)
}

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
  test('has a section for each alarm that notifies, and no other', () => {
    expect([...sections.keys()].sort()).toEqual(notifying.map(alarmNameOf).sort())
    expect(sections.size).toBe(page.match(/^## /gm)?.length)
  })

  test('names each silent alarm in the section of its parent', () => {
    for (const alarm of silent) expect(sections.get(ownerOf(alarm))).toContain(`\`${alarmNameOf(alarm)}\``)
    expect(silent.length).toBeGreaterThan(0)
  })

  test('states impact, diagnosis and remedy like the alarm itself', () => {
    for (const alarm of notifying) {
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
    expect(found.length).toBeGreaterThan(notifying.length)
  })

  test('names the log group of each query', () => {
    const queries = page.match(/^(Log group `\S+`:\n\n)?```\n\w/gm) ?? []
    expect(queries.length).toBeGreaterThan(notifying.length)
    expect(queries.filter((one) => !one.startsWith('Log'))).toEqual([])
  })

  test('finds crashes, which functions do not log themselves', () => {
    const alarmed = all.filter(([, { Properties }]) =>
      JSON.stringify(Properties).includes('"MetricName":"Errors"'),
    )
    const names = new Set(alarmed.map(ownerOf))
    expect(names.size).toBeGreaterThan(0)
    // The texts of Lambda.
    for (const name of names)
      for (const crash of ['errorType', 'Invoke Error', 'Task timed out', 'Runtime exited'])
        expect(sections.get(name)).toContain(crash)
  })

  test('names the log group of a function in a nested stack', () => {
    const [definition] = alarmDefinitions as [AlarmDefinition]
    const queries = [{ group: 'ExtraRead1Log', query: 'fields @timestamp' }]
    const asked = askedIn(runbook([{ ...definition, queries }])).at(-1) ?? /^$/
    expect(groupsOf(grown).filter((name) => asked.test(name))).toEqual([
      expect.stringMatching(/^commerce-prod-ExtraArea.*-ExtraRead1Log/),
    ])
  })

  test('lists raised alarms of both kinds: nearly all pages are composite alarms', () => {
    expect(page).toMatch(/^aws cloudwatch describe-alarms .*--alarm-types MetricAlarm CompositeAlarm$/m)
  })

  const ofPaused = pausedConsumers.flatMap(({ name }) =>
    [...sections.keys()].filter((one) => new RegExp(`-${pascalCase(name)}(Late|NotRunning)$`).test(one)),
  )
  test.each([
    ...ofPaused,
    'page-ApiFailing',
    'ticket-FunctionsThrottled',
    'ticket-ImportMachineFailing',
    'page-PublicAddressSilent',
  ])('says what ends a freeze, which raises %s', (alarm) => {
    expect(sections.get(alarm)).toContain('npx commerce unfreeze')
  })

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
    ['page-RefundsPendingLong', 'npx commerce refunds list --tenant T --status pending --stack STACK'],
    ['ticket-RefundsUnsettledLong', 'npx commerce refunds list --tenant T --status pending --stack STACK'],
    [
      'ticket-EventBusDeadLettersPresent',
      'npx commerce dead-letters redrive events.relay --from TIME --to TIME --stack STACK',
    ],
    ['ticket-LoginAddClaimsFailing', 'npx commerce rollback --stack STACK'],
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

  test.each(['dead-letters redrive', 'audit list', 'ledger list'])('names the command %s', (command) => {
    expect(commandLines.map(({ name }) => name)).toContain(command)
  })

  test('names queues that exist', () => {
    const named = [...page.matchAll(/dead-letters redrive (\S+)/g)].map(([, name]) => name)
    const known = [...Object.keys(taskQueues), ...subscriptions.map(({ name }) => name)]
    expect(named.filter((name) => !known.includes(name ?? ''))).toEqual([])
  })

  test('names the redrive of each function of the stream, with the stack outputs that it requires', () => {
    const streamed = subscriptions.filter(({ source }) => typeof source === 'object' && 'stream' in source)
    expect(streamed.length).toBeGreaterThan(0)
    for (const { name } of streamed) {
      const section = sections.get(`ticket-${pascalCase(name)}DeadLettersPresent`) ?? ''
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
