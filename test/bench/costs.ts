import { codeCosts } from './code-costs.ts'
import { eventCosts } from './event-costs.ts'
import { type Cost, metered } from './meter.ts'
import { moneyCosts } from './money-costs.ts'
import { orderCosts } from './order-costs.ts'

/** Returns the section of the benchmark's page. */
export function costsAsMarkdown(costs: readonly Cost[]): string {
  const rows = costs.map(
    ({ request, status, requests, readUnits, tableWriteUnits, indexEntries }) =>
      `| ${request} | ${status ?? ''} | ${requests} | ${readUnits} | ${tableWriteUnits} | ${indexEntries} |`,
  )
  return `## At DynamoDB

Units are those of an on-demand table; the write units of a transaction are twice those of its items. An index entry
is one more unit; DynamoDB Local counts it twice within a transaction. A replay is a canceled transaction: DynamoDB
Local charges nothing for it, AWS what the transaction would have cost.

An order has an entry by its cart, of two units: a caller who lost the answer finds it. The first refund of a process also reads the
account, the tenants with too many pending sagas and the mark of a restore, and remembers them for half a minute. A refused refund
reads the lock of its charge before it releases it. A cart with two codes also holds the events about them, and is longer than 1 KB.
A search sizes each read by what it has found, so one in vain reads more units in fewer requests.

| Request | Status | Requests | Read units | Write units | Index entries |
|---|---|---|---|---|---|
${rows.join('\n')}
`
}

/** Measures the cost of each kind of request. Deterministic except for the time in ids. */
export async function measureCosts(endpoint: string, pageSize: number, pages: number): Promise<Cost[]> {
  const requests = await metered(endpoint, async (meter) => {
    await orderCosts(meter, pageSize, pages)
    await codeCosts(meter)
    await moneyCosts(meter)
    await meter.measure('ask for health', { path: '/health' })
  })
  return [...requests, ...(await eventCosts(endpoint))]
}
