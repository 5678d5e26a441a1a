import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { withDomain } from './stage-settings.ts'
import { idsOf, propertiesOf, resourcesOf, templatesOf } from './synthesis.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
const deployment = read('docs/deployment.md')
const operations = read('docs/operations.md')
const pages = [read('README.md'), deployment, operations].join('\n')

const { template, watch, stacks } = await templatesOf('prod', { changes: withDomain })
const unique = (pattern: RegExp, text: string) => [
  ...new Set([...text.matchAll(pattern)].map(([, one = '']) => one)),
]

describe('the pages on deployment and operation', () => {
  const outputs = [
    ...unique(/output_of (\w+)/g, pages),
    ...unique(/OutputKey=='(\w+)'/g, pages),
    ...unique(/`([A-Z]\w+(?:Arn|Record\d?|Target|VaultName|ZoneId|BusName|QueueUrl))`/g, pages),
  ]

  test.each(outputs)('name the output %s, which the stack has', (name) => {
    expect(Object.keys(template.Outputs ?? {})).toContain(name)
  })

  test.each(unique(/--alarm-name (\S+)/g, pages))('raise the alarm %s, which exists', (name) => {
    const alarms = resourcesOf(watch, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)
    const found = alarms.filter(({ AlarmName }) => AlarmName === name)
    expect(found.map(({ AlarmActions }) => AlarmActions.length)).toEqual([1])
  })

  test('page an incident service by HTTPS', () => {
    expect(deployment).toMatch(/PagesTopicArn\)" --protocol https \\\n\s+--notification-endpoint https:/)
    expect(deployment).not.toMatch(/PagesTopicArn\)" --protocol email/)
  })

  test('answer each question of the first staging by a command', () => {
    const [, section = ''] = deployment.split('## Check on your first staging')
    const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => /^\| .*\?/.test(line))
    expect(rows.length).toBeGreaterThanOrEqual(10)
    const unanswered = rows.filter((row) => !/`(aws|npx)|procedure \[/.test(row.split(' | ')[1] ?? ''))
    expect(unanswered).toEqual([])
  })

  test('list the resources of a stack by a command that lists more than 100', () => {
    expect(Object.keys(stacks['commerce-prod']?.Resources ?? {}).length).toBeGreaterThan(100)
    expect(pages).not.toContain('describe-stack-resources')
  })
})

test('the quota that a first deployment needs covers the reserved executions and the 100 that Lambda keeps', () => {
  const reserved = resourcesOf(template, 'AWS::Lambda::Function')
    .map(([, { Properties }]) => Properties.ReservedConcurrentExecutions ?? 0)
    .reduce((sum, one) => sum + one, 0)
  const documented = /reserve (\d+) executions on `prod`[^.]*\. With\s+fewer than (\d+),/.exec(deployment)
  expect(documented?.slice(1).map(Number)).toEqual([reserved, reserved + 100])
})

test('the secrets that a second region needs are those of the stack', () => {
  const [, listed = ''] = /^\d\. Replicate (.*?)\. User ids/ms.exec(operations) ?? []
  const secrets = idsOf(template, 'AWS::SecretsManager::Secret')
  expect(listed.match(/\w+(?=`)/g)?.toSorted()).toEqual(secrets.toSorted())
})

test('a restored backup keeps the key of the stack', () => {
  const [command = ''] = /aws backup start-restore-job[^`]*?--metadata "[^"]*"/.exec(operations) ?? []
  expect(command).toContain('encryptionType=KMS,kmsMasterKeyArn=$KEY"')
  expect(unique(/--key-id (\S+)/g, operations)).toEqual([propertiesOf(template, 'KeyAlias').AliasName])
})
