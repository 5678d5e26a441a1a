import { describe, expect, test } from '@jest/globals'
import { codeEtag } from '#shared/codes/code-store.ts'
import { messageId } from '#shared/error-catalog.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { outcome } from '#test/support/outcome.ts'
import { localSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { admin, audit, codeCalls, editor, resultsOf, seeded, storeMany } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

const { maxItems } = localSettings['codes.bulkUpdate']
const newTenant = () => uniqueTenant('updater')

/** Stores codes of a tenant. Returns their ids and tags as items of a bulk update. */
async function itemsOf(tenant: string, count: number): Promise<{ id: string; if_match: string }[]> {
  const codes = await storeMany(service, tenant, count)
  return codes.map((code) => ({ id: code.id, if_match: codeEtag(code, localSettings) }))
}
const versionsOf = async (tenant: string) =>
  (await service.items(tenant, 'code')).map(({ version }) => version)
const denialsOf = async (tenant: string) =>
  (await audit(service, tenant)).filter(({ result }) => result === 'deny')

describe('POST /codes:bulkUpdate', () => {
  test('updates each item like PATCH, and returns the results in the order of the items', async () => {
    const tenant = newTenant()
    const made = (await itemsOf(tenant, maxItems)).toReversed()
    const items = made.map((one, n) => ({ ...one, name: ` Name ${n} ` }))
    const answer = await calls.bulkUpdate(editor(tenant), items)
    expect(answer).toMatchObject({ status: 207, headers: { 'Idempotency-Status': 'stored' } })
    expect(answer.json).toEqual({
      items: made.map(({ id }, n) => ({ row: n + 1, id, status: 200, etag: expect.any(String) })),
      counts: { total: maxItems, succeeded: maxItems, failed: 0 },
    })
    const stored = new Map((await service.items(tenant, 'code')).map((item) => [item.id, item]))
    expect(made.map(({ id }) => [stored.get(id)?.name, stored.get(id)?.version])).toEqual(
      made.map((_, n) => [`Name ${n}`, 2]),
    )
    const targets = (await audit(service, tenant)).map(({ target }) => target)
    expect(targets.sort()).toEqual(made.map(({ id }) => `code/${id}`).sort())
  })

  test('updates codes of every tenant for an Admin, and audits each in the tenant of its code', async () => {
    const [home, near, far] = [newTenant(), newTenant(), newTenant()]
    const [one, other] = [await seeded(service, near), await seeded(service, far)]
    const items = [one, other].map(({ id }) => ({ id, if_match: '*', name: 'After' }))
    expect(resultsOf(await calls.bulkUpdate(admin(home), items))).toEqual([200, 200])
    expect(await audit(service, home)).toEqual([])
    expect(await audit(service, near)).toMatchObject([{ target: `code/${one.id}`, tenant_id: near }])
    expect(await audit(service, far)).toMatchObject([{ target: `code/${other.id}`, tenant_id: far }])
  })

  test.each<[string, unknown, string]>([
    ['no items', [], 'VALIDATION.field.length'],
    ['too many items', Array(maxItems + 1).fill({ id: 'x' }), 'VALIDATION.field.length'],
    ['items that are not an array', { id: 'x' }, 'VALIDATION.field.type'],
    ['an item that is an array', [['x']], 'VALIDATION.field.type'],
    ['an item that is null', [null], 'VALIDATION.field.type'],
  ])('with %s is rejected', async (_, items, code) => {
    expect(outcome(await calls.bulkUpdate(editor(newTenant()), items))).toBe(`400 ${code}`)
  })
})

test('a corrupt stored code fails only its own item, and the log names the item', async () => {
  const tenant = newTenant()
  const made = await itemsOf(tenant, 3)
  const [damaged] = await service.items(tenant, 'code')
  const item = { ...(damaged as Item), updated_at: 'never' }
  await service.table.put({ item, condition: { matches: { version: 1 } } })
  service.notices.length = 0
  const items = made.map((one) => ({ ...one, if_match: '*', name: 'After' }))
  const failing = codeCalls({
    ...service,
    call: (call) => service.call({ ...call, failsInternally: true }),
  })
  expect(resultsOf(await failing.bulkUpdate(editor(tenant), items))).toEqual([
    'INTERNAL.unexpected',
    200,
    200,
  ])
  const fault = expect.any(RangeError)
  expect(service.notices).toMatchObject([
    { code: 'ROW_FAILED', error: 'INTERNAL.unexpected', operation: 'codes.bulk-update', fault },
  ])
})

test('too many items that are no objects are one error, so a small request has a small response', async () => {
  const answer = await calls.bulkUpdate(editor(newTenant()), Array(maxItems + 1).fill(0))
  expect(Object.keys(answer.json.error.details.fields)).toEqual(['items'])
})

describe('an item of a bulk update', () => {
  test.each<[string, object, number, string, object?]>([
    ['with a stale tag', { if_match: '"stale"' }, 412, 'CONFLICT.etag.mismatch'],
    ['without a tag', { if_match: undefined }, 428, 'VALIDATION.if_match.required'],
    ['with an empty tag', { if_match: ' ' }, 428, 'VALIDATION.if_match.required'],
    ['with a tag that is a number', { if_match: 1 }, 400, 'VALIDATION.field.type'],
    ['without an id', { id: undefined }, 400, 'VALIDATION.field.required'],
    ['with an id that is not valid text', { id: { toString: 1, valueOf: 1 } }, 400, 'VALIDATION.field.type'],
    ['with an id of an absent code', { id: '../codes' }, 404, 'NOT_FOUND.code', {}],
    ['without changes', { name: undefined }, 400, 'VALIDATION.body.invalid'],
    ['with an unknown field', { constructor: 1 }, 400, 'VALIDATION.field.unknown'],
    ['with __proto__', JSON.parse('{"__proto__":{"name":"x"}}'), 400, 'VALIDATION.field.unknown'],
    ['that writes an immutable field', { code: 'x' }, 403, 'AUTHZ.field.denied'],
  ])('%s fails without affecting the others', async (...bad) => {
    const [, change, status, code, details] = bad
    const tenant = newTenant()
    const made = await itemsOf(tenant, 3)
    const items = made.map((one, n) => ({ ...one, name: 'After', ...(n === 1 && change) }))
    const answer = await calls.bulkUpdate(editor(tenant), items)
    expect(resultsOf(answer)).toEqual([200, code, 200])
    const shown = { code, message_id: messageId(code), http: status, retryable: false }
    const error = { ...shown, details: details ?? expect.anything() }
    const id = typeof items[1]?.id === 'string' ? items[1].id : null
    expect(answer.json.items[1]).toEqual({ row: 2, id, status, error })
    expect(answer.json.counts).toEqual({ total: 3, succeeded: 2, failed: 1 })
    expect(await versionsOf(tenant)).toEqual([2, 1, 2])
    expect({}).not.toHaveProperty('name')
    const target = status === 404 ? 'code' : `code/${made[1]?.id}`
    const isDenial = status === 403 || status === 404
    expect(await denialsOf(tenant)).toMatchObject(isDenial ? [{ reason: code, target }] : [])
  })

  test('of another tenant is treated as absent; both are audited without their ids', async () => {
    const [tenant, other] = [newTenant(), newTenant()]
    const [foreign, own] = [await seeded(service, other), await seeded(service, tenant)]
    const absent = foreign.id.replace(/.{4}$/, foreign.id.endsWith('0000') ? '1111' : '0000')
    const items = [foreign.id, own.id, absent].map((id) => ({ id, if_match: '*', name: 'After' }))
    const answer = await calls.bulkUpdate(editor(tenant), items)
    expect(resultsOf(answer)).toEqual(['NOT_FOUND.code', 200, 'NOT_FOUND.code'])
    const [first, , third] = answer.json.items
    expect({ ...first, row: 0, id: '' }).toEqual({ ...third, row: 0, id: '' })
    const records = await denialsOf(tenant)
    expect(records.map(({ target, reason }) => [target, reason]).sort()).toEqual([
      ['code', 'AUTHZ.scope.tenant'],
      ['code', 'NOT_FOUND.code'],
    ])
    for (const id of [foreign.id, absent, other]) expect(JSON.stringify(records)).not.toContain(id)
    expect(await versionsOf(other)).toEqual([1])
  })

  test('that fails has the id that the request names, unless it is long, also in a replay', async () => {
    const tenant = newTenant()
    const { id: own } = await seeded(service, tenant)
    const ids = ['', 'no-id', '\ud800"\u0000', 'x'.repeat(64), 'x'.repeat(65), own, 7, null]
    const items = ids.map((id) => ({ id, if_match: '"stale"', name: 'After' }))
    const send = () => calls.bulkUpdate(editor(tenant), items, { headers: { 'Idempotency-Key': 'named' } })
    const [first, replay] = [await send(), await send()]
    const named = ['', 'no-id', '\ud800"\u0000', 'x'.repeat(64), null, own, null, null]
    expect(first.json.items.map(({ id }: { id: string | null }) => id)).toEqual(named)
    expect(first.json.counts.failed).toBe(ids.length)
    expect([replay.headers['Idempotency-Status'], replay.body === first.body]).toEqual(['replayed', true])
  })

  test('that is repeated with the same tag is updated once, and its repetition is stale', async () => {
    const tenant = newTenant()
    const made = await itemsOf(tenant, 3)
    const items = ['First', 'Second'].flatMap((name) => made.map((one) => ({ ...one, name })))
    const stale = 'CONFLICT.etag.mismatch'
    const results = resultsOf(await calls.bulkUpdate(editor(tenant), items))
    expect(results).toEqual([200, 200, 200, stale, stale, stale])
    const names = (await service.items(tenant, 'code')).map(({ name, version }) => [name, version])
    expect(names).toEqual(made.map(() => ['First', 2]))
  })

  test('returns the tag that its next update needs', async () => {
    const tenant = newTenant()
    let items = (await itemsOf(tenant, 3)).map((one) => ({ ...one, name: 'First' }))
    for (const name of ['Second', 'Third']) {
      const answer = await calls.bulkUpdate(editor(tenant), items)
      expect(resultsOf(answer)).toEqual([200, 200, 200])
      const rows: { id: string; etag: string }[] = answer.json.items
      for (const { id, etag } of rows) expect((await calls.read(editor(tenant), id)).headers.ETag).toBe(etag)
      items = rows.map(({ id, etag }) => ({ id, if_match: etag, name }))
    }
  })

  test('that is repeated with if_match * is updated each time, in order', async () => {
    const tenant = newTenant()
    const { id } = await seeded(service, tenant)
    const items = Array.from({ length: 20 }, (_, n) => ({ id, if_match: '*', name: `Name ${n}` }))
    expect(resultsOf(await calls.bulkUpdate(editor(tenant), items))).toEqual(items.map(() => 200))
    const [item] = await service.items(tenant, 'code')
    expect(item).toMatchObject({ name: 'Name 19', version: 21 })
    expect(await audit(service, tenant)).toHaveLength(20)
  })
})
