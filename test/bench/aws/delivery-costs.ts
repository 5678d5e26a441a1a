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

/** Returns USD for a million events: the queue and the function that looks for subscribers, without any. */
export function lookupCosts(page: string): number {
  const look = measuredWork(page)('look for the subscribers of an event, without any')
  return messageCosts() + lambdaCosts() + tableCosts(look)
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
  const sweep = work('sweep no subscribers').readUnits
  const more = work('sweep a subscriber without waiting deliveries').readUnits - sweep
  const month = (units: number) => (units * minutesOfMonth * prices.readUnit.usd) / 1e6
  return `## Each million deliveries to subscribers

A deployment **without subscribers** pays ${lookupCosts(page).toFixed(2)} for a million events: the queue that the rule of the bus feeds, a function and
its read of the tenant's subscribers. The tables of orders below have it in a line. The bus charges nothing for the rule.
The sweep reads ${more} unit more for each subscriber and minute, ${month(1000 * more).toFixed(2)} a month for 1,000 of them.

**Each attempt** costs a million times as follows. Assumed are ${assumed.attemptMilliseconds} ms of the function until the subscriber responds, and batches
of one, for messages too; attempts of a batch of ten share the time and the requests. An event for two subscribers is two deliveries.

${table(['Attempt', 'Read units', 'Write units', 'Messages', 'Function', 'Table', 'In all'], rows)}

A retry that waited in the table costs two write units more, for the entry that the sweep removes. A subscriber of all events of a million orders has
${assumed.orderEvents} million deliveries, each kept for \`deliveries.retentionDays\`.`
}
