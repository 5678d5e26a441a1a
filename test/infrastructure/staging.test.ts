import { expect, test } from '@jest/globals'
import { resourcesOf, synthesize, type Template } from './synthesis.ts'

const prod = await synthesize('prod')
const staging = await synthesize('staging')

/** The resources and outputs of a template under the names of prod, without its size and hashes of names. */
function comparable({ Resources: resources, Outputs: outputs = {} }: Template): string[] {
  return [...Object.entries(resources), ...Object.entries(outputs)]
    .map((entry) => {
      const text = JSON.stringify(entry)
        .replaceAll('staging', 'prod')
        .replace(/[0-9a-f]{32,64}|[0-9A-F]{8}/g, '#')
        .replace(/"(ReservedConcurrentExecutions|MaximumConcurrency)":\d+/g, '"$1":"a size"')
        .replace(/(unreserved \/ )\d+/g, '$1a size')
      return JSON.stringify(JSON.parse(text), sorted)
    })
    .sort()
}

/** Sorts members: CDK orders the parameters of a nested stack by the numbers of its tokens, which another synthesis moves. */
function sorted(_: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.fromEntries(Object.entries(value).toSorted()) : value
}

test('staging equals prod except for its name and size', () => {
  expect(comparable(staging.template)).toEqual(comparable(prod.template))
})

test('staging has the alarms and the dashboard of prod', () => {
  expect(comparable(staging.watch)).toEqual(comparable(prod.watch))
})

test.each([
  'AWS::KMS::Key',
  'AWS::Backup::BackupPlan',
  'AWS::WAFv2::WebACL',
  'AWS::CodeDeploy::DeploymentGroup',
])('staging has its %s', (type) => expect(resourcesOf(staging.template, type).length).toBeGreaterThan(0))
