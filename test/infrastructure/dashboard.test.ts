import { expect, test } from '@jest/globals'
import { functionOf, routes } from '#functions/routes.ts'
import { pascalCase, unknownRoute } from '#lib/function-entries.ts'
import { alarmDefinitions } from '#lib/monitoring/alarm-definitions.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import { gatewayPathOf } from '#shared/platform/request/route.ts'
import { withProvisioned } from './stage-settings.ts'
import { propertiesOf, templatesOf } from './synthesis.ts'

const { watch, settings } = await templatesOf('prod', { changes: withProvisioned })
// biome-ignore lint/suspicious/noExplicitAny: each widget has other properties.
const { widgets }: { widgets: any[] } = JSON.parse(propertiesOf(watch, 'Dashboard').DashboardBody)
const titled = (start: string) => widgets.find(({ properties }) => properties.title?.startsWith(start))

test.each(routes.map(({ route }) => route).filter(({ latency }) => latency))(
  '$operation is shown with its budgets and its failed requests',
  ({ operation, latency }) => {
    const shown = titled(`${operation}: latency`).properties
    const budgets = shown.annotations.horizontal.map(({ value }: { value: number }) => value)
    expect(budgets).toEqual([latency?.p95, latency?.p99])
    expect(JSON.stringify(shown.metrics)).toMatch(/p95.*p99/)
    expect(JSON.stringify(titled(`${operation}: failed`).properties.metrics)).toContain('"failed_requests"')
  },
)

test('errors are searchable by code', () => {
  const searched = JSON.stringify(titled('Errors by code').properties.metrics)
  expect(searched).toContain('SEARCH(\'{\\"commerce-prod\\",error_code} MetricName=\\"errors\\"')
})

test.each([
  ['Busiest tenants', 'tenant'],
  ['Busiest anonymous sources', 'source'],
])('%s are found in the requests of all functions behind the gateway', (title, by) => {
  const { query, view } = titled(title).properties
  const sources = query.match(/SOURCE/g)?.length
  const handlers = new Set([...routes.map((entry) => functionOf(entry).name), unknownRoute.name])
  expect([view, sources]).toEqual(['table', handlers.size])
  for (const name of handlers) expect(query).toMatch(new RegExp(`${pascalCase(name)}Log`))
  expect(query).toMatch(new RegExp(`stats count\\(\\*\\).* by ${by}\\b`))
  // CloudWatch Logs Insights queries at most 50 log groups at once.
  expect(handlers.size).toBeLessThanOrEqual(50)
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

test.each(alarmDefinitions)(
  'the metric of the alarm $id is on the graph that the runbook names',
  (definition) => {
    for (const { measure } of definition.thresholds) {
      const { metrics } = titled(measure.graph).properties
      const ofImports = measure.graph.startsWith('Imports')
      if (!measure.route && !ofImports)
        expect(JSON.stringify(metrics)).toContain(`"label":"${measure.label}"`)
      if (!measure.route || measure.graph.includes('latency (ms)')) continue
      const { operation } = measure.route
      const shown = definition.id.endsWith('Tail')
        ? ['Latency', gatewayPathOf(measure.route, settings)]
        : ['failed_requests', operation]
      expect(metrics).toContainEqual(expect.arrayContaining(shown))
    }
  },
)
