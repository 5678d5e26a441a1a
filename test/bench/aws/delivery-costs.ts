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

/** Returns the section on deliveries. */
export function deliverySection(page: string): string {
  const work = measuredWork(page)
  const [messages, attempt] = [messageCosts(), lambdaCosts(assumed.attemptMilliseconds)]
  const rows = [
    'deliver it at the first attempt',
    'fail to deliver, the first time',
    'fail again, with a retry that waits in the table',
    'deliver it at a later attempt',
  ].map((what) => {
    const one = work(what)
    const ofTable = tableCosts(one)
    return [what, one.readUnits, one.writeUnits, usd(ofTable), usd(messages + attempt + ofTable)]
  })
  const first = work('sweep a subscriber without waiting deliveries').readUnits
  const month = (units: number) => usd((units * minutesOfMonth * prices.readUnit.usd) / 1e6)
  return `## Each million deliveries to subscribers

A tenant **without subscribers** costs nothing, unless more than 2,000 tenants have some. With some, the sweep of a stage reads ${first} units a
minute, and one unit for each further subscriber: ${month(1000)} a month for 1,000 of them.

**Each attempt** costs, a million times, ${usd(messages)} for messages, ${usd(attempt)} for ${assumed.attemptMilliseconds} ms of the function, and its units of the table. Batches of ten
share the messages and the time:

${table(['Attempt', 'Read units', 'Write units', 'Table', 'In all'], rows)}

A retry that waited in the table costs two write units more. An event for two subscribers is two deliveries, each kept for
\`deliveries.retentionDays\`.`
}

const usd = (amount: number) => amount.toFixed(2)
