import { describe, expect, test } from '@jest/globals'
import { Stack } from 'aws-cdk-lib'
import { ConfigurationSet } from 'aws-cdk-lib/aws-ses'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { pascalCase, preflight, unknownRoute } from '#lib/function-entries.ts'
import { mailEvents } from '#lib/mail.ts'
import { validMilliseconds } from '#shared/otp/code-item.ts'
import { retryDelaySeconds } from '#shared/platform/aws/queue-function.ts'
import { localSettings } from '#test/support/settings.ts'
import { type Resource, referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template, watch, settings } = await synthesise('prod')

describe('the relay', () => {
  const [queueId] = resourcesOf(template, 'AWS::SQS::Queue').find(([id]) =>
    id.startsWith('EventsRelayDeadLetters'),
  ) as [string, Resource]
  const { Properties: mapping } = resourceNamed(
    template,
    'AWS::Lambda::EventSourceMapping',
    'EventsRelayTableStream',
  )

  test('receives all changes, starting with the first', () => {
    expect(mapping).toMatchObject({ BatchSize: 100, StartingPosition: 'TRIM_HORIZON' })
    expect(mapping).not.toHaveProperty('MaximumBatchingWindowInSeconds')
    expect(mapping.EventSourceArn['Fn::GetAtt'][1]).toBe('StreamArn')
  })

  test('is invoked only for changes with events', () => {
    expect(
      mapping.FilterCriteria.Filters.map(({ Pattern }: { Pattern: string }) => JSON.parse(Pattern)),
    ).toEqual([{ dynamodb: { NewImage: { outbox: { M: { correlation_id: { S: [{ exists: true }] } } } } } }])
  })

  test('retries from the failed change, alone if necessary, and sends it to the dead-letter queue', () => {
    expect(mapping).toMatchObject({
      MaximumRetryAttempts: settings['events.maxAttempts'] - 1,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    })
    expect(referenceOf(mapping.DestinationConfig.OnFailure.Destination)).toBe(queueId)
  })
})

test('every queue requires TLS', () => {
  const denied = { Effect: 'Deny', Action: 'sqs:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }
  const policies = resourcesOf(template, 'AWS::SQS::QueuePolicy').map(([, { Properties }]) => Properties)
  for (const { PolicyDocument } of policies)
    expect(PolicyDocument.Statement).toContainEqual(expect.objectContaining(denied))
  const queues = resourcesOf(template, 'AWS::SQS::Queue').map(([id]) => id)
  expect(policies.flatMap(({ Queues }) => Queues.map(referenceOf)).sort()).toEqual(queues.sort())
})

describe('alarms', () => {
  const alarms = resourcesOf(watch, 'AWS::CloudWatch::Alarm')
  const functions = [...subscriptions, ...steps, preflight, unknownRoute].map(({ name, impact }) => ({
    name,
    impact,
  }))

  test.each(functions)('if $name fails, an alarm states: $impact', ({ name, impact }) => {
    const id = `${pascalCase(name)}Failing`
    const { Properties: alarm } = resourceNamed(watch, 'AWS::CloudWatch::Alarm', `${id}Alarm`)
    const [page] = resourcesOf(watch, 'AWS::CloudWatch::CompositeAlarm').filter(([one]) =>
      one.startsWith(`${id}Page`),
    )
    const { AlarmDescription: text } = page?.[1].Properties ?? alarm
    expect(text).toMatch(/\. [A-Z].*\.$/)
    expect(text.startsWith(impact)).toBe(true)
    const metrics = JSON.stringify(alarm)
    expect(metrics).toContain('"MetricName":"Errors"')
    expect(metrics).toMatch(
      new RegExp(
        `"FunctionName","Value":\\{"Ref":"referencetocommerceprod${pascalCase(name)}[0-9A-F]{8}Ref"`,
      ),
    )
  })

  test.each(routes)('if $route.operation fails requests, an alarm states: $route.impact', ({ route }) => {
    const id = pascalCase(route.operation)
    const [, { Properties: page }] = resourcesOf(watch, 'AWS::CloudWatch::CompositeAlarm').find(([one]) =>
      [`${id}BurnsFastAlarm`, `${id}FailingPage`].includes(one.replace(/[0-9A-F]{8}$/, '')),
    ) as [string, Resource]
    expect(page.AlarmDescription.startsWith(route.impact)).toBe(true)
    const parts = alarms.filter(([part]) => JSON.stringify(page.AlarmRule).includes(`"${part}"`))
    expect(parts.length).toBeGreaterThan(0)
    for (const [, { Properties: alarm }] of parts) {
      const metrics = JSON.stringify(alarm.Metrics)
      expect(metrics).toContain('"MetricName":"failed_requests"')
      expect(metrics).toContain(`{"Name":"operation","Value":"${route.operation}"}`)
      // A function that does not start or crashes counts nothing itself.
      expect(metrics).toContain('"MetricName":"Errors"')
    }
  })

  test.each(['95', '99'])('on the p%s of a latency count only from a number of requests on', (percentile) => {
    const latencies = alarms.flatMap(([id, { Properties: alarm }]) =>
      /(Slow|OftenSlow)Alarm/.test(id) ? [JSON.stringify(alarm.Metrics)] : [],
    )
    const fewest = { 95: 20, 99: 100 }[percentile]
    const matching = latencies.filter((text) => text.includes(`"p${percentile}"`))
    expect(matching.length).toBeGreaterThan(0)
    expect(matching.filter((text) => !text.includes(`Count >= ${fewest}, `))).toEqual([])
  })

  test('are raised by many blocked requests of the web ACL, by the name of its metrics', () => {
    const { Properties: alarm } = resourceNamed(watch, 'AWS::CloudWatch::Alarm', 'RequestsBlockedAlarm')
    const { Properties: acl } = resourceNamed(template, 'AWS::WAFv2::WebACL', 'WebAcl')
    expect(alarm.Dimensions).toEqual(
      expect.arrayContaining([
        { Name: 'WebACL', Value: acl.VisibilityConfig.MetricName },
        { Name: 'Rule', Value: 'ALL' },
      ]),
    )
  })

  test('are raised when a version of the managed rules of the web ACL expires within 30 days', () => {
    const { Properties: alarm } = resourceNamed(watch, 'AWS::CloudWatch::Alarm', 'ManagedRulesExpiringAlarm')
    const { Properties: acl } = resourceNamed(template, 'AWS::WAFv2::WebACL', 'WebAcl')
    const dimensions = alarm.Metrics.flatMap((one: { MetricStat?: { Metric: object } }) =>
      one.MetricStat ? [one.MetricStat.Metric] : [],
    )
    const groups = acl.Rules.flatMap(({ Statement }: Resource['Properties']) => {
      const { Name, VendorName, Version } = Statement.ManagedRuleGroupStatement ?? {}
      if (Version === undefined) return []
      const Region = { Ref: 'AWS::Region' }
      const named = { Region, ManagedRuleGroup: Name, Vendor: VendorName, Version }
      const Dimensions = Object.entries(named).map(([key, Value]) => ({ Name: key, Value }))
      return [
        {
          MetricName: 'DaysToExpiry',
          Namespace: 'AWS/WAFV2',
          Dimensions: expect.arrayContaining(Dimensions),
        },
      ]
    })
    expect(groups).toHaveLength(2)
    expect(dimensions).toEqual(groups)
    expect(alarm).toMatchObject({ Threshold: 30, ComparisonOperator: 'LessThanThreshold' })
  })
})

describe('reports of SES', () => {
  const [[configurationSetId]] = resourcesOf(template, 'AWS::SES::ConfigurationSet') as [[string, Resource]]
  const [rule] = resourcesOf(template, 'AWS::Events::Rule')
    .map(([, { Properties }]) => Properties)
    .filter(({ EventPattern }) => EventPattern.source[0] === 'aws.ses')

  test('on deliveries and bounces go to the default bus', () => {
    const [[, destination]] = resourcesOf(template, 'AWS::SES::ConfigurationSetEventDestination') as [
      [string, Resource],
    ]
    const { EventBridgeDestination: bus, ...rest } = destination.Properties.EventDestination
    expect(rest).toEqual({ Enabled: true, MatchingEventTypes: ['delivery', 'bounce'] })
    expect(JSON.stringify(bus.EventBusArn)).toContain(':event-bus/default')
  })

  test('of other configuration sets and of mails of the user pool are ignored', () =>
    expect(rule?.EventPattern.detail).toEqual({
      mail: {
        tags: { 'ses:configuration-set': [{ Ref: configurationSetId }], message_id: [{ exists: true }] },
      },
    }))

  test('reach the queue without the address of the recipient', () =>
    expect(rule?.Targets[0].InputTransformer).toEqual({
      InputPathsMap: {
        'detail-eventType': '$.detail.eventType',
        'detail-mail-tags-message_id': '$.detail.mail.tags.message_id',
      },
      InputTemplate: '{"type":<detail-eventType>,"message_id":<detail-mail-tags-message_id>}',
    }))

  test('are requested by the function that sends mails', () => {
    const sender = resourceNamed(template, 'AWS::Lambda::Function', 'OtpSend').Properties
    expect(sender.Environment.Variables.MAIL_CONFIGURATION_SET).toEqual({ Ref: configurationSetId })
  })

  test('are not requested if acceptance counts as delivery', () => {
    const stack = new Stack()
    const queue = new Queue(stack, 'Queue')
    const configurationSet = new ConfigurationSet(stack, 'ConfigurationSet')
    mailEvents(stack, { queue, deadLetters: queue }, { settings: localSettings, configurationSet })
    expect(stack.node.tryFindChild('MailEventsRule')).toBeUndefined()
  })
})

test('a mail is retried as long as its code is valid', () => {
  const { Properties: queue } = resourceNamed(template, 'AWS::SQS::Queue', 'Mail')
  const { maxReceiveCount } = queue.RedrivePolicy
  const pauses = Array.from({ length: maxReceiveCount - 1 }, (_, n) =>
    retryDelaySeconds(n + 2, { jitter: () => 0.5 }),
  )
  expect(pauses.reduce((sum, pause) => sum + pause)).toBeGreaterThanOrEqual(validMilliseconds / 1000)
  resourceNamed(watch, 'AWS::CloudWatch::Alarm', 'OtpSendDeadLettersPresentAlarm')
})
