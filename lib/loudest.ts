/** A CloudWatch Logs Insights query over the request lines of all functions behind the gateway. */
interface LoudestQuery {
  title: string
  lines: readonly string[]
}

/** The time that the queries look back, in seconds. */
export const loudestSeconds = 900

function loudest(by: string): readonly string[] {
  return [
    'filter message = "request"',
    // The range of a dashboard may be longer.
    `filter toMillis(@timestamp) > (now() - ${loudestSeconds}) * 1000`,
    `filter ispresent(${by})`,
    `stats count(*) as requests, sum(duration_milliseconds) as milliseconds by ${by}`,
    'sort requests desc',
    'limit 10',
  ]
}

/** The queries that find who causes the load: the tenants of credentials, and the hashed sources of anonymous requests. */
export const loudestQueries: readonly LoudestQuery[] = [
  { title: 'Loudest tenants of the last 15 minutes', lines: loudest('tenant') },
  { title: 'Loudest anonymous sources of the last 15 minutes', lines: loudest('source') },
]
