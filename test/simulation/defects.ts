import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A mistake in the source, which the simulator must find. */
interface Defect {
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
    'const condition = isNew(run)\n',
    'const condition = { absentOrExpiredBy: 9e9 }\n',
  ),
  'a key scope without the principal': shared(
    'platform/request/execution.ts',
    'const owner = await ownerOfKey(context, input)',
    "const owner = ''",
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
    'await provider.refund(requestOf(refund), budget)',
    'await provider.refund({ ...requestOf(refund), refundId: context.newId() }, budget)',
  ),
  'an account that is not recorded': shared(
    'refunds/refund-saga.ts',
    'await provider.refund(requestOf(refund), budget)',
    "await provider.refund({ ...requestOf(refund), account: settings['refunds.account'].prefix + refund.tenant_id }, budget)",
  ),
  'an outcome that is written before the effect': shared(
    'platform/idempotency/run-once.ts',
    '    const effect = await saga.execute(state)\n',
    "    const effect = { refund: state, answer: { asked: 0, outcome: { status: 'succeeded', providerRefundId: 're_0', replayed: false } } }\n",
  ),
  'no entry of a pending saga': shared(
    'platform/idempotency/run-once.ts',
    '    others: addPendingSaga(run, recorded),\n',
    '    others: [],\n',
  ),
  'an entry of a pending saga that is removed too early': shared(
    'platform/request/finish-sagas.ts',
    '  if (record.lease_until > runtime.clock.now()) return false',
    '  if (record.lease_until > runtime.clock.now()) {\n    await table.transact(removePendingSaga({ entry: entry.sk }))\n    return true\n  }',
  ),
  'no condition on a settled refund': shared(
    'refunds/refund-store.ts',
    "return replace(item, { version: before.version }, 'TRANSIENT.error')\n}\n\n/** The ledger",
    "return { item, condition: 'none', onFailure: 'TRANSIENT.error' }\n}\n\n/** The ledger",
  ),
  'no ledger entry for a refund that is settled by an event': shared(
    'webhooks/received-events.ts',
    "return next === 'unchanged' ? 'stale' : effects",
    "return next === 'unchanged' ? 'stale' : { ...effects, writes: effects.writes?.slice(0, 1) ?? [] }",
  ),
  'an event id that is not derived': shared(
    'platform/events/outbox.ts',
    'derivedId([item.pk, item.sk, id, index]',
    'derivedId([item.pk, item.sk, id, index, Math.random()]',
  ),
  'an event that takes from its item what changes': shared(
    'platform/events/outbox.ts',
    'data: dataOf(stored, item),',
    'data: dataOf({ ...stored, data: { ...stored.data, status: item.status } }, item),',
  ),
  'a relay that goes on after a failure': shared(
    'platform/events/relay.ts',
    'if (first >= 0) return { published, failedFrom: batch[first]?.change.sequenceNumber, fault }',
    'if (first >= 0 && fault) return { published, failedFrom: batch[first]?.change.sequenceNumber, fault }',
  ),
  'events without their write': shared(
    'platform/idempotency/commit.ts',
    'changes[0] = { item: withEvents(first, events, context), condition: first.condition }',
    'if (events.length > 2) changes[0] = { item: withEvents(first, events, context), condition: first.condition }',
  ),
  'tasks that are not redelivered': {
    file: 'functions/platform/enqueue-tasks/handler.ts',
    from: 'if (first) return first.sequenceNumber',
    to: 'if (first) continue',
  },
  'a received event that is marked before it is handled': shared(
    'webhooks/handle-event.ts',
    '  const event = JSON.parse(item.event) as WebhookEvent\n',
    "  const event = JSON.parse(item.event) as WebhookEvent\n  await table.transact([markHandled(eventId, 'handled', timestamp(clock.now()))])\n",
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
    '    checkPrecondition(precondition, codeEtag(code, settings))\n',
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
  'a change without an audit record': shared('codes/soft-delete-code.ts', '    audit: auditOf(code),\n', ''),
  'a denial without an audit record': shared(
    'platform/audit/denials.ts',
    'if (!caller || !reason) return error',
    "if (!caller || !reason || reason === 'AUTHZ.role.denied') return error",
  ),
  'an item of another tenant': shared(
    'platform/identity/authorize.ts',
    '  if (scope.allTenants) {\n',
    "  if (scope.allTenants || entity === 'order') {\n",
  ),
  'a denial that names an item of another tenant': shared(
    'platform/audit/denials.ts',
    'const isOwn = (await table.get(keyOf(tenant, entity, id))) !== undefined',
    'const isOwn = true',
  ),
  'a one-time code that stays open': shared(
    'otp/one-time-code.ts',
    '? codes.filter(({ id }) => !right.has(id))',
    '? codes',
  ),
  'an import that nobody ends': shared(
    'operations/end-abandoned.ts',
    "const result = await check(ref, workflow, { table, clock, settings }).catch(() => 'left' as const)",
    "const result = Math.floor(clock.now()) < 0 ? await check(ref, workflow, { table, clock, settings }) : ('left' as const)",
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
  'a rotated API key with another principal': {
    file: 'bin/commands/api-keys.ts',
    from: 'newKey({ tenant, name, scopes, principal_id }, clock)',
    to: 'newKey({ tenant, name, scopes }, clock)',
  },
  'a late payout that is dropped': shared(
    'refunds/refund-states.ts',
    "failed: { succeeded: 'succeeded', failed: 'failed' },",
    'failed: {},',
  ),
  'a reversal that is dropped': shared(
    'refunds/refund-states.ts',
    "succeeded: { failed: 'reversed' },",
    'succeeded: {},',
  ),
  'a reversal that is forgotten before its payout is reported': shared(
    'refunds/refund-states.ts',
    "failed: { succeeded: 'succeeded', failed: 'failed' },",
    "failed: { succeeded: 'succeeded' },",
  ),
  'a reversal without its ledger entry': shared(
    'refunds/refund-store.ts',
    "reversed: ['payout', 'reversal'],",
    "reversed: ['payout'],",
  ),
  'a hold that a reversal does not release': shared(
    'refunds/refund-store.ts',
    'before.filter((one) => one !== refund.id)',
    "before.filter((one) => one !== refund.id || refund.status !== 'failed')",
  ),
  'an older report of the provider that counts': shared(
    'refunds/refund-states.ts',
    ': at > outcome_at',
    ": at > ''",
  ),
  'a repeated answer that counts as a new one': shared(
    'refunds/settle-refund.ts',
    'const since = replayed ? Date.parse(refund.created_at) : asked',
    'const since = asked',
  ),
  'a pending refund that nobody asks about': shared(
    'refunds/check-refunds.ts',
    'filter(({ next_check_at }) => next_check_at <= clock.now())',
    'filter(({ next_check_at }) => next_check_at < 0)',
  ),
  'a settled refund that is never completed': shared(
    'refunds/open-refunds.ts',
    "return status !== 'failed' && (provider_refund_id === undefined || currency === undefined)",
    'return status === currency',
  ),
  'an entry of an open refund that is left behind': shared(
    'refunds/open-refunds.ts',
    "    : [{ remove: key, condition: 'none', onFailure: 'INTERNAL.unexpected' }]",
    '    : []',
  ),
  'an answer that is not added to the ledger': shared(
    'refunds/refund-store.ts',
    'const isLearned = before.currency !== currency || before.provider_refund_id !== provider_refund_id',
    'const isLearned = false',
  ),
  'an outcome without an audit record': shared(
    'refunds/settle-refund.ts',
    '    ...(isEdge && { audit: auditOf(before, after, report) }),\n',
    '',
  ),
  'a refund of another tenant that counts as handled': shared(
    'webhooks/received-events.ts',
    "if (refund.tenant_id !== (data.tenant_id ?? refund.tenant_id)) throw fail('NOT_FOUND.refund')",
    "if (refund.tenant_id !== (data.tenant_id ?? refund.tenant_id)) return 'stale'",
  ),
  'an order of another tenant that counts as handled': shared(
    'webhooks/received-events.ts',
    "if (tenant !== (data.tenant_id ?? tenant)) throw fail('NOT_FOUND.order')",
    "if (tenant !== (data.tenant_id ?? tenant)) return 'stale'",
  ),
  'an event without meaning that counts as handled': shared(
    'webhooks/handle-event.ts',
    "const state = decision === 'ignored' ? 'ignored' : 'handled'",
    "const state = 'handled'",
  ),
  'lines that do not follow their cart': shared(
    'webhooks/cart-events.ts',
    'if (!known?.discounts || !isPriced(after)) return',
    'if (after) return',
  ),
  'a line that takes what others have taken': shared(
    'discounts/cart-discounts.ts',
    'amountOff(pricing, cart, sum, settings)',
    'amountOff(pricing, cart, 0, settings)',
  ),
  'a code that has ended and keeps its part': shared(
    'discounts/cart-discounts.ts',
    'priceCode(codes.get(code_id), now, settings))',
    "priceCode({ ...(codes.get(code_id) as Code), state: 'active' }, now, settings))",
  ),
  'a code that has expired and keeps its part': shared(
    'discounts/cart-discounts.ts',
    'priceCode(codes.get(code_id), now, settings))',
    'priceCode(codes.get(code_id), 0, settings))',
  ),
  'a changed line that is not published': shared(
    'webhooks/cart-events.ts',
    'return { writes: [changedCart(known, { ...after, discounts })], events }',
    'return { writes: [changedCart(known, { ...after, discounts })], events: events.slice(0, 0) }',
  ),
  'an ended line that is not published': shared(
    'discounts/cart-discounts.ts',
    'const changed = [...ended, ...discounts',
    'const changed = [...ended.slice(0, 0), ...discounts',
  ),
  'an unchanged line that is published again': shared(
    'discounts/cart-discounts.ts',
    'const same = before.find((one) => isSame(one, after))',
    'const same = before.find((one) => isSame(one, after) && one.amount_minor === 0)',
  ),
  'a hard delete in spite of a hold': {
    file: 'functions/codes/hard-delete-code/handler.ts',
    from: ", ...requireNoHold(code.tenant_id, 'code', code.id)",
    to: '',
  },
  'an erasure in spite of a hold': {
    file: 'bin/commands/erase-order.ts',
    from: 'transact([...holds, tombstone,',
    to: 'transact([tombstone,',
  },
  'a hold on the tenant that no deletion of an item checks': shared(
    'holds/legal-hold.ts',
    'return [tenantTarget, `',
    'return [`',
  ),
  'a purge that checks holds at its start only': {
    file: 'bin/commands/tenants/purge-tenant.ts',
    from: 'table.transact([requireNoHolds(tenant), ...changes])',
    to: 'table.transact(changes.length > 0 ? changes : [requireNoHolds(tenant)])',
  },
  'a hold on an item that is gone': {
    file: 'bin/commands/legal-holds.ts',
    from: '    ...existing(tenant, target),\n',
    to: '',
  },
  'a hold that is not counted': {
    file: 'bin/commands/legal-holds.ts',
    from: '    countHolds(tenant, 1),\n',
    to: '',
  },
  'an event id without the cart': shared(
    'discounts/promo-events.ts',
    'JSON.stringify([correlation_id, cart_id, code, version])',
    'JSON.stringify([correlation_id, code, version])',
  ),
  'a delivery to a subscriber that is paused': shared(
    'subscribers/send-deliveries.ts',
    "if (subscriber.state !== 'active') return hold(work)",
    "if (subscriber.state === 'disabled') return hold(work)",
  ),
  'a retry whose message is not repeated': shared(
    'subscribers/send-deliveries.ts',
    'if (known && known.attempted >= message.attempt) return ensureNext(known, work)',
    'if (known && known.attempted >= message.attempt) return',
  ),
  'a retry without a pause': shared(
    'subscribers/advance-delivery.ts',
    'return Math.max(0, Math.ceil((at - now()) / 1000))',
    'return Math.max(0, Math.ceil((now() - at) / 1000))',
  ),
  'an attempt that is recorded over another one': shared(
    'subscribers/advance-delivery.ts',
    'condition: known ? moveCondition(trigger, known) : { absent: true } },\n      ...replaceWaiting(message.tenant, delivery.waiting, entry)',
    "condition: 'none' },\n      ...replaceWaiting(message.tenant, delivery.waiting, entry)",
  ),
  'an attempt above the schedule': shared(
    'subscribers/record-attempt.ts',
    'retriesAfterSeconds[attempted - attempted_before]',
    '(retriesAfterSeconds[attempted - attempted_before] ?? (attempted < 6 ? 1 : undefined))',
  ),
  'a waiting delivery that leaves the table before it is queued': shared(
    'subscribers/sweep-deliveries.ts',
    '    await sendToQueue(\n',
    "    await table.transact(batch.map(({ pk, sk }) => ({ remove: { pk, sk }, condition: 'none' })))\n    await sendToQueue(\n",
  ),
  'a held delivery without an entry': shared(
    'subscribers/create-deliveries.ts',
    "    { item: entry, condition: 'none' },\n",
    '',
  ),
  'a copy of a message that doubles all retries': shared(
    'subscribers/advance-delivery.ts',
    'await queueAttempt(seconds > 0 ? attempted : attempted + 1, seconds, work)',
    'await queueNext(stored, work)',
  ),
  'a delivery of a blocked tenant': shared(
    'subscribers/send-deliveries.ts',
    'if (await work.isBlocked(message.tenant, work.table)) return waitForUnblock(work)',
    'if (known && (await work.isBlocked(message.tenant, work.table))) return waitForUnblock(work)',
  ),
  'a delivery of a blocked tenant without an entry': shared(
    'subscribers/advance-delivery.ts',
    '...postponed(work.now(), work)])',
    '...postponed(work.now(), work).slice(0, 1)])',
  ),
  'subscribers that are read once for all tenants': shared(
    'subscribers/create-deliveries.ts',
    'const subscribers = known.get(tenant) ?? subscribersOf',
    'const subscribers = [...known.values()][0] ?? subscribersOf',
  ),
  'a secret that ends at its rotation': shared(
    'subscribers/subscriber.ts',
    '{ secrets: [{ sealed }, ...earlier] }',
    '{ secrets: [{ sealed }, ...earlier.slice(1)] }',
  ),
  'an ended secret that still signs': shared(
    'subscribers/subscriber.ts',
    'valid_until === undefined || valid_until > now)',
    'valid_until === undefined || valid_until > 0 * now)',
  ),
  'a call that is cut off and counts for the schedule': shared(
    'subscribers/record-attempt.ts',
    "...(one.reason === 'no_slot' && {",
    "...(one.reason === 'gone' && {",
  ),
  'a call that is cut off and not recorded': shared(
    'subscribers/send-deliveries.ts',
    "return record(made, 'retry', work, slotFreeAt(work))",
    'return postpone(slotFreeAt(work), work)',
  ),
  'a slot that is never free again': shared(
    'subscribers/subscriber-health.ts',
    "return now + settings['deliveries.timeoutSeconds'] * 1000 + lease",
    "return now + settings['deliveries.timeoutSeconds'] * 1e9 + lease",
  ),
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
