import { tenantUsage } from '#lib/monitoring/saved-queries.ts'
import type { Template } from '#test/infrastructure/synthesis.ts'
import { deliverySection } from './delivery-costs.ts'
import { archiveDays, daysOfLogs, fixedCosts, fixedTotal, retention, tracedShare } from './fixed-costs.ts'
import { backupsKept, costsOfOrders, sumOf, worstKeyCosts } from './monthly-costs.ts'
import { prices, region } from './prices.ts'
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
  const dearBackupMonths = Math.ceil(
    (basicTotal + tableCosts(measuredOf(measured, 'create an order'))) / backupsOfMonth,
  )
  return `# What the service costs on AWS

Written by \`npm run generate -- --figures\` from the templates of the stages and the units in
[test/bench/README.md](../test/bench/README.md), which has more requests; do not edit. All sums are in USD at the list prices of
${region}, without free tiers, data transfer and taxes. Nothing was measured on AWS. Look the prices up before you decide by them:
\`test/bench/aws/prices.ts\` names the page and the year of each.

## Each month, without a request

${fixedTable(stages)}

The key adds ${usd(prices.key.usd)} after each of its first two yearly rotations.

## Each million requests

A request costs ${usd(basicTotal)} without the table: ${Object.entries(basic)
    .map(([what, cost]) => `${usd(cost)} ${what}`)
    .join(', ')}. Assumed are ${assumed.milliseconds} ms of Lambda at ${assumed.gigabytes} GB,
${assumed.logKilobytes} KB of logs of which ${assumed.maskedKilobytes} KB are masked, and a trace of ${traced * 100} % of the requests (\`traces.share\`). A repeated request costs
the units of the first one. An event adds ${usd(prices.event.usd)} for the bus and up to ${usd(prices.lambdaCall.usd)} for the relay.

${table(
  ['Request', 'Read units', 'Write units', 'Table', 'In all'],
  typicalRequests
    .map((request) => measuredOf(measured, request))
    .map((one) => [
      one.request,
      one.readUnits,
      one.writeUnits,
      usd(tableCosts(one)),
      usd(basicTotal + tableCosts(one)),
    ]),
)}

${deliverySection(measured)}

## With 1, 10 and 100 million orders a month

Each order is one request, ${assumed.orderEvents} events and ${assumed.orderKilobytes} KB of the table; other requests add the sums above. No order is ever deleted, so the
table, its recovery and its backups, which are full copies, grow by the same sum each month. Assumed are ${assumed.runKilobytes} KB of logs for each run of the
relay, and ${assumed.eventKilobytes} KB of the archive for an event. AWS does not document how often the bus asks the key of the stage: never, or at worst twice
for each event. Three sums are of the first month, after one year and after five years.

${ordersTable(stacks, measured, total)}

After ${dearBackupMonths} months at the same rate, the backups cost more than the requests of a month. Lower
\`storage.backups.weeklyKeptDays\` first: each copy less saves ${usd(prices.backupStored.usd)} for each GB of the table and month.

## By what is stored, sent and encrypted

- ${retention(stacks).join('\n- ')}
- A million CAPTCHA attempts of a flood of callers cost ${usd(1000 * prices.captcha.usd)}. The log of the web ACL has blocked requests and CAPTCHAs only;
  each GB of it costs ${usd(prices.logIngested.usd + prices.logScanned.usd)} with the scan.
- A thousand mails cost ${usd(prices.mail.usd)}, and a thousand users a month ${usd(1000 * prices.user.usd)} after the first 10,000.
- What a **tenant** uses: the saved query ‘${tenantUsage.title}’ sums the units of its requests. Replays and refused writes
  count as none, and neither do events, deliveries and imports.
`
}

/** The requests that most callers send. The page of the benchmark has all that it measures. */
const typicalRequests = [
  'create an order',
  'read it',
  'list page 1 of 25',
  'list, filtered to nothing',
  'create a code',
  'find a code by its text',
  'import one code',
  'verify a discount on a cart',
  'refund a charge',
  'receive an event',
  'handle it',
]

/** How long orders were placed at the same rate. */
const periods = [
  { name: 'in the first month', months: 1 },
  { name: 'after one year', months: 12 },
  { name: 'after five years', months: 60 },
]

function measuredOf(measured: string, request: string): MeasuredRequest {
  const found = measuredRequests(measured).find((one) => one.request === request)
  if (!found) throw new Error(`the benchmark has no row: ${request}`)
  return found
}

/** The costs of a month by the number of orders. What grows with the stored orders has a sum for each period. */
function ordersTable(stacks: Stacks, measured: string, fixed: number): string {
  const order = measuredOf(measured, 'create an order')
  const kept = {
    backups: backupsKept(stacks),
    logDays: Math.max(...daysOfLogs(stacks)),
    archiveDays: archiveDays(stacks),
    traced: tracedShare(stacks),
  }
  const columns = [1, 10, 100].map((millions) => ({
    costs: periods.map(
      ({ months }): Record<string, number> => ({
        'Without a request': fixed,
        ...costsOfOrders(millions, order, { ...kept, months }),
      }),
    ),
    key: worstKeyCosts(millions),
  }))
  const parts = Object.keys(columns[0]?.costs[0] ?? {})
  const sumsOf = (what: string) =>
    columns.map(({ costs }) => [...new Set(costs.map((ofPeriod) => usd(ofPeriod[what] ?? 0)))].join(' / '))
  return table(
    ['USD a month', '1 million', '10 million', '100 million'],
    [
      ...parts.map((what) => [what, ...sumsOf(what)]),
      ['Requests of the bus to the key', ...columns.map(({ key }) => `0 to ${usd(key)}`)],
      ...periods.map(({ name }, index) => [
        `All of it ${name}`,
        ...columns.map(({ costs, key }) => {
          const sum = sumOf(costs[index] ?? {})
          return `${usd(sum)} to ${usd(sum + key)}`
        }),
      ]),
    ],
  )
}

/** What the stages cost without a request, with the number of each thing that is billed. */
function fixedTable(stages: Readonly<Record<string, Stacks>>): string {
  // Stages that cost the same share a column.
  const alike = [
    ...Map.groupBy(Object.keys(stages), (stage) => JSON.stringify(fixedCosts(stages[stage] ?? {}))).values(),
  ]
  const columns = alike.map(([stage = '']) => fixedCosts(stages[stage] ?? {}))
  const [first = []] = columns
  return table(
    ['What', 'Price', ...alike.map((names) => names.join(', '))],
    [
      ...first.map(({ what, price }, index) => [
        what,
        Number(price.usd.toFixed(4)),
        ...columns.map((column) => {
          const count = column[index]?.count ?? 0
          return count === 0 ? '' : `${usd(count * price.usd)} (${count})`
        }),
      ]),
      ['All of it', '', ...alike.map(([stage = '']) => usd(fixedTotal(stages[stage] ?? {})))],
    ],
  )
}

function usd(amount: number): string {
  return amount.toFixed(2)
}
