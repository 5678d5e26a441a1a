import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A mistake in the source, which the simulator must find. */
export interface Defect {
  file: string
  /** Occurs exactly once in the file. */
  from: string
  to: string
}

const shared = (file: string, from: string, to: string): Defect => ({ file: `shared/${file}`, from, to })

/** Mistakes that an engineer could make, by what they leave out. */
export const defects: Record<string, Defect> = {
  'no condition on the idempotency record': shared(
    'platform/idempotency/run-once.ts',
    "guard: { item: finishedRecord(run.keyed, response, 'complete'), condition },",
    "guard: { item: finishedRecord(run.keyed, response, 'complete'), condition: { absentOrExpiredBy: 9e9 } },",
  ),
  'a key scope without the principal': shared(
    'platform/request/execution.ts',
    'await ownerOfKey(context, input), place, key)',
    "'', place, key)",
  ),
  'a payload that is not compared': shared(
    'platform/idempotency/record.ts',
    'if (record.payload_hash !== keyed.payloadHash) throw',
    'if (keyed.payloadHash === undefined) throw',
  ),
  'no lookup before a refusal': shared(
    'platform/idempotency/run-once.ts',
    'if (existing) return replay(run, existing)\n  if (failure instanceof Failure) throw thrown',
    'if (failure instanceof Failure) throw thrown\n  if (existing) return replay(run, existing)',
  ),
  'a lease that is not compared': shared(
    'platform/idempotency/record.ts',
    "return { matches: { state: 'pending', lease_id } }",
    "return { matches: { payload_hash: lease_id.slice(0, 0) || 'x' }, oneOf: {} } && { absentOrBelow: { attribute: 'expires_at', value: 9e15 } }",
  ),
  'a saga that starts over': shared(
    'refunds/refund-saga.ts',
    'const request = { account, chargeId, amount, refundId, requestedSince: timeOf(refundId) }',
    'const request = { account, chargeId, amount, refundId: context.newId(), requestedSince: timeOf(refundId) }',
  ),
  'an account that is not recorded': shared(
    'refunds/refund-saga.ts',
    'const { account = accountOf(refund.tenant_id, settings) } = state',
    'const account = accountOf(refund.tenant_id, settings)',
  ),
  'an outcome that is written before the effect': shared(
    'platform/idempotency/run-once.ts',
    '    result = await run.work.execute(state)\n',
    "    result = { refund: (state as { refund: object }).refund, outcome: { status: 'succeeded', providerRefundId: 're_0', replayed: false } }\n",
  ),
  'no entry of a pending saga': shared(
    'platform/idempotency/run-once.ts',
    '    others: addPendingSaga(run, saga),\n',
    '    others: [],\n',
  ),
  'an entry of a pending saga that is removed too early': shared(
    'platform/request/finish-sagas.ts',
    '  if (record.lease_until > runtime.clock.now()) return false',
    '  if (record.lease_until > runtime.clock.now()) {\n    await table.transact(removePendingSaga({ marker: entry.sk }))\n    return true\n  }',
  ),
  'no condition on a settled refund': shared(
    'refunds/refund-store.ts',
    "return replace(item, { version: before.version }, 'TRANSIENT.error')\n}\n\nfunction holdKey",
    "return { item, condition: 'none', onFailure: 'TRANSIENT.error' }\n}\n\nfunction holdKey",
  ),
  'no ledger entry for a refund that is settled by an event': shared(
    'webhooks/received-events.ts',
    "return paidRefund(refund, settle(refund, { status: 'succeeded' }, now))",
    "return { ...paidRefund(refund, settle(refund, { status: 'succeeded' }, now)), writes: paidRefund(refund, settle(refund, { status: 'succeeded' }, now)).writes?.slice(0, 1) ?? [] }",
  ),
  'an event id that is not derived': shared(
    'platform/events/outbox.ts',
    'nameOf(event, once)),',
    'nameOf(event, once) + Math.random()),',
  ),
  'a relay that goes on after a failure': shared(
    'platform/events/relay.ts',
    'if (first >= 0) return { published, failedFrom: batch[first]?.change.sequenceNumber, fault }',
    'if (first >= 0 && fault) return { published, failedFrom: batch[first]?.change.sequenceNumber, fault }',
  ),
  'events without their write': shared(
    'platform/idempotency/commit.ts',
    'changes[0] = { item: { ...first.item, outbox }, condition: first.condition }',
    'if (events.length > 2) changes[0] = { item: { ...first.item, outbox }, condition: first.condition }',
  ),
  'tasks that are not redelivered': {
    file: 'functions/platform/enqueue-tasks/handler.ts',
    from: 'if (first) return first.sequenceNumber',
    to: 'if (first) continue',
  },
  'a received event that is marked before it is handled': shared(
    'webhooks/handle-event.ts',
    '  const event = JSON.parse(item.event) as WebhookEvent\n',
    '  const event = JSON.parse(item.event) as WebhookEvent\n  await table.transact([markHandled(eventId, timestamp(clock.now()))])\n',
  ),
  'an older event of a cart that counts': shared(
    'webhooks/cart-events.ts',
    'return Date.parse(occurred_at) <= latest && !isBefore({ occurred_at, event_id }, event)',
    'return Date.parse(occurred_at) > latest && !isBefore({ occurred_at, event_id }, event)',
  ),
  'a page bound off by one': shared(
    'platform/listing/read-page.ts',
    '  function after(sortKey: string): string {\n    return order.adjacent(sortKey, descending ? -1 : 1)',
    '  function after(sortKey: string): string {\n    return sortKey',
  ),
  'a page that skips an item': shared(
    'platform/listing/read-page.ts',
    'if (full || (bytes > byteBudget && reading.matches.length > 0)) return',
    'if (full) reading.last = sortKey\n          if (full || (bytes > byteBudget && reading.matches.length > 0)) return',
  ),
  'no version in the condition of an update': shared(
    'codes/code-store.ts',
    'condition: startCondition(trigger, settings, { version: before.version }),',
    'condition: startCondition(trigger, settings),',
  ),
  'an entity tag that is not checked': shared(
    'codes/update-code.ts',
    '    checkIfMatch(ifMatch, codeEtag(code))\n',
    '',
  ),
  'no uniqueness lock': shared(
    'codes/code-store.ts',
    "    create(lockItem(code), 'CONFLICT.code.exists'),",
    "    { item: lockItem(code), condition: 'none', onFailure: 'CONFLICT.code.exists' },",
  ),
  'a lock that is left behind': shared(
    'codes/code-store.ts',
    "    remove(lockKey(code), { code_id: id }, 'TRANSIENT.error'),\n",
    '',
  ),
  'a change without an audit record': shared('codes/soft-delete.ts', '    audit: auditOf(code),\n', ''),
  'a denial without an audit record': shared(
    'platform/request/audit-denial.ts',
    'if (!caller || !reason) return error',
    "if (!caller || !reason || reason === 'AUTHZ.role.denied') return error",
  ),
  'an item of another tenant': shared(
    'platform/identity/authorize.ts',
    '  if (scope.allTenants) {\n',
    "  if (scope.allTenants || entity === 'order') {\n",
  ),
  'a tenant of the body instead of the scope': shared(
    'platform/request/audit-denial.ts',
    'const known = thrown instanceof Denial ? { target: thrown.target } : {}',
    'const known = {}',
  ),
  'a one-time code that stays open': shared(
    'otp/one-time-code.ts',
    "...(success && { state: 'used' as const }),",
    '',
  ),
  'an import that nobody ends': shared(
    'operations/end-abandoned.ts',
    "const result = await check(ref, workflow, { table, clock }).catch(() => 'left' as const)",
    "const result = Math.floor(clock.now()) < 0 ? await check(ref, workflow, { table, clock }) : ('left' as const)",
  ),
  'a cart that is written whatever its version is': shared(
    'carts/cart-store.ts',
    "replace(item, { version: before.version }, 'TRANSIENT.error')",
    "{ item, condition: 'none' as const, onFailure: 'TRANSIENT.error' as const }",
  ),
  'an e-mail address in an event': shared(
    'otp/request-code.ts',
    'events: otpRequested({ id: message_id, tenant_id, ...person }),',
    'events: otpRequested({ id: message_id, tenant_id, ...person, email_hash: email }),',
  ),
}

/** The first seed, counted from 1, whose schedule finds each defect. */
export const seeds: Record<string, number> = {
  'no condition on the idempotency record': 1,
  'a key scope without the principal': 1,
  'a payload that is not compared': 68,
  'no lookup before a refusal': 50,
  'a lease that is not compared': 237,
  'a saga that starts over': 18,
  'an account that is not recorded': 5724,
  'an outcome that is written before the effect': 18,
  'no entry of a pending saga': 627,
  'an entry of a pending saga that is removed too early': 7966,
  'no condition on a settled refund': 2333,
  'no ledger entry for a refund that is settled by an event': 18,
  'an event id that is not derived': 2,
  'a relay that goes on after a failure': 49,
  'events without their write': 1,
  'tasks that are not redelivered': 8,
  'a received event that is marked before it is handled': 2,
  'an older event of a cart that counts': 5,
  'a cart that is written whatever its version is': 1700,
  'a page bound off by one': 401,
  'a page that skips an item': 1134,
  'no version in the condition of an update': 274,
  'an entity tag that is not checked': 495,
  'no uniqueness lock': 6,
  'a lock that is left behind': 367,
  'a change without an audit record': 13,
  'a denial without an audit record': 1,
  'an item of another tenant': 17,
  'a tenant of the body instead of the scope': 9,
  'a one-time code that stays open': 7,
  'an import that nobody ends': 67,
  'an e-mail address in an event': 7,
}

/** Plants a defect in the modules that are imported from now on. */
export function plant(name: string): void {
  const defect = defects[name]
  if (!defect) throw new Error(`no defect is called "${name}"`)
  const { file, from, to } = defect
  const target = pathToFileURL(join(import.meta.dirname, '../..', file)).href
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (url !== target) return loaded
      const source = String(loaded.source)
      if (source.split(from).length !== 2) throw new Error(`the defect "${name}" does not fit ${file}`)
      return { ...loaded, source: source.replace(from, () => to) }
    },
  })
}
