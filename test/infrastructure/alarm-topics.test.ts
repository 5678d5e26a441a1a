import { describe, expect, test } from '@jest/globals'
import { type Resource, referenceOf, resourcesOf, synthesise } from './synthesis.ts'

const { template, watch } = await synthesise('prod')
const [[, key]] = resourcesOf(template, 'AWS::KMS::Key') as [[string, Resource]]
const topics = resourcesOf(watch, 'AWS::SNS::Topic').map(([id]) => id)
const alarms = [watch, template].flatMap((its) =>
  ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) => resourcesOf(its, type)),
)
const notifying = alarms.filter(([, { Properties }]) => Properties.AlarmActions)

interface Statement {
  Effect: string
  Action: string | string[]
  Principal: { Service?: string }
  Resource: { Ref: string }
  Condition: { StringEquals: object; ArnLike: { 'aws:SourceArn': { 'Fn::Join': [string, unknown[]] } } }
}

/** The statements that let CloudWatch do something. */
function toCloudWatch(statements: Statement[]): Statement[] {
  return statements.filter(
    ({ Effect, Principal }) => Effect === 'Allow' && Principal.Service === 'cloudwatch.amazonaws.com',
  )
}

/** Whether the statement permits an alarm of this name. */
function admits({ Condition }: Statement, name: string): boolean {
  const pattern = String(Condition.ArnLike['aws:SourceArn']['Fn::Join'][1].at(-1))
  const [, glob = ''] = /^:alarm:(.*)$/.exec(pattern) ?? []
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
  expect(allowed.map(({ Resource: on }) => on.Ref).sort()).toEqual(topics.sort())
  for (const { Action, Condition } of allowed) {
    expect(Action).toBe('sns:Publish')
    expect(Condition.StringEquals).toEqual({ 'aws:SourceAccount': { Ref: 'AWS::AccountId' } })
  }
})

test('the policies of all topics and of the key permit every alarm by its name', () => {
  const ofKey = toCloudWatch(key.Properties.KeyPolicy.Statement)
  for (const statements of [...policies.map(toCloudWatch), ofKey]) {
    expect(statements).toHaveLength(1)
    const refused = alarms.filter(
      ([, { Properties }]) => !admits(statements[0] as Statement, nameOf(Properties)),
    )
    expect(refused.map(([id]) => id)).toEqual([])
  }
  expect(alarms.length).toBeGreaterThan(100)
})

test('alarm names are unique', () => {
  const names = alarms.map(([, { Properties }]) => nameOf(Properties))
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

describe.each([
  ['page', 'Pages'],
  ['ticket', 'Tickets'],
])('alarms of the severity %s', (severity, topic) => {
  const these = notifying.filter(([, { Properties }]) => nameOf(Properties).includes(`-${severity}-`))

  test('notify its topic when they start and when they end', () => {
    expect(these.length).toBeGreaterThan(0)
    for (const [, { Properties }] of these) {
      expect(Properties.AlarmActions.map(referenceOf)).toEqual([
        expect.stringMatching(`^${topic}[0-9A-F]{8}$`),
      ])
      expect(Properties.OKActions).toEqual(Properties.AlarmActions)
    }
  })
})

describe('one outage raises one page', () => {
  const pages = notifying.filter(([, { Properties }]) => nameOf(Properties).includes('-page-'))
  const [outage, ...others] = pages.toSorted(([a]) => (a.startsWith('ApiFailing') ? -1 : 1))

  test('no other alarm pages while the whole API fails', () => {
    expect(outage?.[1].Properties.Metrics).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ Expression: 'IF(SUM([e0, e1]) >= 5, 100 * SUM([e0, e1]) / SUM([r0]), 0)' }),
      ]),
    )
    const suppressors = others.map(([, { Properties }]) => referenceOf(Properties.ActionsSuppressor))
    expect([...new Set(suppressors)]).toEqual([outage?.[0]])
  })

  test('callers cannot cause it: it counts what the service failed and what the gateway could not pass on', () => {
    const metrics = outage?.[1].Properties.Metrics as { Id: string; MetricStat?: { Metric: object } }[]
    const [failed, unanswered] = ['e0', 'e1'].map(
      (id) => metrics.find(({ Id }) => Id === id)?.MetricStat?.Metric,
    )
    expect(failed).toEqual({
      Namespace: 'commerce-prod',
      MetricName: 'failed_requests',
      Dimensions: [{ Name: 'service', Value: 'commerce-api' }],
    })
    expect(unanswered).toEqual({ Namespace: 'commerce-prod', MetricName: 'unanswered_requests' })
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
    const parts = alarms.filter(([id]) => rules.includes(`"${id}"`))
    expect(parts.length).toBeGreaterThanOrEqual(others.length)
    expect(parts.filter(([, { Properties }]) => Properties.AlarmActions)).toEqual([])
  })
})
