import { expect, test } from '@jest/globals'
import type { Resource } from '#test/infrastructure/synthesis.ts'
import { fixedCosts, retention } from './fixed-costs.ts'
import { measuredRequests, tableCosts } from './request-costs.ts'

const stackOf = (...resources: Resource[]) => ({
  stack: { Resources: Object.fromEntries(resources.map((one, index) => [`R${index}`, one])) },
})

function countOf(what: string, ...resources: Resource[]): number | undefined {
  return fixedCosts(stackOf(...resources)).find((one) => one.what === what)?.count
}

const plain = { Type: 'AWS::CloudWatch::Alarm', Properties: { MetricName: 'Errors' } }
const expression = {
  Type: 'AWS::CloudWatch::Alarm',
  Properties: { Metrics: [{ Expression: 'a + b' }, { MetricStat: {} }, { MetricStat: {} }] },
}

test('an alarm on an expression costs as much as its metrics', () => {
  expect(countOf('Metrics that alarms read', plain, expression)).toBe(3)
})

test('only methods with their own metrics have costs', () => {
  const MethodSettings = [{ MetricsEnabled: false }, { MetricsEnabled: true }]
  const stage = { Type: 'AWS::ApiGateway::Stage', Properties: { MethodSettings } }
  expect(countOf('Metrics of 1 methods at the gateway', stage)).toBe(5)
})

test('the rules of all web ACLs are counted', () => {
  const acl = { Type: 'AWS::WAFv2::WebACL', Properties: { Rules: [{}, {}] } }
  expect(countOf('Rules of web ACLs, managed groups included', acl, acl)).toBe(4)
})

test('the retention of logs is that of the template', () => {
  const log = { Type: 'AWS::Logs::LogGroup', Properties: { RetentionInDays: 180 } }
  expect(retention(stackOf(log, log))).toEqual(['2 log groups keep their lines for 180 days.'])
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
