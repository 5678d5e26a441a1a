import { expect, test } from '@jest/globals'
import { functionOf, routes } from '#functions/routes.ts'
import { corsPreflight, pascalCase, unknownRoute } from '#lib/functions/function-names.ts'
import { alarmDefinitions } from '#lib/monitoring/alarm-definitions.ts'
import { looks } from '#lib/monitoring/looks.ts'
import { busiestQueries } from '#lib/monitoring/saved-queries.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { withProvisioned } from './stage-settings.ts'
import { idsOf, propertiesOf, resourcesOf, templatesOf } from './synthesis.ts'

const { watch } = await templatesOf('prod', { changes: withProvisioned })
// biome-ignore lint/suspicious/noExplicitAny: each widget has other properties.
const { widgets }: { widgets: any[] } = JSON.parse(propertiesOf(watch, 'Dashboard').DashboardBody)
const titled = (start: string) => widgets.find(({ properties }) => properties.title?.startsWith(start))

test.each(routes.map(({ route }) => route).filter(({ latency }) => latency))(
  '$operation is shown with its latency budgets',
  ({ operation, latency }) => {
    const shown = titled(`${operation}: latency`).properties
    const budgets = shown.annotations.horizontal.map(({ value }: { value: number }) => value)
    expect(budgets).toEqual([latency?.p95, latency?.p99])
    expect(JSON.stringify(shown.metrics)).toMatch(/p95.*p99/)
  },
)

test.each([
  ['Busiest tenants', 'tenant'],
  ['Busiest anonymous sources', 'source'],
])('%s are found in the requests of all functions behind the gateway', (title, by) => {
  const { query, view } = titled(title).properties
  const sources = query.match(/SOURCE/g)?.length
  const handlers = new Set([
    ...routes.map((entry) => functionOf(entry).name),
    ...[corsPreflight.name, unknownRoute.name],
  ])
  expect([view, sources]).toEqual(['table', handlers.size])
  for (const name of handlers) expect(query).toMatch(new RegExp(`${pascalCase(name)}Log`))
  expect(query).toMatch(new RegExp(`stats count\\(\\*\\).* by ${by}\\b`))
  // CloudWatch Logs Insights queries at most 50 log groups at once.
  expect(handlers.size).toBeLessThanOrEqual(50)
})

test.each(['dev', 'prod'])('the queries that %s saves have log groups, at most 50', async (stage) => {
  const its = await templatesOf(stage)
  const saved = resourcesOf(its.watch, 'AWS::Logs::QueryDefinition').map(([, { Properties }]) => Properties)
  expect(saved.length).toBeGreaterThan(busiestQueries.length)
  const groups = idsOf(its.template, 'AWS::Logs::LogGroup').map((id) => `<${id}>`)
  for (const { LogGroupNames } of saved) {
    expect(groups).toEqual(expect.arrayContaining(LogGroupNames))
    expect(LogGroupNames.length).toBeLessThanOrEqual(50)
  }
})

test('one saved query says what each tenant uses, by operation', () => {
  const found = resourcesOf(watch, 'AWS::Logs::QueryDefinition').map(([, { Properties }]) => Properties)
  const usage = found.filter(({ QueryString }) => /by tenant, operation/.test(QueryString))
  expect(usage).toHaveLength(1)
  for (const counted of ['count(*)', 'sum(read_units)', 'sum(write_units)', 'sum(status >= 400)'])
    expect(usage[0]?.QueryString).toContain(counted)
})

test('pending, late, failed and throttled work is shown', () => {
  const metrics = (start: string) => JSON.stringify(titled(start).properties.metrics)
  for (const queue of Object.keys(taskQueues)) expect(metrics('Queues')).toContain(`"label":"${queue}"`)
  const others = ['events.relay', 'tasks.enqueue', 'events.bus']
  expect(titled('Dead letters').properties.metrics).toHaveLength(
    Object.keys(taskQueues).length + others.length,
  )
  for (const name of others) expect(metrics('Dead letters')).toContain(`"label":"${name}"`)
  expect(titled('Streams').properties.metrics).toHaveLength(2)
  expect(metrics('Imports')).toMatch(/ExecutionTime.*ExecutionsTimedOut/)
  expect(metrics('Throttled')).toMatch(/ReadThrottleEvents.*WriteThrottleEvents/)
})

test.each(alarmDefinitions.filter(({ id }) => !/^(WeeklyBackupMissing|BackupCopyFailed)$/.test(id)))(
  'the metric of the alarm $id is on the graph that the runbook names',
  ({ threshold: { measure } }) => {
    expect(JSON.stringify(titled(measure.graph).properties.metrics)).toContain(`"label":"${measure.label}"`)
  },
)

test.each(looks)('what $id looks at is on the dashboard', ({ graph, shows = [] }) => {
  const { properties } = titled(graph)
  for (const { label } of shows) expect(JSON.stringify(properties.metrics)).toContain(`"label":"${label}"`)
})
