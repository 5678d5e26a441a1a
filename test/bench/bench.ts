/** `npm run bench`: what requests cost and how the service compares with the reference, as a Markdown page. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateTableCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { bundle } from '#bin/build/bundle.ts'
import { entryPoints } from '#lib/functions/function-names.ts'
import { orderWrites, placeOrder } from '#shared/orders/order.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import type { Put } from '#shared/platform/table/table.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { startDynamodbLocal } from '#test/support/dynamodb-local.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { profile } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'
import { costsAsMarkdown, measureCosts } from './costs.ts'
import { type DeliveryCost, deliveriesAsMarkdown, deliveryCosts } from './delivery-costs.ts'
import { importsAsMarkdown, measureImports, type RowCost } from './import-costs.ts'
import { type LargeCost, measureLargeTenant } from './large-tenant.ts'
import { httpLatencies, ordersListed, type RouteLatency } from './latencies.ts'
import { asMarkdown, compare, compareWarm, warmAsMarkdown } from './measure.ts'
import type { Cost } from './meter.ts'
import { benchIssuer, orderEvent, readEvent } from './order-event.ts'
import { type Profile, profiles, profilesAsMarkdown } from './profile.ts'
import { bundleReference } from './reference/bundle.ts'
import { type Saving, savings, savingsAsMarkdown } from './savings.ts'

const page = join(import.meta.dirname, 'README.md')
/** The starts of a function that are profiled. */
const starts = 20
const localProfile = 'shared/settings/profiles/local.json'

const dynamodb = process.env.DYNAMODB_ENDPOINT
  ? { endpoint: process.env.DYNAMODB_ENDPOINT, stop: async () => {} }
  : await startDynamodbLocal()
const provider = await startPaymentProvider()
const folder = await mkdtemp(join(tmpdir(), 'commerce-bench-'))
try {
  process.env.DYNAMODB_ENDPOINT = dynamodb.endpoint
  process.env.PAYMENT_PROVIDER_ENDPOINT = provider.endpoint
  console.log('measuring what requests cost …')
  const costs = await measureCosts(dynamodb.endpoint, 25, 400)
  const deliveries = await deliveryCosts(dynamodb.endpoint)
  console.log('measuring a tenant of 100,000 codes …')
  const large = await measureLargeTenant(dynamodb.endpoint, 100_000)
  console.log('importing customers …')
  const imports = await measureImports(dynamodb.endpoint, 10)
  console.log('comparing with the reference …')
  const { comparison, warm, sizes, profiled } = await compareWithReference()
  console.log('measuring latencies over HTTP on the local run …')
  const latencies = await httpLatencies()
  await writeFile(
    page,
    asPage(costs, deliveries, large, imports, comparison, warm, sizes, profiled, await savings(), latencies),
  )
  console.log(`written to ${page}`)
} finally {
  await rm(folder, { recursive: true, force: true })
  await provider.stop()
  await dynamodb.stop()
}

async function compareWithReference() {
  const claims = { tenant: 'acme', roles: ['Editor'] }
  const { keys, sign } = await benchIssuer(claims, 'https://issuer.localhost', 'commerce-api')
  const token = await sign('bench')
  const [issuer] = profile(localProfile)['auth.issuers']
  const settings = JSON.stringify(profile(localProfile, { 'auth.issuers': [{ ...issuer, keys }] }))
  const bundles = await bundle({ entries: entryPoints(), outdir: join(folder, 'ours'), settings })
  const reference = await bundleReference(join(folder, 'reference'))
  const client = testClient(dynamodb.endpoint)
  const tables = { ours: await createTable(client), reference: await createTable(client), keys: 'bench-keys' }
  await client.send(
    new CreateTableCommand({
      TableName: tables.keys,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  )
  const environment = {
    TABLE_NAME: tables.reference,
    IDEMPOTENCY_TABLE_NAME: tables.keys,
    REFERENCE_KEYS: JSON.stringify(keys),
  }
  const event = () => orderEvent(token)
  const comparison = await compare(
    {
      ours: {
        file: join(folder, 'ours/orders.create/index.mjs'),
        environment: { TABLE_NAME: tables.ours },
        event,
      },
      reference: { file: reference, environment, event },
      nodeAlone: { file: join(import.meta.dirname, 'reference/node-alone.mjs'), environment, event },
    },
    dynamodb.endpoint,
  )
  const files = {
    ours: { file: join(folder, 'ours/orders.create/index.mjs'), environment: { TABLE_NAME: tables.ours } },
    reference: { file: reference, environment },
    oneTransaction: {
      file: await bundleReference(join(folder, 'one-transaction'), 'one-transaction.ts'),
      environment,
    },
  }
  const sentAs = (event: () => unknown) => ({
    ours: { ...files.ours, event },
    reference: { ...files.reference, event },
    oneTransaction: { ...files.oneTransaction, event },
  })
  const ways = [
    { title: 'One token', subjects: sentAs(event), calls: 150 },
    {
      title: 'A new token for each call',
      subjects: sentAs(async () => orderEvent(await sign(crypto.randomUUID()))),
      calls: 150,
    },
    { title: 'One token, 2,000 calls in a process', subjects: sentAs(event), calls: 2000 },
  ]
  const warm = await compareWarm(ways, dynamodb.endpoint)
  const order = placeOrder(
    { cart_id: 'cart-1', amount_minor: 1999, currency: 'EUR' },
    newId(systemClock),
    'acme',
    profile(localProfile),
  )
  const { item } = orderWrites(order)[0] as Put
  await client.send(new PutItemCommand({ TableName: tables.ours, Item: marshall(item) }))
  const where = { folder, settings, endpoint: dynamodb.endpoint, tableName: tables.ours }
  const calls = 4000 + starts
  const creates = Array.from({ length: calls }, () => orderEvent(token))
  const reads = Array.from({ length: calls }, () => readEvent(token, order.id))
  const profiled = {
    create: await profiles({ name: 'orders.create', events: creates }, starts, where),
    get: await profiles({ name: 'orders.read', events: reads }, starts, where),
  }
  return {
    comparison,
    warm,
    profiled,
    sizes: Object.entries(bundles).map(([name, { bytes }]) => [name, bytes] as const),
  }
}

function asPage(
  costs: Cost[],
  deliveries: DeliveryCost[],
  large: LargeCost[],
  imports: RowCost[],
  comparison: Parameters<typeof asMarkdown>[0],
  warm: Parameters<typeof warmAsMarkdown>[0],
  sizes: (readonly [string, number])[],
  { create, get }: Record<'create' | 'get', Profile>,
  saved: Saving[],
  latencies: RouteLatency[],
): string {
  const referenceBytes = comparison.reference.bytes
  return `# What requests cost

Written by \`npm run bench\`; do not edit. Milliseconds are those of the machine that ran it and travel badly: the
ratios are of one run, ours and the reference's turn by turn.

${costsAsMarkdown(costs)}
${deliveriesAsMarkdown(deliveries)}
## A tenant of 100,000 codes

One request reads 1,000 items at most and returns what it has with a next_cursor; an export reads pages of as many, and
is too large for an answer here. Growth is that of the whole process, with the file of the export in it.

| Request | Status | Requests | Read units | ms | MB grown |
|---|---|---|---|---|---|
${large.map(({ request, status, requests, readUnits, milliseconds, grownMegabytes }) => `| ${request} | ${status ?? ''} | ${requests} | ${readUnits} | ${milliseconds.toFixed(0)} | ${grownMegabytes.toFixed(0)} |`).join('\n')}

${importsAsMarkdown(imports)}
## Against the reference

The reference (\`reference/handler.ts\`) places an order the usual way: AWS SDK with lib-dynamodb, Powertools logger and
idempotency, middy, valibot and jose, bundled with the same options. Ours does more in one transaction. Node alone
(\`reference/node-alone.mjs\`) loads what every such function loads of Node, verifies one signature and sends one request.

${asMarkdown(comparison)}
The table above sends one token and 150 calls to a process, which remembers the tokens that it has verified. That is a caller who calls again. With a
new token for each call, both verify a signature each time: a shop with many customers. After 2,000 calls V8 has compiled more of the code,
as in a process that has run for minutes. The reference with one transaction (\`reference/one-transaction.ts\`) writes its record and the
order in one request of DynamoDB, as the service does: the ratio to it is the cost of what only the service does. That request also writes
the entry of the order by its cart, which takes DynamoDB Local longer and the processor a little.

${warmAsMarkdown(warm)}
## Where the CPU goes

Shares of the main thread: of the first request with all that is loaded for it, in ${starts} new processes, and of 2,000 warm
calls after 2,000 others. Native code counts for the code that calls it. Under the profiler, loading a bundle takes about
twice as long. The profiler measures by the clock: while DynamoDB Local takes the processor from a thread that writes to
it, the time counts as HTTP and sockets. A create wakes it for longer than a get.

${profilesAsMarkdown({ 'start and create': create.start, 'start and get': get.start, 'warm create': create.warm, 'warm get': get.warm })}

## Bundles

| Function | Bytes | Of the reference |
|---|---|---|
${sizes.map(([name, bytes]) => `| ${name} | ${bytes} | ${(bytes / referenceBytes).toFixed(2)} |`).join('\n')}

${savingsAsMarkdown(saved)}
## Latency over HTTP on the local run

Against the budgets of the contract, through the local gateway and its Lambda workers on one machine, with four
requests at a time. The listed tenant has ${ordersListed} orders: the local engine reads a whole partition for each Query, which
DynamoDB does not (see page 400 above).

| Route | Requests | p50 ms | p95 ms | Budget | p99 ms | Budget | p99 / p95 |
|---|---|---|---|---|---|---|---|
${latencies.map(({ route, requests, p50, p95, p99, budget }) => `| ${route} | ${requests} | ${p50.toFixed(1)} | ${p95.toFixed(1)} | ${budget.p95} | ${p99.toFixed(1)} | ${budget.p99} | ${(p99 / p95).toFixed(2)} |`).join('\n')}
`
}
