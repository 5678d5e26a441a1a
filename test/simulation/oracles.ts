import { checkData } from '#bin/commands/verify/data/check-data.ts'
import type { Operation } from '#shared/operations/operation.ts'
import type { AuditRecord } from '#shared/platform/audit/audit-record.ts'
import { type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import type { RecordedSaga } from '#shared/platform/idempotency/idempotency-record.ts'
import { ownerOf } from '#shared/platform/table/keys.ts'
import type { WebhookEvent } from '#shared/webhooks/webhook-event.ts'
import { checkCarts } from './cart-oracles.ts'
import { type Answer, type History, type Intent, idsIn } from './client.ts'
import { checkOnePayout, checkOutcomes, checkRefunds, checkRepeatedRefunds } from './refund-oracles.ts'
import { check, type Of, type Stored, Violation } from './violation.ts'
import { tenants } from './workload.ts'
import type { World } from './world.ts'

/** What must be true of stored data at any time, also while work is pending. */
export async function checkStored({ store, scheduler, settings }: World): Promise<void> {
  const data = { items: () => store.all(), at: scheduler.now, isWhole: true }
  for await (const { promise, tenant, about, found } of checkData(data, { settings }))
    throw new Violation(promise, `${about} of ${tenant}: ${found}`)
}

/** The end of a schedule: what the table, the bus, the provider and the clients know must agree. */
export function checkEnd(world: World, history: History): void {
  const items = world.store.all()
  const byEntity = Map.groupBy(items, ({ pk }) => ownerOf(pk).entity)
  const of = (entity: string) => byEntity.get(entity) ?? []
  const audit = of('audit') as unknown as AuditRecord[]
  checkOneEffect(history, of)
  checkOnePayout(world, history)
  checkRefunds(world, of)
  checkRepeatedRefunds(history, audit)
  checkOutcomes(world, audit)
  checkEvents(world, of)
  checkWebhooks(world, history, of)
  checkPending(world, items, of)
  checkCodes(history)
  checkAudit(history, audit)
  checkImports(history, of)
  checkLogins(world, history)
  checkTenants(world, history, audit)
  checkSecrets(world, history, audit)
}

/** Each key has at most one effect, and exactly one if it was answered with success. */
function checkOneEffect(history: History, of: Of): void {
  const orders = Map.groupBy(of('order'), ({ cart_id }) => String(cart_id))
  for (const { operation, key, by, answers, body } of history.intents) {
    if (operation !== 'orders.create' || by?.role === 'Viewer' || !by) continue
    const effects = orders.get((body as { cart_id: string }).cart_id) ?? []
    check(effects.length <= 1, 'one effect per key', () => `${key} created ${effects.length} orders`)
    const created = answers.find(({ status }) => status === 201)
    const stored = effects[0]?.id
    check(
      !created || stored === created.json.id,
      'acknowledged writes are stored',
      () => `${key} lost its order`,
    )
  }
  check(!orders.has('never'), 'denials have no effect', () => 'a denied order exists')
}

/** Every committed change is published with its events, each under one id, and nothing else is. */
function checkEvents({ published, records, unpublished }: World, of: Of): void {
  const expected = new Map<string, string>()
  for (const { after } of records) {
    for (const event of after ? publishedEvents(after) : []) {
      const [known, what] = [expected.get(event.event_id) ?? contentOf(event), contentOf(event)]
      check(
        known === what,
        'an event id belongs to one event',
        () => `${event.event_id}: ${known} and ${what}`,
      )
      expected.set(event.event_id, what)
    }
  }
  const distinct = new Map(published.map((event) => [event.event_id, event]))
  for (const [id, what] of expected) check(distinct.has(id), 'all changes are published', () => what)
  for (const [id, event] of distinct)
    check(expected.get(id) === contentOf(event), 'only changes are published', () => contentOf(event))
  check(unpublished.length === 0, 'every event is carried by its kind', () => unpublished.join())
  // What must be published follows from the items alone, too.
  const meant = [
    ...of('order').flatMap(({ id, status }) => [
      `order.created ${id}`,
      `order.placed ${id}`,
      ...(status === 'paid' ? [`order.paid ${id}`] : []),
    ]),
    ...of('ledger').flatMap(({ refund_id, kind }) =>
      kind === 'reversal' ? [] : [`refund.succeeded ${refund_id}`],
    ),
  ].toSorted()
  const about = ({ type, data }: PublishedEvent) => `${type} ${data.id}`
  const delivered = [...distinct.values()]
    .filter(({ version }) => version === 1)
    .map(about)
    .filter((one) => /^(order|refund)\./.test(one))
    .toSorted()
  check(
    String(delivered) === String(meant),
    'events = committed changes',
    () => `published ${delivered} | stored ${meant}`,
  )
}

/** The events that several commits may publish, each with its own circumstances. */
const repeatable = /^(promo\.|otp\.delivered)/

/** Returns what must be the same whenever an event is built. */
function contentOf(event: PublishedEvent): string {
  const { type, data } = event
  if (repeatable.test(type)) return `${type} of ${data.cart_id ?? data.id} ${data.code ?? ''}`
  return JSON.stringify(event)
}

/**
 * Every acknowledged event is handled, or ignored because it has no meaning here, or a dead letter because it fits
 * nothing. What was handled decides, in whatever order it came.
 */
function checkWebhooks(world: World, history: History, of: Of): void {
  const { deadLetters, store } = world
  const dead = new Set(deadLetters.filter(({ queue }) => queue === 'webhooks').map(({ body }) => body))
  for (const [id, { type, data }] of history.events) {
    const state = String(store.get({ pk: `inbox#${id}`, sk: 'event' })?.state ?? 'absent')
    const isMisfit = history.misfits.has(id)
    const hasMeaning = type !== 'loyalty.earned' && (type !== 'cart.updated' || isStated(data))
    const expected = isMisfit ? 'received' : hasMeaning ? 'handled' : 'ignored'
    const isAccounted = state === expected && dead.has(id) === isMisfit
    const show = () => `${type} ${id} is ${state} instead of ${expected}`
    check(isAccounted, 'received = handled + ignored + dead letters', show)
  }
  for (const [id, fits] of history.stripeEvents) {
    const state = String(store.get({ pk: `inbox#${id}`, sk: 'stripe' })?.state ?? 'absent')
    const expected = fits ? 'handled' : 'ignored'
    const show = () => `${id} of Stripe is ${state} instead of ${expected}`
    check(state === expected, 'received = handled + ignored + dead letters', show)
  }
  const lost = [...dead].find((id) => !history.misfits.has(id))
  check(lost === undefined, 'received = handled + ignored + dead letters', () => `${lost} is a dead letter`)
  const inbox = store.all().filter(({ pk, state }) => pk.startsWith('inbox#') && state === 'handled')
  const positionOf = ({ occurred_at, event_id }: WebhookEvent) => `${occurred_at} ${event_id}`
  const handled = inbox
    .map(({ event }) => JSON.parse(String(event)) as WebhookEvent)
    .toSorted((one, other) => (positionOf(one) < positionOf(other) ? -1 : 1))
  const paid = new Set(handled.flatMap(({ type, data }) => (type === 'order.paid' ? [data.id] : [])))
  for (const { id, status } of of('order')) {
    check(
      paid.has(String(id)) === (status === 'paid'),
      'handled events count',
      () => `order ${id} is ${status}`,
    )
  }
  checkCarts(world, handled, of)
}

/** Returns whether an event of a cart states its amount, its currency or its owner. */
function isStated({ amount_minor, currency, user_id }: Record<string, unknown>): boolean {
  return amount_minor !== undefined || currency !== undefined || Boolean(user_id)
}

/** Nothing waits for something that never comes. */
function checkPending({ deadLetters }: World, items: readonly Stored[], of: Of): void {
  const dead = new Set(deadLetters.map(({ body }) => body))
  const waiting = [
    ...of('refund').filter(({ status }) => status === 'pending'),
    ...of('operation').filter(({ state }) => state === 'pending' || state === 'running'),
    ...of('operation_count').filter(({ in_progress }) => in_progress !== 0),
    ...of('password_reset').filter(({ sk }) => !dead.has(sk)),
    ...items.filter(
      ({ pk, saga, state }) =>
        pk.startsWith('idempotency#') && state === 'pending' && (saga as RecordedSaga).entry,
    ),
  ]
  check(waiting.length === 0, 'nothing is pending forever', () => JSON.stringify(waiting[0]))
}

/** No update of a code is lost. */
function checkCodes(history: History): void {
  const updates = history.intents.filter(({ operation, answers }) => {
    return operation === 'codes.update' && answers.some(({ status }) => status === 200)
  })
  for (const [tag, same] of Map.groupBy(updates, ({ path, headers }) => `${path} ${headers['If-Match']}`)) {
    check(same.length === 1, 'no update is lost', () => `${same.length} updates of ${tag}`)
  }
}

const auditedActions: Record<string, string> = {
  'refunds.create': 'refund',
  'codes.update': 'update',
  'codes.restore': 'restore',
  'codes.share': 'share',
  'codes.hard-delete': 'hard_delete',
  'codes.export': 'export',
  'codes.import': 'import',
  'imports.create': 'import',
}

/** Each sensitive action that succeeded has one record, and so has each denial. */
function checkAudit(history: History, audit: readonly AuditRecord[]): void {
  const byCorrelation = Map.groupBy(audit, ({ correlation_id }) => correlation_id)
  const recordsOf = (correlations: readonly string[]) =>
    correlations.flatMap((correlation) => byCorrelation.get(correlation) ?? [])
  for (const intent of history.intents) {
    const { operation, key, answers, correlations, by } = intent
    const action = auditedActions[operation]
    const success = answers.find(({ status }) => status < 400)
    if (action && success && key !== undefined) {
      // Two requests with one key are one action.
      const same = history.intents.filter(
        (one) =>
          one.key === key &&
          one.operation === operation &&
          one.by === by &&
          one.isAnother === intent.isAnother,
      )
      const records = recordsOf(same.flatMap((one) => one.correlations))
      const allowed = records.filter((record) => record.result === 'allow' && record.action === action)
      const count = isRepeatedImport(intent, success) ? 1 : allowed.length
      check(count === 1, 'allows are audited', () => `${operation} ${key}: ${count} records`)
    }
    if (action && success && key === undefined && !isRepeatedImport(intent, success)) {
      const allowed = recordsOf(correlations).filter(({ result }) => result === 'allow')
      check(allowed.length >= 1, 'allows are audited', () => `${operation} of ${correlations}`)
    }
    for (const answer of answers) {
      const records = byCorrelation.get(answer.correlation) ?? []
      // Requests with one correlation id may all be denied.
      checkDenial(answer, intent.correlation === undefined ? records : records.slice(0, 1))
    }
  }
}

/** An import of a file that is imported already starts nothing, and a restore may find nothing to restore. */
function isRepeatedImport({ operation }: Intent, { headers }: Answer): boolean {
  return operation === 'imports.create' && headers['Idempotency-Status'] === 'replayed'
}

function checkDenial({ status, json, by, correlation }: Answer, records: readonly AuditRecord[]): void {
  const code = String(json?.error?.code)
  if (!by || status < 400 || !code.startsWith('AUTHZ.')) return
  const denials = records.filter(({ result }) => result === 'deny')
  check(
    denials.length === 1,
    'denials are audited',
    () => `${code} of ${correlation}: ${denials.length} records`,
  )
  const [{ actor_id, tenant_id } = {}] = denials
  const isTold = tenant_id === by.tenant && (by.role === 'Service' || actor_id === by.sub)
  check(
    isTold,
    'denials are audited',
    () => `${actor_id} of ${tenant_id} instead of ${by.sub} of ${by.tenant}`,
  )
}

/** An import that succeeded counted each of its rows once, and of several rows of a customer the latest stays. */
function checkImports(history: History, of: Of): void {
  const operations = new Map(of('operation').map((item) => [String(item.id), item as unknown as Operation]))
  const files = history.intents.filter(({ operation }) => operation === 'imports.create')
  // What an import without an answer did cannot be known.
  const sent = files.map(({ answers, body, by }) => {
    const id = String(answers.find(({ status }) => status === 202)?.json.operation_id ?? 'z')
    return { id, tenant: by?.tenant, lines: String(body).split('\n').slice(1) }
  })
  const latest = new Map<string, { name: string | undefined; isSure: boolean }>()
  for (const { id, tenant, lines } of sent.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const operation = operations.get(id)
    check(id === 'z' || operation !== undefined, 'acknowledged writes are stored', () => `operation ${id}`)
    const isWhole = operation?.state === 'succeeded'
    const isOnce = !operation || operation.chunks_done <= operation.chunks_total
    check(isOnce, 'each row counts once', () => `${id}: ${operation?.chunks_done} chunks are done`)
    const rows = lines.filter((line) => line.includes('@')).map((line) => line.split(','))
    for (const [email, name] of rows) latest.set(`${tenant} ${email}`, { name, isSure: isWhole })
    if (!isWhole) continue
    const { rows_succeeded, rows_failed, result } = operation
    const invalid = lines.length - rows.length
    const isCounted = rows_succeeded === rows.length && rows_failed === invalid
    const show = () => `${id}: ${rows_succeeded} + ${rows_failed} of ${rows.length} + ${invalid}`
    check(isCounted && result?.rejects.length === invalid, 'each row counts once', show)
  }
  const stored = new Map(
    of('customer').map(({ pk, email, name }) => [`${ownerOf(pk).tenant} ${email}`, name]),
  )
  for (const [customer, { name, isSure }] of latest) {
    const show = () => `${customer} is ${stored.get(customer)} instead of ${name}`
    check(!isSure || stored.get(customer) === name, 'the latest row of a customer stays', show)
  }
}

/** A code opens one session, and its mail is sent to nobody else. */
function checkLogins({ mails }: World, history: History): void {
  for (const [message, sessions] of history.sessions) {
    check(sessions.size === 1, 'a code opens one session', () => `${sessions.size} sessions of ${message}`)
  }
  for (const { to } of mails) check(history.secrets.has(to), 'mails reach their owner', () => to)
}

/** Nothing of a tenant appears in the responses, events and audit records of another. */
function checkTenants(world: World, history: History, audit: readonly AuditRecord[]): void {
  const owners = new Map<string, string>()
  for (const { before, after } of world.records) {
    const item = after ?? before
    const id = item?.id
    const { tenant } = ownerOf(item?.pk ?? '')
    if (id !== undefined && tenants.some((one) => one === tenant)) owners.set(String(id), tenant)
  }
  const foreign = (text: string, tenant: string) =>
    idsIn(text).find((id) => owners.has(id) && owners.get(id) !== tenant) ??
    tenants.find((one) => one !== tenant && text.includes(`${one}"`))
  for (const { answers, operation } of history.intents) {
    for (const { by, body = '', status } of answers) {
      if (!by || (by.role === 'Admin' && status < 400)) continue
      const leak = foreign(body, by.tenant)
      check(
        leak === undefined,
        'tenants are separate',
        () => `${operation} shows ${leak} to ${by.tenant}: ${body}`,
      )
    }
  }
  for (const { type, data } of world.published) {
    const leak =
      tenants.some((one) => one === data.tenant_id) && foreign(JSON.stringify(data), data.tenant_id)
    check(!leak, 'tenants are separate', () => `the event ${type} of ${data.tenant_id} shows ${leak}`)
  }
  for (const { after, target, reason, tenant_id, action } of audit) {
    // A share names the grantee.
    const stored = action === 'share' ? [target, reason] : [after, target, reason]
    const leak = foreign(JSON.stringify(stored), tenant_id)
    check(leak === undefined, 'tenants are separate', () => `the audit of ${tenant_id} shows ${leak}`)
  }
}

/** No secret and no personal data is in a log, an event, an audit record or an error. */
function checkSecrets(world: World, history: History, audit: readonly AuditRecord[]): void {
  const errors = history.intents.flatMap(({ answers }) => answers.filter(({ status }) => status >= 400))
  const outputs = {
    logs: world.logged.join('\n'),
    events: JSON.stringify(world.published),
    audit: JSON.stringify(audit),
    errors: errors.map(({ body }) => body).join('\n'),
  }
  for (const secret of history.secrets) {
    for (const [name, text] of Object.entries(outputs)) {
      // A plain search first: it is faster than the expression.
      if (!text.includes(secret)) continue
      const at = text.search(
        new RegExp(`(?<![\\w.-])${secret.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`),
      )
      check(
        at < 0,
        'no secret in an output',
        () => `${secret} in ${name}: ${text.slice(Math.max(0, at - 80), at + 80)}`,
      )
    }
  }
}
