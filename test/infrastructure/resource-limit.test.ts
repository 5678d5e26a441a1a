import { describe, expect, test } from '@jest/globals'
import { resourcesOf, type Synthesis, synthesise } from './synthesis.ts'

/** CloudFormation takes 500 in a stack; the rest is room to grow before the stack has to be cut up again. */
const most = 450
const domain = { host: 'api.example.com', certificateArn: 'arn:aws:acm:us-east-1:111122223333:certificate/1' }
const stages: [stage: string, nested: number, Synthesis][] = [
  ['local', 0, await synthesise('local')],
  ['dev', 1, await synthesise('dev', { domain })],
  ['prod', 1, await synthesise('prod', { domain })],
]

describe.each(stages)('stage %s', (stage, nested, { template, watch }) => {
  test('has room for more resources in every stack', () => {
    for (const [name, its] of Object.entries({ [`commerce-${stage}`]: template, Watch: watch })) {
      const count = Object.keys(its.Resources).length
      const size = count <= most ? 'has room' : `has ${count} resources, above ${most}`
      expect(`${name} ${size}`).toBe(`${name} has room`)
    }
  })

  test('has a stack within the stack if it has alarms, with fewer than 200 parameters and outputs', () => {
    expect(resourcesOf(template, 'AWS::CloudFormation::Stack')).toHaveLength(nested)
    const { Parameters: parameters = {}, Outputs: outputs = {} } = watch
    for (const ends of [parameters, outputs]) {
      expect(Object.keys(ends).length > 0).toBe(nested > 0)
      expect(Object.keys(ends).length).toBeLessThan(200)
    }
  })
})
