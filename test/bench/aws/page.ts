import type { Template } from '#test/infrastructure/synthesis.ts'
import { deliverySection, lookupCosts } from './delivery-costs.ts'
import { daysOfLogs, fixedCosts, minutesOfMonth, retention } from './fixed-costs.ts'
import { backupsKept, costsOfOrders, sumOf } from './monthly-costs.ts'
import { type Price, prices, region } from './prices.ts'
import { assumed, basicCosts, type MeasuredRequest, measuredRequests, tableCosts } from './request-costs.ts'
import { table } from './table.ts'

/** Returns the page on costs, from the templates of a stage and the page of the benchmark. */
export function costsPage(stacks: Readonly<Record<string, Template>>, measured: string): string {
  const fixed = fixedCosts(stacks)
  const total = fixed.reduce((sum, { count, price }) => sum + count * price.usd, 0)
  const basic = basicCosts()
  const basicTotal = sumOf(basic)
  const backupsOfMonth = assumed.orderKilobytes * backupsKept(stacks) * prices.backupStored.usd
  const dearBackupMonths = Math.ceil((basicTotal + tableCosts(orderOf(measured))) / backupsOfMonth)
  return `# What the service costs on AWS

Written by \`npm run generate -- --figures\` from the templates of the stage prod and the units in
[test/bench/README.md](../test/bench/README.md); do not edit. All sums are in USD at the list prices of ${region}, without
free tiers, data transfer and taxes. Nothing was measured on AWS. [scaling.md](scaling.md) names the quotas.

## Each month, without a request

${table(
  ['What', 'Count', 'Price', 'A month'],
  [
    ...fixed.map(({ what, count, price }) => [
      what,
      count,
      Number(price.usd.toFixed(4)),
      usd(count * price.usd),
    ]),
    ['All of it', '', '', usd(total)],
  ],
)}

A metric that CloudWatch receives in a part of the month only is billed for that part. The key adds ${usd(prices.key.usd)} after each of its
first two yearly rotations. A custom domain and its public certificate cost nothing.

## Each million requests

A request costs ${usd(basicTotal)} before it touches the table: ${Object.entries(basic)
    .map(([what, cost]) => `${usd(cost)} ${what}`)
    .join(', ')}. Assumed are ${assumed.milliseconds} ms of Lambda at ${assumed.gigabytes} GB,
${assumed.logKilobytes} KB of logs of which ${assumed.maskedKilobytes} KB are masked, and a trace of ${assumed.tracedShare * 100} % of the requests. A repeated request is a canceled
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
always a full copy. The nights of weekly backups are counted twice.

${periods.map(({ name, months }) => `### ${name}\n\n${ordersTable(stacks, measured, { fixed: total, months })}`).join('\n\n')}

After ${dearBackupMonths} months at the same rate, the backups cost more than the requests of a month. Lower \`storage.backups.keptDays\` and
\`weeklyKeptDays\` first: each nightly copy less saves ${usd(prices.backupStored.usd)} for each GB of the table and month.

## By what is stored, sent and encrypted

${retention(stacks).join('\n')}

A thousand CAPTCHA attempts cost ${usd(prices.captcha.usd)}, so a million that a flood of callers tries cost ${usd(1000 * prices.captcha.usd)}. AWS does not bill a CAPTCHA
that nobody tries to solve as an attempt. The log of the web ACL has blocked requests and CAPTCHAs only; it is masked, and each GB of it
costs ${usd(prices.logIngested.usd + prices.logScanned.usd)} with the scan. A canary outside of this stack that reads the public address each minute adds ${usd((minutesOfMonth / 1e6) * basicTotal)} a month for its requests.

The table and its backups, logs, users, mails and requests to the key cost by their number, at the prices below. Few requests
to the key come from callers. The table asks once in five minutes for each role that uses it, which is at most 0.44 million
requests a month for 50 roles. A queue asks once an hour for each role. A secret asks once for each new process of a function
and every four minutes while it serves requests. AWS does not document how often the bus asks: at worst twice for each event,
which is ${usd(2 * prices.keyRequest.usd)} for a million events.

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
  stacks: Readonly<Record<string, Template>>,
  measured: string,
  { fixed, months }: { fixed: number; months: number },
): string {
  const order = orderOf(measured)
  const kept = { backups: backupsKept(stacks), logDays: Math.max(...daysOfLogs(stacks)), months }
  const lookup = lookupCosts(measured)
  const columns = [1, 10, 100].map((millions) => ({
    'Without a request': fixed,
    ...costsOfOrders(millions, order, { ...kept, lookup }),
  }))
  const parts = Object.keys(columns[0] ?? {})
  const row = (what: string, of: (column: Record<string, number>) => number) => [
    what,
    ...columns.map((column) => usd(of(column))),
  ]
  return table(
    ['USD a month', '1 million', '10 million', '100 million'],
    [...parts.map((what) => row(what, (column) => column[what] ?? 0)), row('All of it', sumOf)],
  )
}

function usd(amount: number): string {
  return amount.toFixed(2)
}
