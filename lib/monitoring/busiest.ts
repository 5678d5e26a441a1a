/** A CloudWatch Logs Insights query over the request lines of all functions behind the gateway. */
interface BusiestQuery {
  title: string
  lines: readonly string[]
}

/** The time that the queries look back, in seconds. */
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

/** The queries that find who causes the load: the tenants of credentials, and the hashed sources of anonymous requests. */
export const busiestQueries: readonly BusiestQuery[] = [
  { title: 'Busiest tenants of the last 15 minutes', lines: busiest('tenant') },
  { title: 'Busiest anonymous sources of the last 15 minutes', lines: busiest('source') },
]
