import { createApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { sendReset } from '#shared/login/password-reset.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import {
  entities,
  isEntity,
  ownerOf,
  type PendingWork,
  partitionsOf,
  pendingPartitionsOf,
  pendingWork,
} from '#shared/platform/table/keys.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { startImports } from '#test/imports/import-service.ts'
import type { MemoryStore } from '#test/simulation/memory-store.ts'
import { Capacity, partitionUnits } from '#test/simulation/partition-capacity.ts'
import { Random } from '#test/simulation/random.ts'
import { tablesInMemory } from '#test/support/dynamodb-client.ts'
import { clientId, password, userPoolId } from '#test/support/identity-provider/cognito-users.ts'
import {
  startIdentityProvider,
  useIdentityProvider,
} from '#test/support/identity-provider/identity-provider.ts'
import { newEmail, requestedCode, sessionHeaders, verifyCode } from '#test/support/one-time-codes.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { eventContext } from '#test/support/received-events.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import { runDeliveries } from './delivery-costs.ts'

/** The shards of each tenant in the table. */
const shards = 16

type Kind = 'write' | 'read'

/** The request that uses most units of a kind of partition. */
export interface PartitionLoad {
  /** The first part of the partition keys: an entity, or what has partitions of its own. */
  partition: string
  kind: Kind
  request: string
  /** The units of the request in all partitions of the kind, or in one of a single name. */
  units: number
}

const pending = new Set<string>(pendingWork)
/** The first parts of the keys of names. All load of a name is in one partition. */
const named = new Set([
  ...['idempotency', 'inbox', 'mail', 'otp', 'rate'],
  // In one partition, by the subscriber.
  ...['subscriber_health', 'waiting_delivery'],
])

/** Runs requests on a table in memory that counts units, and returns the most expensive ones of each kind of partition. */
export async function partitionLoads(): Promise<PartitionLoad[]> {
  const provider = await startPaymentProvider()
  const identities = await startIdentityProvider()
  useIdentityProvider(identities)
  try {
    return await countRequests(provider.endpoint)
  } finally {
    await identities.stop()
    await provider.stop()
  }
}

async function countRequests(endpoint: string): Promise<PartitionLoad[]> {
  let capacity: Capacity | undefined
  // Ids have the same shards in each run, so lists cost the same.
  const random = new Random(1)
  const clock = {
    ...systemClock,
    jitter: () => random.next(),
    randomBytes: (length: number) => random.bytes(length),
  }
  const service = await startImports({
    settings: profile('shared/settings/profiles/local.json', {
      'refunds.provider': { endpoint, attemptMilliseconds: 10_000 },
      'storage.shards': { default: { writes: shards, reads: shards }, tenants: {} },
    }),
    clock,
    transit: async (call) => (capacity as Capacity).run(call),
  })
  const { runtime, steps } = service
  capacity = new Capacity({
    store: tablesInMemory.get(service.tableName) as MemoryStore,
    now: clock.now,
    // Counted, and never throttled.
    scale: 1e9,
    credit: 0,
  })
  const open = () => runtime.openTable(startBudget(clock, 600_000))
  Object.assign(steps, { table: open(), tableWithin: open })
  const loads: PartitionLoad[] = []
  const { used } = capacity

  async function count<Result>(request: string, work: () => Promise<Result>): Promise<Result> {
    used.clear()
    const result = await work()
    const { status = 200 } = Object(result) as { status?: number }
    if (status >= 500 || [400, 401, 403].includes(status)) throw new Error(`${request}: ${status}`)
    loads.push(...loadsOf(request, used))
    return result
  }

  const editor = { tenant: 'acme', role: 'Editor', scope: 'codes:read codes:write' }
  let keys = 0
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) => {
    keys += 1
    return {
      method: 'POST',
      path,
      as: editor,
      headers: { 'Idempotency-Key': `key-${keys}`, ...headers },
      body,
    }
  }
  const order = { cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' }
  for (let n = 0; n < 40 * shards; n += 1) await service.call(post('/v1/orders', order))
  const { json } = await count('create an order', () => service.call(post('/v1/orders', order)))
  await count('read an order', () => service.call({ path: `/v1/orders/${json.id}`, as: editor }))
  await count('list 25 orders', () => service.call({ path: '/v1/orders?page_size=25', as: editor }))
  await count('search 640 orders for nothing', () =>
    service.call({ path: '/v1/orders?status=paid', as: editor }),
  )
  await count('find the orders of a cart', () =>
    service.call({ path: '/v1/orders?cart_id=unknown', as: editor }),
  )
  await count('read an order of another tenant', () =>
    service.call({ path: `/v1/orders/${json.id}`, as: { ...editor, tenant: 'rival' } }),
  )

  const code = { code: 'TEN', type: 'percent-10', name: 'Ten', expiry_at: '2099-01-01T00:00:00Z' }
  const { json: made } = await count('create a code', () => service.call(post('/codes', code)))
  await count('read a code', () => service.call({ path: `/codes/${made.id}`, as: editor }))
  const refund = { charge_id: 'ch_bench', amount: 100 }
  const { json: refunded } = await count('refund a charge', () => service.call(post('/v1/refunds', refund)))
  await count('read a refund', () => service.call({ path: `/v1/refunds/${refunded.id}`, as: editor }))

  const event = eventOf('cart.updated', { id: 'c', tenant_id: 'acme', amount_minor: 5000, currency: 'EUR' })
  const body = JSON.stringify(event)
  await count('receive and handle an event', async () => {
    await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
    await handleEvent(event.event_id, eventContext(runtime, open()))
  })
  const verify = (text: string) => post('/discount/verify', { code: text }, { 'X-Cart-Id': 'c' })
  await count('verify a discount', () => service.call(verify('TEN')))
  await count('verify an unknown code', () => service.call(verify('NONE')))

  const operator = { table: service.table, clock, operator: { id: 'bench' } } as never
  const { key } = await createApiKey(operator, { tenant: 'acme', name: 'bench', scopes: ['orders:read'] })
  const headers = { 'X-Api-Key': key }
  await count('read an order with an API key', () => service.call({ path: `/v1/orders/${json.id}`, headers }))

  const credentials = { email: 'jane@acme.example', password }
  await count('log in', () => service.call({ method: 'POST', path: '/login', body: credentials }))
  await count('reset a password', async () => {
    const { email } = credentials
    const asked = await service.call({ method: 'POST', path: '/password/reset', body: { email } })
    await sendReset(asked.json.message_id, cognitoProvider({ userPoolId, clientId }, service.settings), {
      ...runtime,
      table: open(),
      budget: startBudget(clock, 600_000),
      now: clock.now,
    })
  })
  const email = newEmail()
  const digits = await count('request a one-time code', () => requestedCode(service, email))
  const verified = await count('verify a one-time code', () => verifyCode(service, email, digits))
  await count('verify a discount with a session', () =>
    service.call({
      ...post('/discount/verify', { code: 'TEN' }, sessionHeaders(service, verified)),
      as: undefined as never,
    }),
  )
  await count('import a customer', async () => {
    const { json: started } = await service.upload('acme', 'email\njane@example.com\n')
    await service.run('acme', started.operation_id)
  })
  await runDeliveries(service, open, count)
  return mostExpensive(loads)
}

/** Returns the units of a request by the first part of the partition keys. */
function loadsOf(request: string, used: ReadonlyMap<string, number>): PartitionLoad[] {
  const entries = [...used].map(([capacity, units]) => {
    const [kind = '', pk = ''] = capacity.split(' ')
    return { kind: kind as Kind, partition: ownerOf(pk).kind, units }
  })
  return [...Map.groupBy(entries, ({ kind, partition }) => `${kind} ${partition}`).values()].flatMap((of) => {
    const [{ kind, partition } = { kind: 'read' as const, partition: '' }] = of
    const all = of.map(({ units }) => units)
    // A partition of a name stands alone; the others share the load.
    const units = named.has(partition) ? Math.max(...all) : all.reduce((one, other) => one + other, 0)
    return { partition, kind, request, units }
  })
}

/** Returns the request with the most units of each kind of partition and of unit, by name. Ids of the index are left out. */
function mostExpensive(loads: readonly PartitionLoad[]): PartitionLoad[] {
  const known = loads.filter(
    ({ partition }) => isEntity(partition) || pending.has(partition) || named.has(partition),
  )
  const groups = Map.groupBy(known, ({ partition, kind }) => `${partition} ${kind === 'write' ? 0 : 1}`)
  return [...groups]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, group]) => group.reduce((most, one) => (one.units > most.units ? one : most)))
}

/** Returns how many requests a second the partitions of a tenant take; undefined for partitions of single names. */
export function ceilingOf({ partition, kind, units }: PartitionLoad): number | undefined {
  const count = countOf(partition)
  return count && Math.floor((count * partitionUnits[kind]) / units)
}

/** Returns the number of partitions of a tenant, or of all tenants if they share them. */
function countOf(partition: string): number | undefined {
  if (pending.has(partition)) return pendingPartitionsOf(partition as PendingWork).length
  return isEntity(partition) && !named.has(partition)
    ? partitionsOf('t', partition, shards).length
    : undefined
}

/** The units a second that AWS allows a table by default. Partitions that together take more never are the limit. */
const tableUnits = 40_000

/** Replaces the table of partitions in a page. Those of single names and those that never are the limit are left out. */
export function withPartitions(markdown: string, loads: readonly PartitionLoad[]): string {
  const head = ['Partition', 'Number', 'Request', 'Units', 'Requests a second']
  const rows = loads.flatMap((load) => {
    const { partition, kind, request, units } = load
    const most = ceilingOf(load)
    if (most === undefined || most * units >= tableUnits) return []
    return [[`\`${partition}\``, numberText(partition), request, `${units} ${kind}`, format(most)]]
  })
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  const text = ['<!-- partitions -->', ...lines, '<!-- /partitions -->'].join('\n')
  return markdown.replace(/<!-- partitions -->[\s\S]*<!-- \/partitions -->/, () => text)
}

function numberText(partition: string): string {
  if (pending.has(partition)) return `${countOf(partition)} of all tenants`
  return isEntity(partition) && entities[partition] === 'shard'
    ? `${shards} shards`
    : String(countOf(partition))
}

const format = (number: number) => number.toLocaleString('en-US')
