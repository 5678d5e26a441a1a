import { sessionCookie } from '#shared/platform/identity/session.ts'
import type { Answer, Client, Identity } from './client.ts'
import { rotateApiKey } from './operator.ts'
import { Violation } from './violation.ts'
import { notify } from './webhook-sender.ts'
import { password, type World } from './world.ts'

export const tenants = ['tenant-a', 'tenant-b'] as const
const carts = ['cart-1', 'cart-2']
const texts = ['SAVE-1', 'SAVE-2', 'SAVE-3']
const types = ['percent-10', 'percent-25', 'fixed-500'] as const
const charges = ['charge-1', 'charge-2', 'pending-1', 'declined-1', 'none-1']
const expiry_at = '2030-01-01T00:00:00Z'

type Act = (client: Client) => Promise<void>

/** What clients do, by name. Each entry is one client with one purpose. */
export const acts = {
  async order(client) {
    const { random, history } = client
    const by = someone(client)
    const body = { cart_id: client.name, amount_minor: random.int(99_999), currency: 'EUR' }
    const request = { operation: 'orders.create', by, method: 'POST', path: '/v1/orders', key: client.name }
    // Some clients send the same request twice at the same time, or another one with the same key.
    const twice = random.chance(0.2)
    const other = random.chance(0.1) ? { ...body, amount_minor: body.amount_minor + 1 } : body
    const bodies = twice ? [body, other] : [body]
    await Promise.all(
      bodies.map(async (sent) => {
        const answer = await client.send({ ...request, body: sent })
        if (answer?.status !== 201) return
        const { id, amount_minor } = answer.json
        const isOwn = amount_minor === sent.amount_minor
        if (!isOwn)
          violated(client, 'a key belongs to its payload', `${answer.body} for ${JSON.stringify(sent)}`)
        history.orders.push({ id, tenant: by.tenant, at: client.world.scheduler.now })
        await readOrder(client, by, id, answer.json)
        if (amount_minor % 3 === 0) await findByCart(client, by, answer.json)
      }),
    )
  },

  /** Keys belong to their caller: others may use the same one. */
  async orderWithCommonKey(client) {
    const by = someone(client)
    const body = { cart_id: `${client.name}.1`, amount_minor: 1, currency: 'EUR' }
    const request = { operation: 'orders.create', method: 'POST', path: '/v1/orders', key: 'common' }
    const first = { tenant: by.tenant, role: 'Editor' as const, sub: `${client.name}.1` }
    const second = { ...first, sub: `${client.name}.2` }
    await client.send({ ...request, by: first, body })
    const answer = await client.send({
      ...request,
      by: second,
      body: { ...body, cart_id: `${client.name}.2` },
    })
    if (answer?.status === 409) violated(client, 'a key belongs to its caller', answer.body ?? '')
  },

  async readOrder(client) {
    const order = client.random.pick(client.history.orders)
    if (order) await readOrder(client, someone(client), order.id)
  },

  /** A pagination session over the orders of a tenant. */
  async listOrders(client) {
    const { random, history, world } = client
    const by = someone(client)
    const startedAt = world.scheduler.now
    const before = history.orders.filter(({ tenant }) => tenant === by.tenant)
    const seen: string[] = []
    const size = 1 + random.int(3)
    for (let path: string | undefined = `/v1/orders?page_size=${size}`; path !== undefined; ) {
      const answer = await client.send({ operation: 'orders.list', by, method: 'GET', path })
      if (answer?.status !== 200) return
      const { data, next_cursor } = answer.json
      seen.push(...data.map(({ id }: { id: string }) => id))
      path = next_cursor ? `/v1/orders?page_size=${size}&cursor=${next_cursor}` : undefined
      if (new Set(seen).size < seen.length) violated(client, 'lists', `an order is repeated in ${seen}`)
      await world.scheduler.sleep(random.int(500))
    }
    for (const { id, at } of before) {
      // A clock that is ahead makes ids of the near future, which a session of now leaves out.
      const isOld = startedAt - at > 4100
      if (isOld && !seen.includes(id)) violated(client, 'lists', `the order ${id} is skipped`)
    }
    const descending = seen.every((id, at) => at === 0 || id < (seen[at - 1] as string))
    if (!descending) violated(client, 'lists', `${seen} is not in descending order`)
  },

  async refund(client) {
    const { random } = client
    const by: Identity = random.chance(0.3)
      ? { tenant: oneOf(client, tenants), role: 'Service', sub: 'Service' }
      : someone(client)
    const body = { charge_id: random.pick(charges), amount: random.pick([1, 300, 700, 1000]) }
    const request = { operation: 'refunds.create', by, method: 'POST', path: '/v1/refunds', key: client.name }
    const send = async () => {
      const answer = await client.send({ ...request, body })
      if (answer?.status !== 201) return
      const path = answer.headers.Location ?? ''
      const read = await client.send({ operation: 'refunds.read', by, method: 'GET', path })
      const isSame = read?.json?.id === answer.json.id && read?.json?.amount === body.amount
      if (read && read.status < 500 && !isSame)
        violated(client, 'acknowledged writes are readable', `${path}: ${read.body}`)
    }
    await Promise.all(random.chance(0.3) ? [send(), send()] : [send()])
    if (random.chance(0.5)) return
    // The client comes back later, with its key.
    await client.world.scheduler.sleep(random.int(120_000))
    await send()
  },

  /** An operator replaces an API key while clients work with it. */
  async rotateKey(client) {
    const { random, history, world } = client
    const tenant = oneOf(client, tenants)
    await world.scheduler.sleep(random.int(20_000))
    await rotateApiKey(world, history, { tenant, overlapSeconds: random.pick([0, 5, 60, undefined]), random })
  },

  async createCode(client) {
    const { random, history } = client
    const by = someone(client)
    const text = random.pick(texts)
    const name = `name of ${client.name}`
    const body = { code: text, type: random.pick(types), name, expiry_at }
    const request = { operation: 'codes.create', by, method: 'POST', path: '/codes', key: client.name, body }
    const answer = await client.send(request)
    if (answer?.status !== 201) return
    history.codes.push({ id: answer.json.id, tenant: by.tenant, text })
  },

  async updateCode(client) {
    const { random } = client
    const code = random.pick(client.history.codes)
    const by = someone(client)
    const read = code && (await readCode(client, by, code.id))
    if (!read) return
    await client.send({
      operation: 'codes.update',
      by,
      method: 'PATCH',
      path: `/codes/${code.id}`,
      headers: { 'If-Match': read.headers.ETag ?? '' },
      body: random.pick(changes(client)),
      ...(random.chance(0.5) && { key: client.name }),
    })
  },

  async deleteCode(client) {
    const code = client.random.pick(client.history.codes)
    if (!code) return
    const by = someone(client)
    const force = client.random.chance(0.3)
    await client.send({
      operation: force ? 'codes.hard-delete' : 'codes.soft-delete',
      by,
      method: 'DELETE',
      path: `/codes/${code.id}${force ? '?force=true' : ''}`,
      ...(force && { headers: { 'X-Audit-Log-Reason': 'a mistake' } }),
      ...(client.random.chance(0.5) && { key: client.name }),
    })
  },

  async restoreCode(client) {
    const code = client.random.pick(client.history.codes)
    if (!code) return
    const path = `/codes/${code.id}:restore`
    await client.send({
      operation: 'codes.restore',
      by: someone(client),
      method: 'POST',
      path,
      key: client.name,
    })
  },

  async shareCode(client) {
    const code = client.random.pick(client.history.codes)
    if (!code) return
    const body = { grantee_tenant: client.random.pick(tenants) }
    const path = `/codes/${code.id}:share`
    await client.send({
      operation: 'codes.share',
      by: someone(client),
      method: 'POST',
      path,
      key: client.name,
      body,
    })
  },

  async listCodes(client) {
    const by = someone(client)
    const path = `/codes?sort=code.asc&page_size=${1 + client.random.int(3)}`
    const answer = await client.send({ operation: 'codes.list', by, method: 'GET', path })
    const found: string[] = answer?.json?.data?.map(({ code }: { code: string }) => code) ?? []
    const ascending = found.every((text, at) => at === 0 || text > (found[at - 1] as string))
    if (!ascending) violated(client, 'lists', `${found} is not sorted by code`)
  },

  async exportCodes(client) {
    await client.send({
      operation: 'codes.export',
      by: someone(client),
      method: 'GET',
      path: '/codes:export',
    })
  },

  async importCodes(client) {
    const by = someone(client)
    const rows = [
      `${client.name.toUpperCase()},percent-10,Imported,${expiry_at}`,
      `${client.random.pick(texts)},fixed-500,Imported,${expiry_at}`,
    ]
    const body = ['code,type,name,expiry_at', ...rows].join('\r\n')
    const request = { operation: 'codes.import', by, method: 'POST', path: '/codes:import', key: client.name }
    const answer = await client.send({ ...request, headers: { 'Content-Type': 'text/csv' }, body })
    for (const { status, id } of answer?.json?.items ?? []) {
      if (status === 201)
        client.history.codes.push({ id, tenant: by.tenant, text: client.name.toUpperCase() })
    }
  },

  async bulkUpdateCodes(client) {
    const by = someone(client)
    const items: object[] = []
    for (const { id } of client.history.codes.slice(-3)) {
      const read = await readCode(client, by, id)
      if (read) items.push({ id, if_match: read.headers.ETag, name: `bulk of ${client.name}` })
    }
    if (items.length === 0) return
    const request = { operation: 'codes.bulk-update', by, method: 'POST', path: '/codes:bulkUpdate' }
    await client.send({ ...request, key: client.name, body: { items } })
  },

  async verifyDiscount(client) {
    const { random } = client
    const by = someone(client)
    const body = { code: random.pick(texts) }
    const request = { operation: 'discount.verify', by, method: 'POST', path: '/discount/verify', body }
    if (random.chance(0.2)) {
      // A caller may use one correlation id for several carts.
      for (const cart of carts) {
        const headers = { 'X-Cart-Id': cart }
        await client.send({ ...request, headers, key: `${client.name}-${cart}`, correlation: client.name })
      }
      return
    }
    const headers = random.chance(0.8) ? { 'X-Cart-Id': someCart(client) } : {}
    await client.send({ ...request, headers, key: client.name })
  },

  /** A login by one-time code, with the code from the mailbox. */
  async logIn(client) {
    const { random, history, world } = client
    const email = `person-${random.int(2)}@private.example`
    history.secrets.add(email)
    const post = (operation: string, path: string, body: object, headers = {}) =>
      client.send({
        operation,
        by: undefined,
        method: 'POST',
        path,
        body,
        headers,
        key: `${client.name}-${path}`,
      })
    const requested = await post('otp.request', '/otp/request', { email })
    if (requested?.status !== 202) return
    const { message_id } = requested.json
    for (let waits = 0; waits < 20 && !mailOf(world, message_id); waits += 1)
      await world.scheduler.sleep(10_000)
    const code = mailOf(world, message_id)
    if (code === undefined) return
    history.secrets.add(code)
    const given = random.chance(0.8) ? code : '000000'
    const attempts = random.chance(0.3) ? [`${client.name}-1`, `${client.name}-2`] : [client.name]
    const verified = await Promise.all(
      attempts.map((key) =>
        client.send({
          operation: 'otp.verify',
          by: undefined,
          method: 'POST',
          path: '/otp/verify',
          body: { email, code: given },
          key,
        }),
      ),
    )
    for (const answer of verified.filter(isAnswer).filter(({ status }) => status === 200)) {
      const known = history.sessions.get(message_id) ?? new Set()
      history.sessions.set(message_id, known.add(answer.json.session_id))
      if (given !== code) violated(client, 'logins', 'a wrong code opens a session')
      const cookies = Object.fromEntries(
        (answer.cookies ?? []).map((one) => (one.split(';')[0] ?? '').split(/=(.*)/s)),
      )
      const cookie = cookies[sessionCookie]
      if (cookie === undefined) continue
      history.secrets.add(cookie.split('.')[1] ?? cookie)
      await post(
        'discount.verify',
        '/discount/verify',
        { code: texts[0] },
        {
          Cookie: `${sessionCookie}=${cookie}`,
          'X-CSRF-Token': cookies.csrf_token ?? '',
        },
      )
    }
  },

  async signIn(client) {
    const { random, history } = client
    const email = `user-${random.int(2)}@private.example`
    history.secrets.add(email).add(password)
    const body = { email, password: random.chance(0.7) ? password : 'wrong' }
    const answer = await client.send({
      operation: 'login.sign-in',
      by: undefined,
      method: 'POST',
      path: '/login',
      body,
    })
    if (answer?.status === 200 && body.password !== password)
      violated(client, 'logins', 'a wrong password is accepted')
  },

  async resetPassword(client) {
    const email = `reset-${client.name}@private.example`
    client.history.secrets.add(email)
    const request = {
      operation: 'login.reset-password',
      by: undefined,
      method: 'POST',
      path: '/password/reset',
    }
    await client.send({ ...request, body: { email }, key: client.name })
  },

  /** An import of customers, sometimes canceled. */
  async importCustomers(client) {
    const { random, history, world } = client
    const by = someone(client)
    // Few addresses, so that files share them, and the last row of a file repeats the address of the first.
    const emails = Array.from({ length: 1 + random.int(3) }, (_, row) => `customer-${row}@private.example`)
    const rows = [...emails, emails[0] as string].map((email, row): [string, string] => [
      email,
      `Person ${client.name} ${row}`,
    ])
    const invalid = random.int(2)
    const body = ['email,name', ...rows.map(String), ...(invalid ? ['nobody,Private Person'] : [])].join('\n')
    for (const row of rows) for (const cell of row) history.secrets.add(cell)
    const headers = { 'Content-Type': 'text/csv' }
    const request = { operation: 'imports.create', by, method: 'POST', path: '/imports', headers, body }
    const send = (key?: string) => client.send({ ...request, ...(key !== undefined && { key }) })
    // The same file is sent again by another client of the tenant.
    const [started] = await Promise.all([send(client.name), ...(random.chance(0.2) ? [send()] : [])])
    if (started?.status !== 202) return
    const id = started.json.operation_id
    const path = `/operations/${id}`
    if (random.chance(0.3)) {
      await world.scheduler.sleep(random.int(2000))
      await client.send({
        operation: 'operations.cancel',
        by,
        method: 'POST',
        path: `${path}:cancel`,
        key: client.name,
      })
    }
    await world.scheduler.sleep(random.int(20_000))
    await client.send({ operation: 'operations.read', by, method: 'GET', path })
  },

  /** A cart shrinks, grows, becomes empty or changes its currency or owner; an event states any part of this, or nothing. */
  async updateCart(client) {
    const { random } = client
    const owner = { user_id: `user-${random.int(3)}` }
    const amount = {
      amount_minor: random.pick([0, 400, 2000, 10_000, random.int(9999)]),
      currency: random.chance(0.9) ? 'EUR' : 'USD',
    }
    const { amount_minor, currency } = amount
    const parts = [
      { amount_minor },
      { currency },
      owner,
      { ...amount, ...owner },
      { ...amount, user_id: 0 },
      {},
    ]
    const stated = random.pick([...Array(6).fill(amount), ...parts])
    await sendEvent(client, 'cart.updated', { ...cartOf(client), ...stated })
  },

  /** Another service reports what happened. */
  async webhook(client) {
    const { random, history } = client
    const order = random.pick(history.orders)
    const cart = cartOf(client)
    const gift = { giftcard_id: 'gift-1', amount: random.int(100) }
    const foreign = order && { id: order.id, tenant_id: otherThan(order.tenant) }
    const kinds = {
      gift: () =>
        sendEvent(client, 'giftcard.applied', {
          ...cart,
          cart_id: cart.id,
          id: `applied-${client.name}`,
          ...gift,
        }),
      tax: () => sendEvent(client, 'tax.recalculated', cart),
      paid: () =>
        order ? sendEvent(client, 'order.paid', { id: order.id, tenant_id: order.tenant }) : kinds.misfit(),
      misfit: () => sendEvent(client, 'order.paid', foreign ?? { id: 'absent' }, 'misfit'),
      poison: async () => {
        const shape = random.pick([{ amount_minor: -1 }, { cart_id: 7 }, { user_id: 42 }])
        const data = { ...cart, amount_minor: 1, currency: 'EUR', ...shape }
        if (await sendEvent(client, 'cart.updated', data))
          violated(
            client,
            'received = handled + ignored + dead letters',
            `${JSON.stringify(shape)} was received`,
          )
      },
      other: () => sendEvent(client, 'loyalty.earned', cart),
    }
    await kinds[random.weighted({ gift: 1, tax: 1, paid: 4, misfit: 1, poison: 1, other: 1 })]()
  },

  /** Requests that must be denied or rejected. */
  async denied(client) {
    const { random, history } = client
    const [own, foreign] = random.chance(0.5) ? tenants : [tenants[1], tenants[0]]
    const viewer = { tenant: own, role: 'Viewer' as const, sub: 'viewer' }
    const editor = { tenant: own, role: 'Editor' as const, sub: 'editor' }
    const order = history.orders.find(({ tenant }) => tenant === foreign)
    const code = history.codes.find(({ tenant }) => tenant === foreign)
    const body = { cart_id: 'never', amount_minor: 1, currency: 'EUR' }
    const expected = async (status: number, request: Parameters<Client['send']>[0]) => {
      const answer = await client.send(request)
      const unsure = !answer || answer.status >= 500 || answer.status === 429
      if (!unsure && answer.status !== status && !(status === 404 && answer.status === 403)) {
        violated(client, 'denials', `${request.operation} was answered ${answer.status} instead of ${status}`)
      }
    }
    const create = { operation: 'orders.create', method: 'POST', path: '/v1/orders', key: client.name, body }
    await expected(403, { ...create, by: viewer })
    await expected(401, { ...create, by: undefined })
    await expected(400, { ...create, by: editor, body: { ...body, unknown: 1 } })
    if (order)
      await expected(404, {
        operation: 'orders.read',
        by: viewer,
        method: 'GET',
        path: `/v1/orders/${order.id}`,
      })
    if (code) {
      const path = `/codes/${code.id}`
      await expected(404, { operation: 'codes.soft-delete', by: editor, method: 'DELETE', path })
      await expected(403, { operation: 'codes.soft-delete', by: viewer, method: 'DELETE', path })
    }
    await expected(404, {
      operation: 'codes.export',
      by: editor,
      method: 'GET',
      path: `/codes:export?tenant=${foreign}`,
    })
  },

  async health(client) {
    const answer = await client.send({
      operation: 'health.read',
      by: undefined,
      method: 'GET',
      path: '/health',
    })
    if (answer && answer.status !== 200) violated(client, 'health', `health is ${answer.status}`)
  },
} satisfies Record<string, Act>

export type ActName = keyof typeof acts

/** A crowd works mostly, but not only, on one cart. */
function someCart(client: Client): string {
  return client.random.chance(0.6) ? oneOf(client, carts) : client.random.pick(carts)
}

/** Draws one, or always the first in a crowd. */
function oneOf<T>({ random, world }: Client, list: readonly T[]): T {
  return random.pick(world.isCrowded ? list.slice(0, 1) : list)
}

function cartOf(client: Client): { id: string; tenant_id: string } {
  return { id: someCart(client), tenant_id: oneOf(client, tenants) }
}

/** Sends an event of another service, sometimes twice. A misfit can never be handled. @returns whether it was received */
async function sendEvent(
  client: Client,
  type: string,
  data: Record<string, unknown>,
  misfit?: 'misfit',
): Promise<boolean> {
  const { random, history, world } = client
  const event_id = `event-${client.name}`
  if (misfit) history.misfits.add(event_id)
  const occurred_at = new Date(world.scheduler.now - random.int(10_000)).toISOString()
  return notify(client, { event_id, type, occurred_at, data }, random.chance(0.3) ? 2 : 1)
}

export function otherThan(tenant: string): string {
  return tenants[tenant === tenants[0] ? 1 : 0]
}

/** The changes of a code. Two of them end it. */
function changes({ name, world }: Client): object[] {
  const soon = new Date(world.scheduler.now + 10_000).toISOString()
  return [{ name: `changed by ${name}` }, { expiry_at: soon }, { state: 'archived' }, { state: 'active' }]
}

function someone(client: Client): Identity {
  const { random } = client
  const role = random.weighted({ Editor: 6, Viewer: 1, Admin: 2, Service: 1 })
  return { tenant: oneOf(client, tenants), role, sub: `${role}-${random.int(2)}` }
}

async function readOrder(client: Client, by: Identity, id: string, created?: object): Promise<void> {
  const answer = await client.send({ operation: 'orders.read', by, method: 'GET', path: `/v1/orders/${id}` })
  if (!answer || !created || answer.status >= 500) return
  const { status, updated_at, ...stored } = answer.json
  const equal = Object.entries(stored).every(([name, value]) => created[name as keyof object] === value)
  if (answer.status !== 200 || !equal)
    violated(client, 'acknowledged writes are readable', `${id}: ${answer.body}`)
}

/** Asks as a shop does whose checkout got no answer. */
async function findByCart(client: Client, by: Identity, { id, cart_id }: { id: string; cart_id: string }) {
  const path = `/v1/orders?cart_id=${cart_id}`
  const answer = await client.send({ operation: 'orders.list', by, method: 'GET', path })
  if (answer?.status !== 200) return
  const found = answer.json.data.map((one: { id: string }) => one.id)
  if (String(found) !== id)
    violated(client, 'a cart finds its orders', `${cart_id}: ${found} instead of ${id}`)
}

async function readCode(client: Client, by: Identity, id: string): Promise<Answer | undefined> {
  const answer = await client.send({ operation: 'codes.read', by, method: 'GET', path: `/codes/${id}` })
  return answer?.status === 200 ? answer : undefined
}

/** Returns the one-time code that was sent with a message. */
function mailOf(world: World, messageId: string): string | undefined {
  const mail = world.mails.find((one) => one.messageId === messageId)
  return mail && /\d{6}/.exec(mail.text)?.[0]
}

function isAnswer(answer: Answer | undefined): answer is Answer {
  return answer !== undefined
}

function violated(client: Client, oracle: string, message: string): never {
  const violation = new Violation(oracle, `${client.name}: ${message}`)
  client.world.scheduler.fail(violation)
  throw violation
}
