import { describe, expect, test } from '@jest/globals'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { pascalCase } from '#lib/function-entries.ts'
import { referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const stages = {
  staging: (await synthesise('staging')).template,
  prod: (await synthesise('prod')).template,
}
const { template: local } = await synthesise('local')
const queued = subscriptions.filter(({ source }) => typeof source === 'object' && 'queue' in source)
const limited = [...queued, ...steps.filter(({ step }) => step !== 'fail')].map(({ name }) => name)

describe.each(Object.entries(stages))('on %s', (_stage, template) => {
  const reservedFor = (name: string): number | undefined =>
    resourceNamed(template, 'AWS::Lambda::Function', pascalCase(name)).Properties.ReservedConcurrentExecutions

  test.each(limited)('%s has reserved concurrency as its limit', (name) => {
    expect(reservedFor(name)).toBeGreaterThanOrEqual(2)
  })

  test('no other function is limited', () => {
    const found = resourcesOf(template, 'AWS::Lambda::Function').filter(
      ([, { Properties }]) => Properties.ReservedConcurrentExecutions !== undefined,
    )
    expect(found.map(([id]) => id.replace(/[0-9A-F]{8}$/, '')).sort()).toEqual(limited.map(pascalCase).sort())
  })

  test.each(queued)('$name receives no more messages than it can handle concurrently', ({ name }) => {
    const mappings = resourcesOf(template, 'AWS::Lambda::EventSourceMapping')
      .map(([, { Properties }]) => Properties)
      .filter(({ FunctionName }) => referenceOf(FunctionName).startsWith(pascalCase(name)))
    expect(mappings.map(({ ScalingConfig }) => ScalingConfig)).toEqual([
      { MaximumConcurrency: reservedFor(name) },
    ])
  })

  test('most of the default quota of an account remains for the API', () => {
    const reserved = limited.reduce((sum, name) => sum + (reservedFor(name) ?? 0), 0)
    expect(reserved).toBeLessThanOrEqual(300)
  })
})

test('the local stage reserves nothing', () => {
  expect(JSON.stringify(local)).not.toMatch(/ReservedConcurrentExecutions|MaximumConcurrency/)
})
