import {
  type DeliveredEvent,
  type Delivery,
  deliveryTransitions,
  resendDelivery,
  skipDelivery,
} from '#shared/deliveries/delivery.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import type { KeyName } from '#shared/platform/base/secrets.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Write } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { newSecret, openSecret, sealSecret } from '#shared/subscribers/signing-secret.ts'
import {
  asSubscriber,
  changeSubscriber,
  createSubscriber,
  deleteSubscriber,
  moveSubscriber,
  rotateSecret,
  type Subscriber,
  subscriberTransitions,
} from '#shared/subscribers/subscriber.ts'
import { idAt } from '#test/support/ids.ts'
import { localSettings } from '#test/support/settings.ts'
import {
  checkCalls,
  checkDeliveries,
  type DeliveryHistory,
  type SubscriberHistory,
  storedDeliveries,
} from './delivery-oracles.ts'
import { type Behavior, DeliveryWorld } from './delivery-world.ts'
import { type FaultKind, type Faults, faultKinds } from './process.ts'
import type { Random } from './random.ts'
import { Violation } from './violation.ts'
import { tenants } from './workload.ts'
import type { World } from './world.ts'

/** Short pauses, one of which is longer than a message can wait. A rotated secret ends within a schedule. */
const settings: Settings = {
  ...localSettings,
  'deliveries.schedule': { retriesAfterSeconds: [5, 60, 1200], jitter: 0.1, maxRetryAfterSeconds: 60 },
  'deliveries.senders': 20,
  'subscribers.secretOverlapSeconds': 300,
}

const patterns = [['*'], ['*'], ['order.*'], ['order.placed', 'refund.*']]
const types = ['order.created', 'order.placed', 'order.paid', 'refund.succeeded', 'otp.delivered']
const behaviors: readonly Behavior[] = ['fine', 'slow', 'hangs', 'fails', 'refuses', 'busy', 'gone']
const maxRounds = 400

/**
 * At the end of some schedules, the events of the schedule and some more reach subscribers that are slow, dead, flapping,
 * paused, disabled, deleted, or whose secrets rotate. Its random numbers and its table are its own, so it moves no other seed.
 */
export async function deliverEvents({
  scheduler,
  random: parent,
  faults: earlier,
  published,
  accesses,
}: World): Promise<void> {
  const random = parent.fork('deliveries')
  if (!random.chance(0.1)) return

  const faults: Faults = { ...earlier, rates: ratesOf(random), active: true }
  const world = new DeliveryWorld({ scheduler, random, faults, settings, accesses })
  const history: DeliveryHistory = { settings, events: [], subscribers: new Map() }
  const operator = new SubscriberOperator(world, history)
  for (const tenant of tenants) {
    const count = 1 + random.int(2)
    for (let n = 0; n < count; n += 1) await operator.create(tenant)
  }
  const window = random.pick([2000, 60_000, 600_000])
  const made = Array.from({ length: 4 + random.int(12) }, (_, n) => eventOf(n, random, scheduler.now))
  const relayed = published.slice(0, 20).map((event) => ({ ...event, data: { ...event.data } }))
  for (const event of [...made, ...relayed]) {
    scheduler.after(random.next() * window, () => {
      history.events.push({ event, at: scheduler.now })
      world.publish(event)
    })
  }
  const acts = Array.from({ length: random.int(10) }, async () => {
    await scheduler.sleep(random.next() * window * 1.5)
    await operator.act()
  })
  await Promise.all(acts)
  await scheduler.sleep(window)
  faults.active = false
  await operator.repair()
  await settleDeliveries(world, () => [])
  world.redrive()
  await settleDeliveries(world, () => unfinished(world, history))
  world.stopped = true
  checkCalls(world, history)
  checkDeliveries(world, history)
}

function ratesOf(random: Random): Faults['rates'] {
  const chosen = faultKinds.filter(() => random.chance(0.4))
  return Object.fromEntries(chosen.map((kind): [FaultKind, number] => [kind, random.pick([0.02, 0.06])]))
}

function eventOf(number: number, random: Random, now: number): DeliveredEvent {
  return {
    event_id: `event-${number}`,
    type: random.pick(types),
    version: 1,
    occurred_at: timestamp(Math.floor(now)),
    source: 'commerce-api',
    correlation_id: `request-${number}`,
    data: { id: `item-${number}`, tenant_id: random.pick(tenants) },
  }
}

/** Waits until no message is left, and nothing else either. */
export async function settleDeliveries(
  world: DeliveryWorld,
  others: () => readonly Delivery[],
): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    await world.scheduler.sleep(61_000)
    if (world.busy === 0 && others().length === 0) return
  }
  const left = others().map(({ sk, state, attempted }) => `${sk} ${state} ${attempted}`)
  throw new Violation('no delivery waits forever', `${world.busy} messages, ${left.join(', ')}`)
}

/** Returns the deliveries that have not ended, and wait for no operator. */
function unfinished({ store }: DeliveryWorld, { subscribers }: DeliveryHistory): Delivery[] {
  return storedDeliveries(store).filter(({ subscriber_id, state }) => {
    const { subscriber } = subscribers.get(subscriber_id) ?? {}
    const current = subscriber && store.get(keyOf(subscriber.tenant_id, 'subscriber', subscriber.id))
    return current?.state === 'active' && (state === 'waiting' || state === 'suspended')
  })
}

/** What operators and tenants do to subscribers. */
export class SubscriberOperator {
  readonly #world: DeliveryWorld
  readonly #history: DeliveryHistory

  constructor(world: DeliveryWorld, history: DeliveryHistory) {
    this.#world = world
    this.#history = history
  }

  async create(tenant: string): Promise<void> {
    const { random, scheduler, behaviors: known } = this.#world
    const randomBytes = (length: number) => random.bytes(length)
    const at = timestamp(Math.floor(scheduler.now))
    const id = idAt(Math.floor(scheduler.now), randomBytes)
    const secret = newSecret(randomBytes)
    const sealed = await sealSecret(secret, { id, tenant_id: tenant }, this.#context())
    const subscriber: Subscriber = {
      ...{ id, tenant_id: tenant, url: `https://${id}.example/hook`, events: random.pick(patterns) },
      ...{ state: 'active', secrets: [{ sealed }], created_at: at, updated_at: at },
    }
    this.#write(createSubscriber(subscriber))
    known.set(id, random.pick(behaviors))
    const secrets = [{ text: secret, from: Date.parse(at), until: Number.POSITIVE_INFINITY }]
    this.#history.subscribers.set(id, { subscriber, secrets, touched: new Set(), resent: new Map() })
  }

  async act(): Promise<void> {
    const { random, behaviors: known, scheduler } = this.#world
    const history = random.pick([...this.#history.subscribers.values()])
    const { tenant_id, id } = history.subscriber
    const subscriber = this.#current(id, tenant_id)
    const act = random.pick([
      'behave',
      'behave',
      'pause',
      'resume',
      'resume',
      'delete',
      'rotate',
      'version',
      'resend',
      'skip',
      'create',
      'block',
      'unblock',
    ])
    scheduler.note('operator', `${act} ${id}`)
    if (act === 'behave') known.set(id, random.pick(behaviors))
    if (act === 'block') this.#world.blocked.add(tenant_id)
    if (act === 'unblock') this.#world.blocked.delete(tenant_id)
    if (act === 'create') await this.create(tenant_id)
    if (act === 'version') await this.#rotateVersion()
    if (!subscriber) return
    const now = Math.floor(scheduler.now)
    if ((act === 'pause' || act === 'resume') && subscriberTransitions.allows(act, subscriber.state))
      this.#write([moveSubscriber(subscriber, act, { now })])
    if (act === 'delete' && random.chance(0.5)) this.#write(deleteSubscriber(subscriber))
    if (act === 'rotate') await this.#rotateSecret(subscriber, history)
    if (act === 'resend' || act === 'skip') this.#touch(act, history)
  }

  /** At the end, most subscribers work again, and some stay paused or dead. */
  async repair(): Promise<void> {
    this.#world.blocked.clear()
    const { random, behaviors: known, scheduler } = this.#world
    for (const {
      subscriber: { id, tenant_id },
    } of this.#history.subscribers.values()) {
      known.set(id, random.pick<Behavior>(['fine', 'fine', 'slow', 'fails']))
      const subscriber = this.#current(id, tenant_id)
      if (!subscriber || subscriber.state === 'active' || random.chance(0.3)) continue
      this.#write([moveSubscriber(subscriber, 'resume', { now: Math.floor(scheduler.now) })])
    }
  }

  /** The key of the secrets gets a version, and every subscriber's secrets are encrypted again, as by the command. */
  async #rotateVersion(): Promise<void> {
    const world = this.#world
    world.secretVersion = `v${Number(world.secretVersion.slice(1)) + 1}`
    for (const {
      subscriber: { id, tenant_id },
    } of this.#history.subscribers.values()) {
      const subscriber = this.#current(id, tenant_id)
      if (!subscriber || world.random.chance(0.3)) continue
      const secrets = await Promise.all(
        subscriber.secrets.map(async ({ sealed, ...others }) => {
          const text = await openSecret(sealed, subscriber, this.#context())
          return { sealed: await sealSecret(text, subscriber, this.#context()), ...others }
        }),
      )
      this.#write([changeSubscriber(subscriber, { secrets }, Math.floor(world.scheduler.now))])
    }
  }

  async #rotateSecret(subscriber: Subscriber, { secrets }: SubscriberHistory): Promise<void> {
    const { random, scheduler } = this.#world
    const text = newSecret((length) => random.bytes(length))
    const sealed = await sealSecret(text, subscriber, this.#context())
    const now = Math.floor(scheduler.now)
    this.#write([rotateSecret(subscriber, sealed, { now, settings })])
    const until = now + settings['subscribers.secretOverlapSeconds'] * 1000
    for (const one of secrets) one.until = Math.min(one.until, until)
    const { updated_at = '' } = this.#current(subscriber.id, subscriber.tenant_id) ?? {}
    secrets.push({ text, from: Date.parse(updated_at), until: Number.POSITIVE_INFINITY })
  }

  #touch(
    act: 'resend' | 'skip',
    { subscriber: { id, tenant_id }, touched, resent }: SubscriberHistory,
  ): void {
    const { store, random } = this.#world
    const own = storedDeliveries(store).filter(
      ({ subscriber_id, state }) => subscriber_id === id && deliveryTransitions.allows(act, state),
    )
    if (own.length === 0) return
    const delivery = random.pick(own)
    touched.add(delivery.event_id)
    // A call in progress is not recorded after a skip. After a resend, its number is.
    this.#world.addCopy(JSON.stringify({ subscriber: id, delivery: delivery.sk }))
    if (act === 'skip')
      return void store.transact(skipDelivery(tenant_id, delivery), random.bytes(8).toString())
    resent.set(delivery.event_id, this.#world.scheduler.now)
    const { changes, message } = resendDelivery(tenant_id, delivery, {
      clock: this.#world.faultlessClock,
      settings,
    })
    store.transact(changes, random.bytes(8).toString())
    // The command may be stopped before it sends the message.
    if (random.chance(0.7)) this.#world.enqueue('deliveries', JSON.stringify(message))
  }

  #current(id: string, tenant: string): Subscriber | undefined {
    const item = this.#world.store.get(keyOf(tenant, 'subscriber', id))
    return item && asSubscriber(item)
  }

  #write(writes: readonly Write[]): void {
    const { store, random } = this.#world
    store.transact(writes, random.bytes(8).toString())
  }

  #context() {
    const world = this.#world
    return {
      versionedKey: (name: KeyName, version?: string) => world.versionedKey(name, version),
      clock: world.faultlessClock,
    }
  }
}
