import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnQueryDefinition } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { corsPreflight, pascalCase, unknownRoute } from '../functions/function-names.ts'

/**
 * A CloudWatch Logs Insights query over the logs of all functions behind the gateway, or of all others. It is saved in each
 * stack and costs nothing until somebody runs it.
 */
export interface SavedQuery {
  title: string
  of: 'requests' | 'work'
  lines: readonly string[]
}

/**
 * The condition of the lines that Lambda itself writes about a function that failed: one with the thrown error, and lines
 * without fields about a timeout or the end of its process.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_AnalyzeLogData-discoverable-fields.html
 */
export const crashed = 'ispresent(errorType) or @message like /Invoke Error|Task timed out|Runtime exited/'

/** The time that the queries of the load look back, in seconds. */
export const busiestSeconds = 900

function busiest(by: string): readonly string[] {
  return [
    'filter message = "request"',
    // The range of a dashboard may be longer.
    `filter toMillis(@timestamp) > (now() - ${busiestSeconds}) * 1000`,
    `filter ispresent(${by})`,
    `stats count(*) as requests, sum(duration_milliseconds) as milliseconds by ${by}`,
    'sort requests desc',
    'limit 10',
  ]
}

/** The requests that the alarms count: not those that failed because of their callers. */
export const failedRequests: SavedQuery = {
  title: 'Failed requests by operation',
  of: 'requests',
  lines: [
    'filter code = "REQUEST_FAILED"',
    'stats count(*) as requests by operation, error_code, fault.name, fault.at.0',
    'sort requests desc',
  ],
}

/** The functions that ended without a response. They log nothing about it themselves. */
export const crashes: SavedQuery = {
  title: 'Crashes of functions behind the gateway',
  of: 'requests',
  lines: [`filter ${crashed}`, 'fields @timestamp, @log, errorType, @message', 'sort @timestamp desc'],
}

export const slowRequests: SavedQuery = {
  title: 'Latency by operation',
  of: 'requests',
  lines: [
    'filter message = "request"',
    'stats count(*) as requests, pct(duration_milliseconds, 95) as p95, pct(duration_milliseconds, 99) as p99, pct(duration_milliseconds, 99) / pct(duration_milliseconds, 95) as tail by operation',
    'sort tail desc',
  ],
}

export const errorsByCode: SavedQuery = {
  title: 'Errors by code',
  of: 'requests',
  lines: [
    'filter ispresent(error_code)',
    'stats count(*) as requests by error_code, operation',
    'sort requests desc',
    'limit 50',
  ],
}

/** What each tenant costs, and how often it fails. */
export const tenantUsage: SavedQuery = {
  title: 'Requests, units and errors by tenant and operation',
  of: 'requests',
  lines: [
    'filter message = "request" and ispresent(tenant)',
    'stats count(*) as requests, sum(read_units) as read, sum(write_units) as written, sum(status >= 400) as errors, sum(code = "REQUEST_FAILED") as failures by tenant, operation',
    'sort written desc',
  ],
}

export const failedWork: SavedQuery = {
  title: 'Failures of functions without a route',
  of: 'work',
  lines: [
    `filter level = "ERROR" or ${crashed}`,
    'stats count(*) as lines by @log, code, fault.name, fault.at.0, errorType',
    'sort lines desc',
  ],
}

/** Events that were received and have no meaning here. */
export const ignoredEvents: SavedQuery = {
  title: 'Ignored events by type',
  of: 'work',
  lines: ['filter code = "EVENT_IGNORED"', 'stats count(*) as events by event_type', 'sort events desc'],
}

/** The queries that find who causes the load: the tenants of credentials, and the hashed sources of anonymous requests. */
export const busiestQueries: readonly SavedQuery[] = [
  { title: 'Busiest tenants of the last 15 minutes', of: 'requests', lines: busiest('tenant') },
  { title: 'Busiest anonymous sources of the last 15 minutes', of: 'requests', lines: busiest('source') },
]

const all: readonly SavedQuery[] = [
  ...[failedRequests, crashes, slowRequests, errorsByCode, tenantUsage, failedWork, ignoredEvents],
  ...busiestQueries,
]

/** Saves the queries in the account, under the name of the stack. */
export function saveQueries(
  scope: Construct,
  stackName: string,
  functions: ReadonlyMap<string, LambdaFunction>,
): void {
  for (const query of all) {
    new CfnQueryDefinition(scope, pascalCase(query.title.toLowerCase().replaceAll(/\W+/g, '-')), {
      name: `${stackName}/${query.title}`,
      queryString: query.lines.join('\n| '),
      logGroupNames: logsOf(query, functions),
    })
  }
}

/** Returns the log groups of a query. CloudWatch Logs Insights takes at most 50. */
export function logsOf({ of }: SavedQuery, functions: ReadonlyMap<string, LambdaFunction>): string[] {
  const names =
    of === 'requests'
      ? [...routes.map(({ route }) => route.operation), corsPreflight.name, unknownRoute.name]
      : [...subscriptions, ...steps].map(({ name }) => name)
  return [...new Set(names.map((name) => functions.get(name)))].flatMap(
    (handler) => handler?.logGroup.logGroupName ?? [],
  )
}
