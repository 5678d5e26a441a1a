import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { keyOf } from '#shared/platform/table/keys.ts'
import { outcome } from '#test/support/outcome.ts'
import { runs } from '#test/support/runs.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { newMemoryTable } from '#test/support/tables.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { discountCalls, publishedLines } from './discount-calls.ts'

const maxCodes = 3
const settings = { ...localSettings, 'discount.combination': { maxCodes } }
const service = await startService({ settings, tableName: newMemoryTable() })
const calls = discountCalls(service)
const onCart = { 'X-Cart-Id': 'c1' }

const texts = ['A', 'B', 'C', 'D'] as const
const types = ['percent-10', 'percent-25', 'fixed-500'] as const
type Text = (typeof texts)[number]
type Type = (typeof types)[number]

/** How a code ends, as changes of its item, and how it returns. */
const endings = {
  deleted: { state: 'soft_deleted', soft_deleted: true },
  archived: { state: 'archived' },
  expired: { expiry_at: '2020-01-01T00:00:00.000Z' },
}
const usable = { state: 'active', soft_deleted: false, expiry_at: '2099-01-01T00:00:00.000Z' }

interface ModelCode {
  id: string
  type: Type
  isUsable: boolean
}
interface ModelLine {
  text: Text
  code: ModelCode
  amount: number
}

/** A cart and the codes of its tenant. A code that ended leaves the cart when the cart changes. */
class Model {
  codes = new Map<Text, ModelCode>()
  lines: ModelLine[] = []
  amount = 0
  currency = 'EUR'
  hasGiftCard = false

  /** Computes the lines again. @returns what is published */
  change(lines: readonly Omit<ModelLine, 'amount'>[] = this.lines): string[] {
    const before = this.lines
    let left = this.amount
    this.lines = lines
      .filter(({ text, code }) => this.codes.get(text) === code && code.isUsable)
      .filter(({ code }) => code.type !== 'fixed-500' || this.currency === 'EUR')
      .map(({ text, code }) => {
        const amount = Math.min(left, ruled(code.type, this.amount))
        left -= amount
        return { text, code, amount }
      })
    const known = new Map(before.map((line) => [line.text, line]))
    const changed = this.lines.filter(({ text, code, amount }) => {
      const line = known.get(text)
      return line?.amount !== amount || line.code !== code
    })
    const kept = new Set(this.lines.map(({ text }) => text))
    const ended = before.filter(({ text, amount }) => amount > 0 && !kept.has(text))
    return [
      ...ended.map(({ text }) => `${text} 0`),
      ...changed.map(({ text, amount }) => `${text} ${amount}`),
    ]
  }

  /** @returns the response, and what is published */
  verify(text: Text): [answer: string, published: string[]] {
    const code = this.codes.get(text)
    const others = this.lines.filter((line) => line.text !== text)
    if (!code?.isUsable) return ['200 not applied', this.change(others)]
    const present = others.filter((line) => this.codes.get(line.text) === line.code && line.code.isUsable)
    if (present.length >= maxCodes || (this.hasGiftCard && code.type === 'percent-10'))
      return ['409 CONFLICT.code.not_combinable', this.change(others)]
    const isOnCart = this.lines.some((line) => line.text === text && line.code === code)
    const published = this.change(isOnCart ? this.lines : [...others, { text, code }])
    const line = this.lines.find((one) => one.text === text)
    return [line ? `200 ${line.amount}` : '200 not applied', published]
  }
}

/** Returns a type's share of an amount, rounded half to even, in whole numbers only. */
function ruled(type: Type, amount: number): number {
  if (type === 'fixed-500') return 500
  const hundredths = amount * (type === 'percent-10' ? 10 : 25)
  const whole = Math.floor(hundredths / 100)
  const rest = hundredths % 100
  return rest > 50 || (rest === 50 && whole % 2 === 1) ? whole + 1 : whole
}

const text = fc.constantFrom(...texts)
const steps = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('verify' as const), text }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('cart' as const),
      amount: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1200 })),
      currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'JPY'),
      delivery: fc.constantFrom('once' as const, 'twice' as const, 'late' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      text,
      how: fc.constantFrom('deleted' as const, 'archived' as const, 'expired' as const, 'removed' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('make' as const), text, type: fc.constantFrom(...types) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'gift' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'replay' as const }) },
)
type Step = typeof steps extends fc.Arbitrary<infer One> ? One : never

/** Plays steps against the service and the model in a tenant of their own. */
class Run {
  readonly tenant = uniqueTenant('model')
  readonly model = new Model()
  #at = Date.now()
  #last: { text: Text; key: string; body: string } | undefined
  #verified = 0

  async start(): Promise<void> {
    for (const [at, one] of texts.entries()) await this.#make(one, types[at % types.length] as Type)
    await this.play({ kind: 'cart', amount: 900, currency: 'EUR', delivery: 'once' })
  }

  /** @returns what the model publishes */
  async play(step: Step): Promise<string[]> {
    switch (step.kind) {
      case 'verify':
        return this.#verify(step.text)
      case 'cart':
        return this.#cart(step)
      case 'end':
        return this.#end(step.text, step.how)
      case 'make':
        return this.#make(step.text, step.type)
      case 'gift':
        this.model.hasGiftCard = true
        await this.#sendEvent('giftcard.applied', { giftcard_id: 'g1', amount: 1 })
        return []
      case 'replay':
        return this.#replay()
    }
  }

  async #verify(one: Text): Promise<string[]> {
    const key = `verify-${this.#verified++}`
    const [expected, published] = this.model.verify(one)
    const answer = await this.#send(one, key)
    const { applied, amount } = answer.json
    const actual = applied === undefined ? outcome(answer) : `200 ${applied ? amount : 'not applied'}`
    expect(actual).toBe(expected)
    this.#last = { text: one, key, body: String(answer.body) }
    return published
  }

  /** A repeated request gets the response of the first one, except for the correlation id of an error. */
  async #replay(): Promise<string[]> {
    if (!this.#last) return []
    const { text: one, key, body } = this.#last
    const { body: replayed, headers } = await this.#send(one, key)
    expect(headers['Idempotency-Status']).toBe('replayed')
    expect(JSON.parse(String(replayed)).amount).toBe(JSON.parse(body).amount)
    return []
  }

  #send(one: Text, key: string) {
    return calls.verify(this.tenant, one, { ...onCart, 'Idempotency-Key': key }, { sub: key })
  }

  async #cart({ amount, currency, delivery }: Step & { kind: 'cart' }): Promise<string[]> {
    const event = { amount_minor: amount, currency }
    const isLate = delivery === 'late'
    const more = {
      event_id: crypto.randomUUID(),
      occurred_at: new Date(isLate ? this.#at - 1 : ++this.#at).toISOString(),
    }
    for (let times = delivery === 'twice' ? 2 : 1; times > 0; times -= 1)
      await this.#sendEvent('cart.updated', event, more)
    if (isLate) return []
    Object.assign(this.model, { amount, currency })
    return this.model.change()
  }

  #sendEvent(type: string, data: object, more: object = {}) {
    return calls.sendEvent(type, { id: 'c1', tenant_id: this.tenant, ...data }, more)
  }

  async #end(one: Text, how: keyof typeof endings | 'removed'): Promise<string[]> {
    const code = this.model.codes.get(one)
    if (!code) return []
    code.isUsable = false
    if (how !== 'removed') return this.#store(code, endings[how])
    this.model.codes.delete(one)
    const { status } = await service.call({
      method: 'DELETE',
      path: `/codes/${code.id}?force=true`,
      as: { tenant: this.tenant, role: 'Admin', scope: 'codes:read codes:write' },
      headers: { 'X-Audit-Log-Reason': 'a mistake' },
    })
    expect(status).toBe(204)
    return []
  }

  /** Creates a code, or makes one that ended usable again. */
  async #make(one: Text, type: Type): Promise<string[]> {
    const code = this.model.codes.get(one)
    if (code) {
      code.isUsable = true
      return this.#store(code, usable)
    }
    const { json } = await calls.makeCode(this.tenant, one, type)
    this.model.codes.set(one, { id: json.id, type, isUsable: true })
    return []
  }

  async #store({ id }: ModelCode, changes: object): Promise<string[]> {
    const item = await service.table.get(keyOf(this.tenant, 'code', id))
    if (!item) throw new Error('the code was not stored')
    await service.table.put({ item: { ...item, ...changes }, condition: 'none' })
    return []
  }
}

test('the lines of a cart are what their rules give for its last amount, and each change is published', async () => {
  const check = async (played: readonly Step[]) => {
    const run = new Run()
    const { tenant, model } = run
    await run.start()
    const known = new Set<string>()
    for (const step of played) {
      const before = calls.eventsOf(tenant).length
      const expected = await run.play(step)
      const lines = model.lines.map((line) => `${line.text} ${line.amount}`)
      expect(await calls.linesOf(tenant, 'c1')).toEqual(lines)
      expect(model.lines.reduce((sum, { amount }) => sum + amount, 0)).toBeLessThanOrEqual(model.amount)
      const events = calls.eventsOf(tenant)
      const applied = events.slice(before).filter(({ type }) => type === 'promo.applied')
      expect(applied.map(({ data }) => `${data.code} ${data.amount}`)).toEqual(expected)
      for (const line of expected) known.add(line.split(' ')[0] as string)
      const amounts = [...known].map((one) => lines.find((line) => line.startsWith(`${one} `)) ?? `${one} 0`)
      expect(publishedLines(events.toReversed())).toEqual(new Set(amounts))
    }
    const ids = calls.eventsOf(tenant).map(({ event_id }) => event_id)
    expect(new Set(ids).size).toBe(ids.length)
  }
  const histories = fc.array(steps, { minLength: 5, maxLength: 40 })
  await fc.assert(fc.asyncProperty(histories, check), { ...runs(1000) })
})
