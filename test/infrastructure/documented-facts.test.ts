import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { alarmDefinitions } from '#lib/monitoring/alarm-definitions.ts'
import { looks } from '#lib/monitoring/looks.ts'
import { withDomain } from './stage-settings.ts'
import { idsOf, propertiesOf, resourcesOf, templatesOf } from './synthesis.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
const deployment = read('docs/deployment.md')
const operations = read('docs/operations.md')
const pipeline = read('docs/examples/github-actions.yml')
const pages = [read('README.md'), deployment, operations, read('docs/scaling.md'), pipeline].join('\n')

const { template, watch } = await templatesOf('prod', { changes: withDomain })
const unique = (pattern: RegExp, text: string) => [
  ...new Set([...text.matchAll(pattern)].map(([, one = '']) => one)),
]

describe('the pages on deployment and operation', () => {
  const outputs = [
    ...unique(/output_of (\w+)/g, pages),
    ...unique(/OutputKey=='(\w+)'/g, pages),
    ...unique(/`([A-Z]\w+(?:Arn|Record\d?|Target|VaultName|BucketName|ZoneId|BusName|QueueUrl))`/g, pages),
  ]

  test.each(outputs)('name the output %s, which the stack has', (name) => {
    expect(Object.keys(template.Outputs ?? {})).toContain(name)
  })

  test.each(unique(/--alarm-name (\S+)/g, pages))('raise the alarm %s, which exists', (name) => {
    const alarms = resourcesOf(watch, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)
    const found = alarms.filter(({ AlarmName }) => AlarmName === name)
    expect(found.map(({ AlarmActions }) => AlarmActions.length)).toEqual([1])
  })

  test('list the resources of a stack by a command that lists more than 100', () => {
    expect(pages).not.toContain('describe-stack-resources')
  })

  const noticing = /`([A-Z]\w+(?:Differ|Disabled|Failing|Late|Long|Lost|Missing|NotRunning|Present|Silent))`/g

  test.each(unique(noticing, pages))('name the alarm %s, which exists', (name) => {
    expect([...alarmDefinitions, ...looks].map(({ id }) => id)).toContain(name)
  })
})

test('the default quota of AWS covers the reserved executions and the 100 that Lambda keeps', () => {
  const reserved = resourcesOf(template, 'AWS::Lambda::Function')
    .map(([, { Properties }]) => Properties.ReservedConcurrentExecutions ?? 0)
    .reduce((sum, one) => sum + one, 0)
  expect(reserved + 100).toBeLessThanOrEqual(1000)
})

test('the secrets that a second region needs are those of the stack', () => {
  const named = unique(/`(\w+)`/g, operations)
  expect(named).toEqual(expect.arrayContaining(idsOf(template, 'AWS::SecretsManager::Secret')))
})

test('a restored backup keeps the key of the stack', () => {
  const commands = operations.match(/aws backup start-restore-job[^`]*?--metadata "[^"]*"/g) ?? []
  expect(commands.length).toBeGreaterThan(0)
  for (const command of commands) expect(command).toMatch(/encryptionType=KMS,kmsMasterKeyArn=\$KEY\b/)
  expect(unique(/--key-id (\S+)/g, operations)).toEqual([propertiesOf(template, 'KeyAlias').AliasName])
})
