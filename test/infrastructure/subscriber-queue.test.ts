import { describe, expect, test } from '@jest/globals'
import { referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template } = await synthesise('prod')

describe('the rule that feeds subscribers outside AWS', () => {
  const { Properties: rule } = resourceNamed(template, 'AWS::Events::Rule', 'PublishedEventsRule')
  const [target, ...others] = rule.Targets
  const queueNamed = (name: string) =>
    resourcesOf(template, 'AWS::SQS::Queue').find(([id]) => id.replace(/[0-9A-F]{8}$/, '') === name)?.[0]

  test('takes the events of the service, and no replay of the bus', () => {
    expect(rule.EventPattern).toEqual({ source: ['commerce-api'], 'replay-name': [{ exists: false }] })
  })

  test('sends whole events to one queue, and undelivered ones to the dead letters of this queue', () => {
    expect(others).toEqual([])
    expect(referenceOf(target.Arn)).toBe(queueNamed('PublishedEvents'))
    expect(referenceOf(target.DeadLetterConfig.Arn)).toBe(queueNamed('PublishedEventsDeadLetters'))
    expect(target).not.toHaveProperty('InputPath')
    expect(target).not.toHaveProperty('InputTransformer')
  })

  test('belongs to the bus of the service', () => {
    const [[bus] = ['']] = resourcesOf(template, 'AWS::Events::EventBus')
    expect(referenceOf(rule.EventBusName)).toBe(bus)
  })
})
