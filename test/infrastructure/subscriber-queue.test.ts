import { describe, expect, test } from '@jest/globals'
import { type Resource, referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template } = await synthesise('prod')

interface Statement {
  Sid?: string
  Action: string | string[]
  Principal: { Service?: unknown }
  Condition?: Record<string, Record<string, unknown>>
}

function queueNamed(name: string): string | undefined {
  return resourcesOf(template, 'AWS::SQS::Queue').find(([id]) => id.replace(/[0-9A-F]{8}$/, '') === name)?.[0]
}

describe('the rule that feeds subscribers outside AWS', () => {
  const { Properties: rule } = resourceNamed(template, 'AWS::Events::Rule', 'PublishedEventsRule')
  const [target, ...others] = rule.Targets

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

  test('sends them in the group of their tenant, so the queue is fair between tenants', () => {
    expect(target.SqsParameters).toEqual({ MessageGroupId: '$.detail.data.tenant_id' })
  })

  test('belongs to the bus of the service', () => {
    const [[bus] = ['']] = resourcesOf(template, 'AWS::Events::EventBus')
    expect(referenceOf(rule.EventBusName)).toBe(bus)
  })
})

describe('EventBridge', () => {
  const policies = resourcesOf(template, 'AWS::SQS::QueuePolicy').map(([, { Properties }]) => Properties)
  const [[, key]] = resourcesOf(template, 'AWS::KMS::Key') as [[string, Resource]]

  /** Returns the statements that let EventBridge act. */
  function ofEventBridge(document: { Statement: Statement[] }): Statement[] {
    return document.Statement.filter(({ Principal }) => Principal.Service === 'events.amazonaws.com')
  }

  test.each([
    ['PublishedEvents', 'PublishedEventsRule'],
    ['PublishedEventsDeadLetters', 'PublishedEventsRule'],
    ['MailEvents', 'MailEventsRule'],
  ])('sends to the queue %s for %s only', (queue, start) => {
    const [id] = resourcesOf(template, 'AWS::Events::Rule').find(([name]) => name.startsWith(start)) ?? []
    const policy = policies.find(({ Queues }) => Queues.map(referenceOf).includes(queueNamed(queue)))
    const granted = ofEventBridge(policy?.PolicyDocument)
    expect(granted.map(({ Action, Condition }) => ({ Action, Condition }))).toEqual([
      {
        Action: 'sqs:SendMessage',
        Condition: { ArnEquals: { 'aws:SourceArn': { 'Fn::GetAtt': [id, 'Arn'] } } },
      },
    ])
  })

  test('uses the key only where a statement names the queues of the stage or its bus', () => {
    const using = ofEventBridge(key.Properties.KeyPolicy).filter(({ Action }) =>
      [Action].flat().includes('kms:Decrypt'),
    )
    const context = /"kms:EncryptionContext:aws:(sqs|events:event-bus):arn":/
    expect(using.filter(({ Condition }) => !context.test(JSON.stringify(Condition)))).toEqual([])
  })
})
