import type { CartDiscount } from '#shared/carts/cart.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { ownerOf } from '#shared/platform/table/keys.ts'
import type { WebhookEvent } from '#shared/webhooks/webhook-event.ts'
import { check, type Of, type Stored } from './violation.ts'
import type { World } from './world.ts'

/** The data of an event about a line. */
interface Applied {
  tenant_id: string
  cart_id: string
  code: string
  amount: number
  version: number
}

/** The clocks of the service differ by less. */
const clockMilliseconds = 5000

/** The carts follow the events that were handled, and the bus knows their lines. */
export function checkCarts(world: World, handled: readonly WebhookEvent[], of: Of): void {
  const lines = of('cart_line')
  const codes = new Map(of('code').map((code) => [String(code.id), code]))
  const byCart = Map.groupBy(
    appliedTo(world.published),
    ({ tenant_id, cart_id }) => `${tenant_id} ${cart_id}`,
  )
  for (const cart of of('cart')) {
    const published = byCart.get(`${cart.tenant_id} ${cart.cart_id}`) ?? []
    checkFacts(cart, handled, lines)
    checkCodes(cart, codes, world.scheduler.now)
    checkPublished(cart, published, world)
    checkKept(cart, published, world, [...codes.values()])
  }
}

/** Each fact of a cart follows the latest event that states it, a gift card the first one, the tax the last. */
function checkFacts(cart: Stored, handled: readonly WebhookEvent[], allLines: readonly Stored[]): void {
  const { cart_id, tenant_id, amount_minor, currency, owner } = cart
  const isOwn = ({ data }: WebhookEvent) =>
    data.tenant_id === tenant_id && (data.cart_id ?? data.id) === cart_id
  const events = handled.filter(isOwn)
  const updates = events.filter(({ type }) => type === 'cart.updated')
  const lines = allLines.filter((line) => line.cart_id === cart_id && ownerOf(line.pk).tenant === tenant_id)
  const gifts = events.filter(({ type }) => type === 'giftcard.applied')
  const line = (kind: string) => lines.find((one) => one.kind === kind)
  const expected = {
    amount: updates.findLast(({ data }) => data.amount_minor !== undefined)?.data.amount_minor,
    currency: updates.findLast(({ data }) => data.currency !== undefined)?.data.currency,
    owner: updates.findLast(({ data }) => data.user_id)?.data.user_id,
    gift: gifts[0]?.data.amount,
    tax: events.findLast(({ type }) => type === 'tax.recalculated')?.occurred_at,
  }
  const gift = line('giftcard')?.amount_minor
  const actual = { amount: amount_minor, currency, owner, gift, tax: line('tax')?.occurred_at }
  const show = () =>
    `${cart_id} of ${tenant_id}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`
  check(JSON.stringify(actual) === JSON.stringify(expected), 'handled events count', show)
}

/** Each line is of a code that can be used, and follows the code's own rule. */
function checkCodes(cart: Stored, codes: ReadonlyMap<string, Stored>, now: number): void {
  for (const { code, code_id, rule_id } of linesOf(cart)) {
    const known = codes.get(code_id)
    const isLive = known?.state === 'active' && Date.parse(String(known.expiry_at)) > now - clockMilliseconds
    const show = () => `${code} is ${known?.state} on ${JSON.stringify(cart)}`
    check(isLive && known.type === rule_id, 'a code that has ended leaves its carts', show)
  }
}

/** What was published last about a line is the line, 0 for a code without a line, and a change is published once. */
function checkPublished(cart: Stored, published: readonly Applied[], world: World): void {
  const lines = linesOf(cart)
  for (const code of new Set([...published, ...lines].map(({ code }) => code))) {
    const events = published.filter((one) => one.code === code).toSorted((a, b) => a.version - b.version)
    const last = events.at(-1)
    const line = lines.find((one) => one.code === code)
    const isTrue = last?.amount === (line?.amount_minor ?? 0) && (!line || last.version === line.version)
    const show = () => `${JSON.stringify(events)} of ${JSON.stringify(cart)}`
    check(isTrue, 'what was published last is the line', show)
    const versions = new Set(events.map(({ version }) => version))
    check(versions.size === events.length, 'what was published last is the line', show)
    for (const [at, { amount }] of events.entries()) {
      const isRepeated = at > 0 && amount > 0 && amount === events[at - 1]?.amount
      const isSame = isRepeated && codesOf(code, cart, world).size === 1
      check(!isSame, 'an unchanged line is not published again', show)
    }
  }
}

/** A code that nobody has changed, of a rule that fits every cart, keeps its line. */
function checkKept(
  cart: Stored,
  published: readonly Applied[],
  world: World,
  codes: readonly Stored[],
): void {
  for (const { code: text, amount } of published) {
    if (amount === 0 || linesOf(cart).some(({ code }) => code === text)) continue
    const code = codes.find((one) => one.code === text && one.tenant_id === cart.tenant_id)
    if (code?.version !== 1 || code.type !== 'percent-25') continue
    const isReplaced = codesOf(text, cart, world).size > 1
    check(isReplaced, 'no discount is lost', () => `${text} is not on ${JSON.stringify(cart)}`)
  }
}

/** Returns the ids of all codes that have had a text in the tenant of a cart. */
function codesOf(text: string, { tenant_id }: Stored, { records }: World): Set<unknown> {
  const codes = records.filter(
    ({ after }) => after?.code === text && after.tenant_id === tenant_id && after.id,
  )
  return new Set(codes.map(({ after }) => after?.id))
}

function linesOf(cart: Stored): CartDiscount[] {
  return (cart.discounts ?? []) as CartDiscount[]
}

/** Returns the events about lines, each once. */
function appliedTo(published: readonly PublishedEvent[]): Applied[] {
  const distinct = new Map(published.map((event) => [event.event_id, event]))
  const applied = [...distinct.values()].filter(
    ({ type, version }) => type === 'promo.applied' && version === 1,
  )
  return applied.map(({ data }) => data as unknown as Applied)
}
