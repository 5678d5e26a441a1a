import { minutesOfMonth } from './fixed-costs.ts'
import { prices } from './prices.ts'
import { assumed, lambdaCosts, type MeasuredRequest, measuredRequests, tableCosts } from './request-costs.ts'
import { table } from './table.ts'

/** Sending, receiving and deleting a message, in batches of one. */
const requestsOfMessage = 3
type Work = (what: string) => MeasuredRequest

function measuredWork(page: string): Work {
  const measured = measuredRequests(page, 'Deliveries to subscribers')
  return (what) => {
    const found = measured.find(({ request }) => request === what)
    if (!found) throw new Error(`the benchmark has no row: ${what}`)
    return found
  }
}

/** Returns USD for a million messages of a fair queue, in batches of one. */
function messageCosts(): number {
  return requestsOfMessage * (prices.message.usd + prices.fairMessage.usd)
}

/** Returns the parts of USD for a million attempts, one in a batch. */
function attemptCosts(work: MeasuredRequest): Record<string, number> {
  return {
    Messages: messageCosts(),
    Function: lambdaCosts(assumed.attemptMilliseconds),
    Table: tableCosts(work),
  }
}

/** Returns the section on deliveries. */
export function deliverySection(page: string): string {
  const work = measuredWork(page)
  const rows = [
    'deliver it at the first attempt',
    'fail to deliver, the first time',
    'fail again',
    'fail again, with a retry that waits in the table',
    'deliver it at a later attempt',
  ].map((what) => {
    const one = work(what)
    const parts = Object.values(attemptCosts(one))
    const all = parts.reduce((sum, part) => sum + part, 0)
    return [what, one.readUnits, one.writeUnits, ...[...parts, all].map((part) => part.toFixed(2))]
  })
  const first = work('sweep a subscriber without waiting deliveries').readUnits
  const month = (units: number) => (units * minutesOfMonth * prices.readUnit.usd) / 1e6
  return `## Each million deliveries to subscribers

A tenant **without subscribers** costs nothing: its events do not reach the queue that looks for them, unless more than 2,000 tenants
have some.

The sweep of a stage without subscribers reads ${work('sweep no subscribers').readUnits} unit a minute. With some, it reads ${first} units, and one unit for each
further subscriber: ${month(1000).toFixed(2)} a month for 1,000 of them.

**Each attempt** costs a million times as follows. Assumed are ${assumed.attemptMilliseconds} ms of the function until the subscriber responds, and batches
of one, for messages too; attempts of a batch of ten share the time and the requests. An event for two subscribers is two deliveries.

${table(['Attempt', 'Read units', 'Write units', 'Messages', 'Function', 'Table', 'In all'], rows)}

A retry that waited in the table costs two write units more, for the entry that the sweep removes. A subscriber of all events of a million orders has
${assumed.orderEvents} million deliveries, each kept for \`deliveries.retentionDays\`.`
}
