import { setHold } from '#bin/commands/holds/legal-holds.ts'
import { blockTenant } from '#bin/commands/tenants/block-tenant.ts'
import { connectAccount } from '#bin/commands/tenants/connect-account.ts'
import { version } from '#bin/describe/version.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { type Entity, type Item, keyOf, ownerOf } from '#shared/platform/table/keys.ts'
import { asSubscriber, moveSubscriber } from '#shared/subscribers/subscriber.ts'
import { importStates, stepOf } from '#test/imports/import-states.ts'
import { runMachine } from '#test/imports/run-machine.ts'
import { Client, epoch, type History, newHistory } from '#test/simulation/client.ts'
import type { DeliveryHistory } from '#test/simulation/delivery-oracles.ts'
import { SubscriberOperator, settleDeliveries } from '#test/simulation/delivery-schedule.ts'
import { DeliveryWorld } from '#test/simulation/delivery-world.ts'
import { addApiKey, operatorOf } from '#test/simulation/operator.ts'
import type { Faults } from '#test/simulation/process.ts'
import { sendReports } from '#test/simulation/provider-events.ts'
import { Random } from '#test/simulation/random.ts'
import { settle } from '#test/simulation/schedule.ts'
import { Scheduler } from '#test/simulation/scheduler.ts'
import { type ActName, acts, tenants } from '#test/simulation/workload.ts'
import { World } from '#test/simulation/world.ts'
import { localSettings as settings } from '#test/support/settings.ts'
import {
  exported,
  responseOf,
  type StoredData,
  type StoredRequest,
  serviceOn,
  type WaitingMessage,
} from './stored-data.ts'
import { effectsOf, reconciliationsOf } from './stored-messages.ts'

const rounds = 4
/** More than it takes until each queue has a message. */
const maxClients = 60
const [tenant] = tenants

/**
 * Returns what this version stores after everything that clients and operators do, with its responses.
 * @param seed other seeds do the same with other values. This one leaves almost every kind of item.
 */
export async function writeRelease(seed = 20): Promise<StoredData> {
  const scheduler = new Scheduler(epoch, false)
  const random = new Random(seed)
  const faults: Faults = { rates: {}, spared: new Set(), active: false, injected: [] }
  const parts = { scheduler, random, faults, settings, accesses: new Map() }
  const world = new World(parts)
  const deliveries = new DeliveryWorld({ ...parts, random: random.fork('deliveries') })
  const history = newHistory()
  const deliveryHistory: DeliveryHistory = { settings, events: [], subscribers: new Map() }
  const received: WaitingMessage[] = []
  await scheduler.runUntil(story(world, deliveries, { history, deliveryHistory, received }))

  const items = [...world.store.all(), ...deliveries.store.all()]
  const files = [...world.files.files].map(([name, { bytes, mediaType }]) => [
    name,
    { text: bytes.toString(), mediaType },
  ])
  const data = { at: Math.ceil(scheduler.now), items: exported(items), files: Object.fromEntries(files) }
  const service = await serviceOn(data)
  const exchanges: StoredData['exchanges'] = []
  for (const request of [...repeated(history), ...readsOf(items), ...usesOf(items, history)]) {
    const response = await responseOf(service, request)
    exchanges.push({ request, response })
    const { next_cursor } = JSON.parse(response.body ?? '{}')
    if (!next_cursor) continue
    const next = { ...request, path: `${request.path}&cursor=${next_cursor}` }
    exchanges.push({ request: next, response: await responseOf(service, next) })
  }
  const subscribers = [...deliveryHistory.subscribers.values()].map(({ subscriber, secrets }) => ({
    tenant: subscriber.tenant_id,
    id: subscriber.id,
    secret: secrets.at(-1)?.text ?? '',
  }))
  const messages: StoredData['messages'] = []
  for (const message of [...received, ...deliveries.waiting, ...(await reconciliationsOf(data))])
    messages.push({ ...message, effects: await effectsOf(data, message) })
  return { version, ...data, exchanges, subscribers, messages }
}

interface Histories {
  history: History
  deliveryHistory: DeliveryHistory
  received: WaitingMessage[]
}

async function story(
  world: World,
  deliveries: DeliveryWorld,
  { history, deliveryHistory, received }: Histories,
): Promise<void> {
  for (const one of tenants) addApiKey(world, history, one)
  sendReports(world, history)
  world.start()
  for (let round = 1; round <= rounds; round += 1) {
    for (const act of Object.keys(acts) as ActName[])
      await acts[act](new Client(`${act}-${round}`, world, history))
  }
  await deliver(deliveries, deliveryHistory)
  await settle(world)
  received.push(...(await leaveWaiting(world, history)))
  const operator = operatorOf(world, world.random)
  const code = world.store.all().find(({ pk }) => isOf(pk, 'code', tenant))
  await setHold(operator, { tenant, target: `code/${code?.sk}`, reason: 'case 4711' })
  await blockTenant(operator, 'blocked', { force: true })
  await connectAccount(operator, 'connected', 'acct_1')
  // This work has begun and not ended.
  for (const act of ['refund', 'importCustomers'] as const)
    void acts[act](new Client(`unfinished-${act}`, world, history))
  await world.scheduler.sleep(40)
}

/** Lets each queue and each step of an import receive work that it does not handle. @returns what they received */
async function leaveWaiting(world: World, history: History): Promise<WaitingMessage[]> {
  const { stopped, waiting, scheduler } = world
  const received: WaitingMessage[] = []
  async function receive(
    receiver: World['waiting'][number]['receiver'],
    act: (client: Client) => Promise<unknown>,
    form = /^/,
  ) {
    stopped.add(receiver)
    for (let n = 1; n <= maxClients; n += 1) {
      const message = waiting.find((one) => one.receiver === receiver && form.test(one.body))
      if (message) return received.push(message)
      void act(new Client(`waiting-${receiver}-${n}`, world, history))
      await scheduler.sleep(1000)
    }
    throw new Error(`${receiver} has received nothing`)
  }
  for (const step of ['end', 'rows', 'prepare', 'imports'] as const) await receive(step, importFile)
  const { body = '' } = received.find(({ receiver }) => receiver === 'prepare') ?? {}
  // The first step of this run fails, and the last one receives its fault.
  await runMachine(importStates(), JSON.parse(body), {
    async invoke(resource, input) {
      if (stepOf(resource) !== 'end') throw new Error('STEP_FAILED')
      received.push({ receiver: 'end', body: JSON.stringify(input) })
    },
  })
  await receive('mail_events', acts.logIn)
  await receive('mail', acts.logIn)
  await receive('password_resets', acts.resetPassword)
  await receive('webhooks', acts.updateCart, /^event-waiting/)
  await receive('webhooks', acts.refund, /^stripe evt_fit/)
  return received
}

/** Imports a file that no other import has, and does not cancel it. */
function importFile(client: Client): Promise<unknown> {
  return client.send({
    operation: 'imports.create',
    by: { tenant, role: 'Editor', sub: 'importer' },
    method: 'POST',
    path: '/imports',
    headers: { 'Content-Type': 'text/csv' },
    body: `email,name\n${client.name}@private.example,Person`,
    key: client.name,
  })
}

/** An event reaches one subscriber, another one fails, and one is paused. */
async function deliver(world: DeliveryWorld, history: DeliveryHistory): Promise<void> {
  const operator = new SubscriberOperator(world, history)
  for (const behavior of ['fine', 'fails', 'fine'] as const) {
    await operator.create(tenant)
    world.behaviors.set(lastOf(world), behavior)
  }
  const paused = asSubscriber(world.store.get(keyOf(tenant, 'subscriber', lastOf(world))) as Item)
  world.store.transact([moveSubscriber(paused, 'pause', { now: world.scheduler.now })], 'pause')
  const publish = (event_id: string) =>
    world.publish({
      event_id,
      type: 'order.placed',
      version: 1,
      occurred_at: timestamp(world.scheduler.now),
      source: 'commerce-api',
      correlation_id: 'request-1',
      data: { id: 'order-1', tenant_id: tenant },
    })
  // A retry waits, then a first attempt, then an event.
  const [first = ''] = world.behaviors.keys()
  world.behaviors.set(first, 'fails')
  const left: (typeof world.isLeft)[] = [
    (_, body) => JSON.parse(body).attempt > 1,
    (queue) => queue === 'deliveries',
    () => true,
  ]
  for (const [n, isLeft] of left.entries()) {
    world.isLeft = isLeft
    publish(`waiting-${n}`)
    await world.scheduler.sleep(1000)
  }
  world.isLeft = () => false
  world.behaviors.set(first, 'fine')
  publish('event-1')
  await settleDeliveries(world, () => [])
}

const lastOf = ({ behaviors }: DeliveryWorld): string => [...behaviors.keys()].at(-1) ?? ''

/** Returns the requests whose responses are stored. */
function repeated({ intents, apiKeys }: History): StoredRequest[] {
  const stored = intents.filter(({ answers }) => answers.some(({ headers }) => headers['Idempotency-Status']))
  return stored.map(({ by, method, path, headers, key = '', body }) => ({
    ...(by && by.role !== 'Service' && { as: { ...by, scope: 'codes:read codes:write' } }),
    method,
    path,
    headers: {
      'Idempotency-Key': key,
      ...(by?.role === 'Service' && { 'X-Api-Key': apiKeys.get(by.tenant) ?? '' }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  }))
}

const paths: Record<string, string> = {
  order: '/v1/orders',
  refund: '/v1/refunds',
  code: '/codes',
  operation: '/operations',
}

/** Returns requests that read each of these items that a caller can read, and the lists. */
function readsOf(items: readonly Item[]): StoredRequest[] {
  const read = (of: string, path: string): StoredRequest => {
    const as = { tenant: of, role: 'Admin', sub: 'reader', scope: 'codes:read' }
    return { as, method: 'GET', path, headers: {} }
  }
  const single = items.flatMap(({ pk, sk }) => {
    const { kind: entity, tenant: of } = ownerOf(pk)
    const path = paths[entity]
    return path ? [read(of, `${path}/${sk}`)] : []
  })
  const lists = ['/v1/orders?page_size=2', '/codes?page_size=2', '/codes?sort=code.asc&page_size=2']
  return [...single, ...tenants.flatMap((of) => lists.map((path) => read(of, path)))]
}

/** Returns new requests whose responses depend on items that no request reads: each would be another without its item. */
function usesOf(items: readonly Item[], { intents }: History): StoredRequest[] {
  const verify = (code: unknown, headers: Record<string, string>) => ({
    method: 'POST',
    path: '/discount/verify',
    headers,
    body: { code },
  })
  const admin = (of: string) => ({ as: { tenant: of, role: 'Admin', sub: 'user', scope: 'codes:write' } })
  const sessions = intents
    .filter(({ operation }) => operation === 'otp.verify')
    .flatMap(({ answers }) => answers.flatMap(({ cookies = [] }) => (cookies.length > 0 ? [cookies] : [])))
    .map((cookies, n) => {
      const Cookie = cookies.map((cookie) => cookie.split(';')[0]).join('; ')
      const [, token = ''] = /csrf_token=([^;]*)/.exec(Cookie) ?? []
      return verify('UNKNOWN', { Cookie, 'X-CSRF-Token': token, 'Idempotency-Key': `session-${n}` })
    })
  const discounts = items
    .filter(({ pk, amount_minor }) => ownerOf(pk).kind === 'cart' && Number(amount_minor) > 0)
    .flatMap(({ pk, cart_id }, n) => {
      const { tenant: of } = ownerOf(pk)
      const code = items.find(
        (one) => isOf(one.pk, 'code', of) && one.state === 'active' && !one.soft_deleted,
      )
      const headers = { 'X-Cart-Id': String(cart_id), 'Idempotency-Key': `cart-${n}` }
      return code ? [{ ...admin(of), ...verify(code.code, headers) }] : []
    })
  const held = items.find(({ pk, target }) => ownerOf(pk).kind === 'legal_hold' && target !== undefined)
  const deletion = {
    ...admin(tenant),
    method: 'DELETE',
    path: `/codes/${String(held?.target).split('/')[1]}?force=true`,
    headers: { 'X-Audit-Log-Reason': 'a mistake' },
  }
  const blocked = { ...admin('blocked'), method: 'GET', path: '/v1/orders', headers: {} }
  return [...sessions, ...discounts, deletion, blocked]
}

function isOf(pk: string, kind: Entity, of: string): boolean {
  const owner = ownerOf(pk)
  return owner.kind === kind && owner.tenant === of
}
