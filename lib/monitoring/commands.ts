/**
 * Returns the command that prints the functions with a count above 0 in the last hour.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html
 */
export function functionsBy(metricName: string, dimensions = 'FunctionName'): string {
  const search = `SEARCH('{AWS/Lambda,${dimensions}} MetricName="${metricName}"', 'Sum', 300)`
  const queries = JSON.stringify([{ Id: 'functions', Expression: search }]).replaceAll("'", "'\\''")
  return [
    'aws cloudwatch get-metric-data --start-time $(($(date +%s) - 3600)) --end-time $(date +%s) --output table',
    "--query 'MetricDataResults[?sum(Values) > `0`].[Label,sum(Values)]'",
    `--metric-data-queries '${queries}'`,
  ].join(' \\\n  ')
}
