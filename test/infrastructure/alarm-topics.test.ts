import { describe, expect, test } from '@jest/globals'
import { withWatchedDev } from './stage-settings.ts'
import { idsOf, propertiesOf, type Resource, resourcesOf, type Synthesis, templatesOf } from './synthesis.ts'

const { template, watch } = await templatesOf('prod')
const alarms = [watch, template].flatMap((its) => resourcesOf(its, 'AWS::CloudWatch::Alarm'))

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

test('the topic lets CloudWatch publish alarms of this account', () => {
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

test('every alarm notifies the topic when it starts and when it ends, except those of deployments', () => {
  for (const [id, { Properties }] of alarms) {
    const actions = { AlarmActions: ['<Pages>'], OKActions: ['<Pages>'] }
    if (/NewVersion$/.test(id)) expect(Properties).not.toHaveProperty('AlarmActions')
    else expect(Properties).toMatchObject(actions)
  }
})

// Callers cannot cause it: it counts what the service failed and what the gateway could not pass on.
test('the alarm of the whole API counts only what callers cannot cause', () => {
  const [ratio, failed, unanswered] = propertiesOf(watch, 'ApiFailingAlarm').Metrics
  const failures = 'SUM([apiFailed0, apiFailed1])'
  expect(ratio.Expression).toBe(`IF(${failures} >= 5, 100 * ${failures} / SUM([apiRequests0]), 0)`)
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

test('an alarm sums ten metrics at most, as CloudWatch allows', () => {
  for (const [, { Properties }] of alarms) expect((Properties.Metrics ?? []).length).toBeLessThanOrEqual(11)
})

describe('a stage that wakes nobody', () => {
  const of = (its: Synthesis, type: string) => [its.template, its.watch].flatMap((one) => idsOf(one, type))
  const types = ['CloudWatch::Alarm', 'CloudWatch::Dashboard', 'SNS::Topic', 'WAFv2::WebACL', 'WAFv2::IPSet']

  test.each(types)('has no %s', async (type) => {
    expect(of(await templatesOf('dev'), `AWS::${type}`)).toEqual([])
  })

  test.each(types)('has an %s if its profile asks', async (type) => {
    expect(of(await templatesOf('dev', { changes: withWatchedDev }), `AWS::${type}`)).not.toEqual([])
  })

  test('has no metric that costs money, and saves the queries', async () => {
    const dev = await templatesOf('dev')
    for (const [, { Properties }] of resourcesOf(dev.template, 'AWS::Lambda::Function'))
      expect(Properties.Environment.Variables).not.toHaveProperty('METRICS_NAMESPACE')
    for (const [, { Properties }] of resourcesOf(dev.template, 'AWS::ApiGateway::Stage'))
      for (const { MetricsEnabled } of Properties.MethodSettings) expect(MetricsEnabled).toBe(false)
    expect(of(dev, 'AWS::Logs::MetricFilter')).toEqual([])
    expect(of(dev, 'AWS::Logs::QueryDefinition')).not.toEqual([])
  })
})

test.each(['staging', 'prod'])('no setting takes the alarms or the web ACL from %s', async (stage) => {
  const { template: its, watch: alarmsOfIt } = await templatesOf(stage)
  expect(idsOf(alarmsOfIt, 'AWS::CloudWatch::Alarm').length).toBeGreaterThan(0)
  expect(idsOf(its, 'AWS::WAFv2::WebACL')).toHaveLength(2)
})
