import {
  accountExecutions,
  cellLimits,
  coldTableUnits,
  hoursOfCopy,
  ordersOfMonth,
  ordersOfTenant,
  reachedAt,
  reservedExecutions,
} from './cells.ts'
import { assumed, measuredRequests } from './request-costs.ts'
import { table } from './table.ts'

const largeTenant = 1e8
const smallTenant = 1e6

/** Returns the page on cells. @param measured the page of the benchmark */
export function cellsPage(measured: string): string {
  const limits = cellLimits(measuredRequests(measured))
  const gateway = limits.find(({ what }) => what === 'requests of the gateway') ?? limits[0]
  const secondCell = gateway ? reachedAt(gateway) / 2 : 0
  const copyUnits = coldTableUnits / 2
  const limitRows = limits.map((one) => [
    one.what,
    count(one.quota),
    count(reachedAt(one)),
    millions(ordersOfMonth(reachedAt(one))),
    one.response,
  ])
  return `# Beyond one account

Written by \`npm run generate -- --figures\` from the units in [test/bench/README.md](../test/bench/README.md); do not edit. Nothing here was
measured on AWS, and no command of the project copies a tenant yet. [scaling.md](scaling.md) has the limits of one stack.

A *cell* is one stack in one account and region, with its own table, user pool, bus, secrets, alarms and quotas. Each tenant
is in one cell, and no request needs two. A loss of a cell, a bad release or a flood of requests affects its tenants only.

## When each step becomes necessary

The mix is one order, two reads of an order and one list. Quotas are the defaults of an account in us-east-1, a second. Of its
${count(accountExecutions)} concurrent executions, \`prod\` [reserves](scaling.md#reserved-concurrency) ${count(reservedExecutions)} for functions that are not in the mix.

${table(['Limit of one stack', 'Quota', 'Requests a second', 'Million orders a month', 'Step'], limitRows)}

| Step | Necessary at | What changes |
| --- | --- | --- |
| More shards for a tenant | ${count(ordersOfTenant(1))} orders a second of one tenant; ${count(ordersOfTenant(4))} with 4 shards, ${count(ordersOfTenant(16))} with 16 | \`storage.shards\` |
| Higher quotas | half of a limit above, because AWS takes days to answer | a request for each quota, then the settings |
| A second cell | ${count(secondCell)} requests a second, ${millions(ordersOfMonth(secondCell))} million orders a month: half of what the gateway takes by default | another account, this page |
| A cell for each region | a tenant whose data must stay in a region, or callers that are too far away | the same |
| A cell for one tenant | a tenant that needs more than half of a cell | the same, with one tenant |

A second cell is also the answer if the loss of one account or a bad release must not stop all tenants, at any load. Every cell
costs its sum 'without a request' in [costs.md](costs.md#each-month-without-a-request).

## Tenants to cells

- A list assigns each tenant to a cell: name, cell, address, state (\`open\`, \`moving\`). It is small and changes rarely: a file in the
  repository of the profiles is enough, and only the steps below read it. No request does.
- New tenants go to the cell with the most room. A cell is full at half of its smallest limit. Then it takes no new tenant, and nobody moves.
- Each cell has a separate profile: \`aws.environment\`, \`api.domain\`, \`auth.issuers\`, and the settings of mail and storage.
  Everything else is the same in all profiles. Names of tenants are unique over all cells, because the payment provider, consumers and
  support use them.
- A release reaches the cells one after the other, the smallest first. Each has its own \`preflight\`, rollout and \`rollback\`.

## What routes a request

The host name does, before the first byte of a request arrives at the service. Nothing else works for all callers: a login, a one-time
code and a password reset name no tenant, and the tenant in a token is known only after its signature was checked.

- Each cell has an address, such as \`c1.api.example.com\` (\`api.domain\`). A tenant gets the address of its cell when it is created, and
  configures it in its clients, its webhook senders and its pages.
- A tenant that may move gets a separate host name, such as \`acme.api.example.com\`: a further custom domain of the gateway in its cell,
  created by hand, with a DNS record of 60 seconds. API Gateway takes a custom domain name once in a region, over all accounts, so
  a move deletes it in one cell before the other cell of the same region can have it.
- A token of a tenant that is in another cell is valid only if both cells trust its issuer, and then finds no data. Give each cell its own
  audience in \`auth.issuers\`, so that it gets 401 instead.
- Do not put a proxy in front that hides addresses: the rate rules of the web ACL and \`otp.sourceThrottle\` count them.

## What is global

| What | Where it is |
| --- | --- |
| The list of tenants, the DNS zone, the release | outside of all cells; none is needed to answer a request |
| Users | in the pool of their cell; an issuer that all cells trust is the alternative |
| Events | on the bus of each cell; consumers subscribe to each, or a rule sends them to a common bus. Event ids are unique over all cells |
| Orders, refunds, codes, audit, legal holds | in the table of the cell. A report over all tenants reads all cells |
| An Admin's reads of other tenants | end at the cell |
| The payment provider | one platform account, with an account for each tenant; an event of a refund belongs to the cell of its tenant, and ends in the dead letters of any other |
| Sessions of the public tenant | valid in their cell only |
| Quotas of mail, logins and the key | those of the account and region of the cell |

## How a tenant moves

Move small tenants away from a large one, not the large one. At ${count(copyUnits)} write units a second, which leave half of a new table to
others, ${millions(smallTenant)} million orders take ${minutes(hoursOfCopy(smallTenant, copyUnits))} and ${millions(largeTenant)} million ${hours(hoursOfCopy(largeTenant, copyUnits))}. Nobody writes meanwhile.

1. Create the tenant in the profile of the new cell: \`storage.shards\` with at least the same number of reads. Connect its
   accounts there with \`npx commerce tenants connect\`, former ones first.
   Create its users there with \`npx commerce users set\`; nobody can export their passwords, so each resets it.
2. Announce the window. Requests that are repeated after it with an idempotency key from before it create a second effect, because
   idempotency records stay behind. Or stop writes \`idempotency.lifetimeHours\` before it.
3. Lower the life of the DNS record. Block the tenant in both cells:
   \`npx commerce tenants block acme --stack commerce-prod\`. Wait a minute, and until its imports and refunds have ended and the
   relay has published its events.
4. Copy all partitions of the tenant, audit and legal holds included, without the attribute \`outbox\`: its events are published
   already. Copy the items of \`entities\` in \`shared/platform/table/keys.ts\` with a condition on absence, so that the copy can be
   repeated. Ids hold their shard, so keys stay the same. API keys stay valid: they are stored as hashes without a secret.
   Hashes of e-mail addresses and user ids are keyed with \`HashesSecret\`: customers and carts are found again only
   if both cells have the same one.
   Leave out its subscribers and their deliveries: each cell seals their secrets. Register them in the new cell with
   \`npx commerce subscribers create\` before step 7.
5. Compare: the number of items of each partition, and \`npx commerce refunds reconcile\` in the new cell without a difference.
6. Move the custom domain and the DNS record, and point senders of webhooks at the new cell.
7. Unblock the tenant in the new cell, and place a test order. It stays blocked in the old one.
8. After \`webhooks.inboxDays\`, purge it in the old cell: \`npx commerce tenants purge acme --stack commerce-prod\`.
   A legal hold refuses that, and its copy in the new cell stands as well: release it in the old cell only if the backups there need not be kept.

Until step 7, the way back is to unblock the tenant in the old cell. After it, a move back is another move.

Assumed are ${assumed.milliseconds} ms of Lambda for a request and ${assumed.orderEvents} events for an order.
`
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function millions(value: number): string {
  return count(value / 1e6)
}

function minutes(hours: number): string {
  return `${count(hours * 60)} minutes`
}

function hours(value: number): string {
  return `${count(value)} hours`
}
