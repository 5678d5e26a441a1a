import { describe, expect, test } from '@jest/globals'
import { idsOf, propertiesOf, type Resource, resourcesOf, templatesOf } from './synthesis.ts'

const { template, watch } = await templatesOf('prod')
const alarms = [watch, template].flatMap((its) =>
  ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) => resourcesOf(its, type)),
)
const notifying = alarms.filter(([, { Properties }]) => Properties.AlarmActions)

interface Statement {
  Effect: string
  Action: string | string[]
  Principal: { Service?: string }
  Resource: string
  Condition: { StringEquals: object; ArnLike: { 'aws:SourceArn': string } }
}

/** The statements that let CloudWatch do something. */
function toCloudWatch(statements: Statement[]): Statement[] {
  return statements.filter(
    ({ Effect, Principal }) => Effect === 'Allow' && Principal.Service === 'cloudwatch.amazonaws.com',
  )
}

/** Whether the statement permits an alarm of this name. */
function admits({ Condition }: Statement, name: string): boolean {
  const [, glob = ''] = /:alarm:(.*)$/.exec(Condition.ArnLike['aws:SourceArn']) ?? []
  return new RegExp(`^${glob.replace('*', '.*')}$`).test(name)
}

/** The name of an alarm; the version that follows in the name of one of a deployment is left out. */
function nameOf({ AlarmName: name }: Resource['Properties']): string {
  return typeof name === 'string' ? name : `${name?.['Fn::Join'][1][0]}-`
}

const policies = resourcesOf(watch, 'AWS::SNS::TopicPolicy').map(
  ([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[],
)

test('each topic lets CloudWatch publish alarms of this account', () => {
  const allowed = policies.flatMap(toCloudWatch)
  expect(allowed.map(({ Resource: on }) => on)).toEqual(
    idsOf(watch, 'AWS::SNS::Topic').map((id) => `<${id}>`),
  )
  for (const { Action, Condition } of allowed) {
    expect(Action).toBe('sns:Publish')
    expect(Condition.StringEquals).toEqual({ 'aws:SourceAccount': '<AWS::AccountId>' })
  }
})

test('the policies of all topics and of the key permit every alarm by its name', () => {
  const ofKey = toCloudWatch(propertiesOf(template, 'Key').KeyPolicy.Statement)
  for (const statements of [...policies.map(toCloudWatch), ofKey]) {
    expect(statements).toHaveLength(1)
    const refused = alarms.filter(
      ([, { Properties }]) => !admits(statements[0] as Statement, nameOf(Properties)),
    )
    expect(refused.map(([id]) => id)).toEqual([])
  }
  expect(alarms.length).toBeGreaterThan(0)
})

test('alarm names are unique', () => {
  const names = alarms.map(([, { Properties }]) => nameOf(Properties))
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test.each([
  ['page', '<Pages>'],
  ['ticket', '<Tickets>'],
])('alarms of the severity %s notify its topic when they start and when they end', (severity, topic) => {
  const these = notifying.filter(([, { Properties }]) => nameOf(Properties).includes(`-${severity}-`))
  expect(these.length).toBeGreaterThan(0)
  for (const [, { Properties }] of these)
    expect(Properties).toMatchObject({ AlarmActions: [topic], OKActions: [topic] })
})

describe('one outage raises one page', () => {
  const pages = notifying.filter(([, { Properties }]) => nameOf(Properties).includes('-page-'))
  const others = pages.filter(([id]) => id !== 'ApiFailingAlarm')

  test('no other alarm pages while the whole API fails', () => {
    for (const [, { Properties }] of others)
      expect(Properties.ActionsSuppressor).toBe('<ApiFailingAlarm.Arn>')
  })

  // Callers cannot cause it: it counts what the service failed and what the gateway could not pass on.
  test('the alarm of the whole API counts only what callers cannot cause', () => {
    const [ratio, failed, unanswered] = propertiesOf(watch, 'ApiFailingAlarm').Metrics
    expect(ratio.Expression).toBe('IF(SUM([e0, e1]) >= 5, 100 * SUM([e0, e1]) / SUM([r0]), 0)')
    expect(failed.MetricStat.Metric).toEqual({
      Namespace: 'commerce-prod',
      MetricName: 'failed_requests',
      Dimensions: [{ Name: 'service', Value: 'commerce-api' }],
    })
    expect(unanswered.MetricStat.Metric).toEqual({
      Namespace: 'commerce-prod',
      MetricName: 'unanswered_requests',
    })
    expect(JSON.stringify(alarms)).not.toContain('"5XXError"')
  })

  test('each route and each consumer pages by one alarm', () => {
    const subjects = others.map(([, { Properties }]) =>
      nameOf(Properties)
        .replace(/^commerce-prod-page-/, '')
        .replace(/(BurnsFast|Failing|Late|NotRunning)$/, ''),
    )
    expect(subjects.filter((one, index) => subjects.indexOf(one) !== index)).toEqual([])
  })

  test('an alarm that is part of a page notifies nobody', () => {
    const rules = JSON.stringify(others.map(([, { Properties }]) => Properties.AlarmRule))
    const parts = alarms.filter(([id]) => rules.includes(`"<${id}.Arn>\\"`))
    expect(parts.length).toBeGreaterThanOrEqual(others.length)
    expect(parts.filter(([, { Properties }]) => Properties.AlarmActions)).toEqual([])
  })
})
