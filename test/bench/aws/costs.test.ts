import { expect, test } from '@jest/globals'
import { type Resource, synthesize } from '#test/infrastructure/synthesis.ts'
import { fixedCosts, fixedTotal, retention } from './fixed-costs.ts'
import { backupsKept, costsOfOrders } from './monthly-costs.ts'
import { prices } from './prices.ts'
import { measuredRequests, tableCosts } from './request-costs.ts'

const stackOf = (...resources: Resource[]) => ({
  stack: { Resources: Object.fromEntries(resources.map((one, index) => [`R${index}`, one])) },
})

function countOf(what: string, ...resources: Resource[]): number | undefined {
  return fixedCosts(stackOf(...resources)).find((one) => one.what === what)?.count
}

test('an alarm on an expression costs as much as its metrics', () => {
  const plain = { Type: 'AWS::CloudWatch::Alarm', Properties: { MetricName: 'IteratorAge' } }
  const Metrics = [{ Expression: 'a + b' }, { MetricStat: {} }, { MetricStat: {} }]
  const expression = { Type: 'AWS::CloudWatch::Alarm', Properties: { Metrics } }
  expect(countOf('Metrics of alarms', expression, plain)).toBe(3)
})

test('only methods with their own metrics have costs', () => {
  const MethodSettings = [{ MetricsEnabled: false }, { MetricsEnabled: true }]
  const stage = { Type: 'AWS::ApiGateway::Stage', Properties: { MethodSettings } }
  expect(countOf('Metrics of methods at the gateway', stage)).toBe(5)
})

test('the rules of all web ACLs are counted', () => {
  const acl = { Type: 'AWS::WAFv2::WebACL', Properties: { Rules: [{}, {}] } }
  expect(countOf('Rules of web ACLs, managed groups included', acl, acl)).toBe(4)
})

test('the retention of logs is that of the template', () => {
  const log = { Type: 'AWS::Logs::LogGroup', Properties: { RetentionInDays: 180 } }
  expect(retention(stackOf(log, log))).toEqual(['2 log groups keep their lines for 180 days.'])
})

test('functions that run each minute are counted, and those that run each day are not', () => {
  const schedules = ['rate(1 minute)', 'rate(1 minute)', 'cron(0 3 * * ? *)'].map((ScheduleExpression) => ({
    Type: 'AWS::Scheduler::Schedule',
    Properties: { ScheduleExpression },
  }))
  expect(countOf('Functions that run each minute, with their logs', ...schedules)).toBe(2)
})

test('executions that are kept ready are counted, whether they serve requests or not', () => {
  const aliases = [{}, { ProvisionedConcurrentExecutions: 5 }, { ProvisionedConcurrentExecutions: 2 }].map(
    (config) => ({ Type: 'AWS::Lambda::Alias', Properties: { ProvisionedConcurrencyConfig: config } }),
  )
  const other = { Type: 'AWS::Lambda::Alias', Properties: {} }
  expect(countOf('Executions that `limits.provisionedConcurrency` keeps ready', ...aliases, other)).toBe(7)
})

test('a rule of backups keeps one copy for each of its runs within the retention', () => {
  const BackupPlanRule = [
    { ScheduleExpression: 'cron(0 3 * * ? *)', Lifecycle: { DeleteAfterDays: 2 } },
    { ScheduleExpression: 'cron(0 3 ? * SUN *)', Lifecycle: { DeleteAfterDays: 35 } },
  ]
  const plan = { Type: 'AWS::Backup::BackupPlan', Properties: { BackupPlan: { BackupPlanRule } } }
  expect(backupsKept(stackOf(plan))).toBe(2 + 5)
})

test('backups cost a full copy each, and all costs of orders grow with their number', () => {
  const order = { request: 'create an order', readUnits: 0, writeUnits: 5, charged: true }
  const kept = { backups: 12, logDays: 180, archiveDays: 30, months: 1, traced: 0.05 }
  const [one, ten] = [1, 10].map((millions) => costsOfOrders(millions, order, kept))
  expect(one?.['Backups, 12 full copies']).toBeCloseTo(12 * 0.7 * prices.backupStored.usd)
  for (const [what, usd] of Object.entries(one ?? {})) expect(ten?.[what]).toBeCloseTo(10 * usd)
})

test('what is stored costs twelve times as much after a year, and requests cost the same', () => {
  const order = { request: 'create an order', readUnits: 0, writeUnits: 5, charged: true }
  const [first, later] = [1, 12].map((months) =>
    costsOfOrders(1, order, { backups: 12, logDays: 180, archiveDays: 30, months, traced: 0.05 }),
  )
  const growth = Object.entries(first ?? {}).map(([what, usd]) => [what, (later?.[what] ?? 0) / usd])
  expect(Object.fromEntries(growth)).toEqual({
    'Requests and the table’s units': 1,
    'Events, with the relay': 1,
    'Logs of the relay': 1,
    'Archive of the bus': 1,
    'Stored logs': 1,
    'Stored table': expect.closeTo(12),
    'Point-in-time recovery': expect.closeTo(12),
    'Backups, 12 full copies': expect.closeTo(12),
  })
})

const bench = `# What requests cost

## At DynamoDB

| Request | Status | Requests | Read units | Write units | Index entries |
|---|---|---|---|---|---|
| create an order | 201 | 1 | 2 | 4 | 1 |
| replay it | 201 | 1 | 0 | 0 | 0 |

## A tenant of 100,000 codes

| list | 200 | 1 | 8 | 29 | 0 |
`

test('an index entry is a write unit', () => {
  const [order] = measuredRequests(bench)
  expect(order && tableCosts(order)).toBeCloseTo(2 * 0.125 + 5 * 0.625)
})

test('the costs of a replay are not zero', () => {
  expect(measuredRequests(bench).map(({ charged }) => charged)).toEqual([true, false])
})

test('queues that functions poll are counted, and the stream is not', () => {
  const mappings = [{}, {}, { StartingPosition: 'TRIM_HORIZON' }].map((Properties) => ({
    Type: 'AWS::Lambda::EventSourceMapping',
    Properties,
  }))
  expect(countOf('Queues that functions poll', ...mappings)).toBe(2)
})

test.each([
  ['dev', 15],
  ['staging', 95],
  ['prod', 95],
])('a stage %s that nobody calls costs at most %d USD a month', async (stage, most) => {
  expect(fixedTotal((await synthesize(stage)).stacks)).toBeLessThanOrEqual(most)
})
