import { tenantUsage } from '#lib/monitoring/saved-queries.ts'
import type { Template } from '#test/infrastructure/synthesis.ts'
import { deliverySection } from './delivery-costs.ts'
import {
  archiveDays,
  daysOfLogs,
  fixedCosts,
  fixedTotal,
  minutesOfMonth,
  retention,
  tracedShare,
} from './fixed-costs.ts'
import { backupsKept, costsOfOrders, sumOf, worstKeyCosts } from './monthly-costs.ts'
import { type Price, prices, region } from './prices.ts'
import { assumed, basicCosts, type MeasuredRequest, measuredRequests, tableCosts } from './request-costs.ts'
import { table } from './table.ts'

/** The templates of a stage, by stack. */
type Stacks = Readonly<Record<string, Template>>

/** Returns the page on costs, from the templates of the stages and the page of the benchmark. */
export function costsPage(stages: Readonly<Record<string, Stacks>>, measured: string): string {
  const { prod: stacks = {} } = stages
  const total = fixedTotal(stacks)
  const traced = tracedShare(stacks)
  const basic = basicCosts(traced)
  const basicTotal = sumOf(basic)
  const backupsOfMonth = assumed.orderKilobytes * backupsKept(stacks) * prices.backupStored.usd
  const dearBackupMonths = Math.ceil((basicTotal + tableCosts(orderOf(measured))) / backupsOfMonth)
  return `# What the service costs on AWS

Written by \`npm run generate -- --figures\` from the templates of the stages and the units in
[test/bench/README.md](../test/bench/README.md); do not edit. All sums are in USD at the list prices of ${region}, without
free tiers, data transfer and taxes. Nothing was measured on AWS. [scaling.md](scaling.md) names the quotas.

## Each month, without a request

${fixedTable(stages)}

Stage dev wakes nobody: it has no alarms, dashboard and web ACL unless \`stages.dev\` asks for them. A metric that CloudWatch receives in
a part of the month only is billed for that part. The key adds ${usd(prices.key.usd)} after each of its
first two yearly rotations. A custom domain and its public certificate cost nothing.

## Each million requests

A request costs ${usd(basicTotal)} before it touches the table: ${Object.entries(basic)
    .map(([what, cost]) => `${usd(cost)} ${what}`)
    .join(', ')}. Assumed are ${assumed.milliseconds} ms of Lambda at ${assumed.gigabytes} GB,
${assumed.logKilobytes} KB of logs of which ${assumed.maskedKilobytes} KB are masked, and a trace of ${traced * 100} % of the requests (\`traces.share\`). A repeated request is a canceled
transaction: DynamoDB Local charges nothing for it, DynamoDB the units of the first one. Each process also reads the list of blocked tenants, one unit every 30 seconds. An event adds ${usd(prices.event.usd)} for the bus and up to ${usd(prices.lambdaCall.usd)} for the relay.

${table(
  ['Request', 'Read units', 'Write units', 'Table', 'In all'],
  measuredRequests(measured).map((one) => [
    one.request,
    one.readUnits,
    one.writeUnits,
    ...(one.charged
      ? [usd(tableCosts(one)), usd(basicTotal + tableCosts(one))]
      : ['as the first', 'as the first']),
  ]),
)}

${deliverySection(measured)}

## With 1, 10 and 100 million orders a month

Each order is one request and ${assumed.orderEvents} events; other requests add the sums above. Assumed are ${assumed.orderKilobytes} KB of the table for an order.
No order is ever deleted, so the table, its recovery and its backups grow by the same sum each month. A backup of DynamoDB is
always a full copy. The nights of weekly backups are counted twice. Assumed are ${assumed.runKilobytes} KB of logs for each run of the relay,
and ${assumed.eventKilobytes} KB of the archive for an event. Where two sums stand, AWS does not document how often the bus asks the key of
the stage: never, or at worst twice for each event.

${periods.map(({ name, months }) => `### ${name}\n\n${ordersTable(stacks, measured, { fixed: total, months })}`).join('\n\n')}

After ${dearBackupMonths} months at the same rate, the backups cost more than the requests of a month. Lower
\`storage.backups.weeklyKeptDays\` first: each copy less saves ${usd(prices.backupStored.usd)} for each GB of the table and month.

## By what is stored, sent and encrypted

${retention(stacks).join('\n')}

A thousand CAPTCHA attempts cost ${usd(prices.captcha.usd)}, so a million that a flood of callers tries cost ${usd(1000 * prices.captcha.usd)}. AWS does not bill a CAPTCHA
that nobody tries to solve as an attempt. The log of the web ACL has blocked requests and CAPTCHAs only; it is masked, and each GB of it
costs ${usd(prices.logIngested.usd + prices.logScanned.usd)} with the scan. A canary outside of this stack that reads the public address each minute adds ${usd((minutesOfMonth / 1e6) * basicTotal)} a month for its requests.

The table and its backups, logs, users, mails and requests to the key cost by their number, at the prices below. Few requests
to the key come from callers. The table asks once in five minutes for each role that uses it, which is at most 0.44 million
requests a month for 50 roles. A queue asks once an hour for each role. A secret asks once for each new process of a function
and every four minutes while it serves requests.

What a **tenant** costs: the line of each request has the units that it consumed of the table, \`read_units\` and \`write_units\`. The
saved query ‘${tenantUsage.title}’ sums them. DynamoDB reports no units of a write that a condition rejected, so replays and
refused writes count as none, and neither do events, deliveries and imports, which are no requests.

## Prices

Look the prices up before you decide by them: some were last found in pages of earlier years, others not looked up again.

${table(
  ['USD', 'For one', 'Source', 'Page of'],
  (Object.values(prices) as Price[]).map((price) => [
    price.usd,
    price.per,
    price.source,
    price.pageOf ?? 'not looked up again',
  ]),
)}
`
}

/** How long orders were placed at the same rate. */
const periods = [
  { name: 'In the first month', months: 1 },
  { name: 'After one year', months: 12 },
  { name: 'After five years', months: 60 },
]

function orderOf(measured: string): MeasuredRequest {
  const order = measuredRequests(measured).find(({ request }) => request === 'create an order')
  if (!order) throw new Error('the benchmark has no order')
  return order
}

/** The costs of a month by the number of orders. */
function ordersTable(
  stacks: Stacks,
  measured: string,
  { fixed, months }: { fixed: number; months: number },
): string {
  const order = orderOf(measured)
  const kept = {
    backups: backupsKept(stacks),
    logDays: Math.max(...daysOfLogs(stacks)),
    archiveDays: archiveDays(stacks),
    traced: tracedShare(stacks),
    months,
  }
  const columns = [1, 10, 100].map((millions) => ({
    costs: { 'Without a request': fixed, ...costsOfOrders(millions, order, kept) },
    key: worstKeyCosts(millions),
  }))
  const parts = Object.keys(columns[0]?.costs ?? {})
  return table(
    ['USD a month', '1 million', '10 million', '100 million'],
    [
      ...parts.map((what) => [
        what,
        ...columns.map(({ costs }) => usd((costs as Record<string, number>)[what] ?? 0)),
      ]),
      ['Requests of the bus to the key', ...columns.map(({ key }) => `0 to ${usd(key)}`)],
      ['All of it', ...columns.map(({ costs, key }) => `${usd(sumOf(costs))} to ${usd(sumOf(costs) + key)}`)],
    ],
  )
}

/** What the stages cost without a request, with the number of each thing that is billed. */
function fixedTable(stages: Readonly<Record<string, Stacks>>): string {
  const columns = Object.values(stages).map(fixedCosts)
  const [first = []] = columns
  return table(
    ['What', 'Price', ...Object.keys(stages)],
    [
      ...first.map(({ what, price }, index) => [
        what,
        Number(price.usd.toFixed(4)),
        ...columns.map((column) => {
          const count = column[index]?.count ?? 0
          return count === 0 ? '' : `${usd(count * price.usd)} (${count})`
        }),
      ]),
      ['All of it', '', ...Object.values(stages).map((stacks) => usd(fixedTotal(stacks)))],
    ],
  )
}

function usd(amount: number): string {
  return amount.toFixed(2)
}
