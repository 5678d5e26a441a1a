import { describe, expect, test } from '@jest/globals'
import { messageId } from '#shared/error-catalog.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { outcome } from '#test/support/outcome.ts'
import { admin, audited, create, editor, newTenant, results, send, service } from './bulk-updates.ts'

const createThree = (tenant: string) => Promise.all([create(tenant), create(tenant), create(tenant)])
const versionsOf = async (tenant: string) =>
  Object.fromEntries((await service.items(tenant, 'code')).map(({ id, version }) => [id, version]))

test('a corrupt stored code fails only its own item, and the log names the item', async () => {
  const tenant = newTenant()
  const made = await createThree(tenant)
  const damaged = (await service.items(tenant, 'code')).find(({ id }) => id === made[0].id)
  await service.table.put({
    item: { ...(damaged as Item), updated_at: 'never' },
    condition: { matches: { version: 1 } },
  })
  service.notices.length = 0
  const answer = await send(
    tenant,
    made.map((one) => ({ ...one, if_match: '*', name: 'After' })),
  )
  expect(results(answer)).toEqual([[500, 'INTERNAL.unexpected'], 200, 200])
  expect(service.notices).toMatchObject([
    {
      code: 'ROW_FAILED',
      error: 'INTERNAL.unexpected',
      operation: 'codes.bulk-update',
      fault: expect.any(RangeError),
    },
  ])
})

describe('an item of a bulk update', () => {
  const immutable = ['code', 'type', 'created_by', 'tenant_id', 'soft_deleted', 'created_at', 'updated_at']
  test.each<[string, object, number, string, object?]>([
    ['with a stale tag', { if_match: '"stale"' }, 412, 'CONFLICT.etag.mismatch', {}],
    ['with a weak tag', { if_match: 'W/"1"' }, 412, 'CONFLICT.etag.mismatch', {}],
    ['without a tag', { if_match: undefined }, 428, 'VALIDATION.if_match.required'],
    ['with an empty tag', { if_match: ' ' }, 428, 'VALIDATION.if_match.required'],
    ['with a tag that is a number', { if_match: 1 }, 400, 'VALIDATION.field.type'],
    ['without an id', { id: undefined }, 400, 'VALIDATION.field.required'],
    ['with an id that is a number', { id: 7 }, 400, 'VALIDATION.field.type'],
    ['with an id that is not valid text', { id: { toString: 1, valueOf: 1 } }, 400, 'VALIDATION.field.type'],
    ['with an id of an absent code', { id: '../codes' }, 404, 'NOT_FOUND.code', {}],
    ['without changes', { name: undefined }, 400, 'VALIDATION.body.invalid'],
    ['with an overlong name', { name: 'x'.repeat(65) }, 400, 'VALIDATION.name.length.exceeds'],
    [
      'with a name 20 lists deep',
      { name: JSON.parse(`${'['.repeat(20)}${']'.repeat(20)}`) },
      400,
      'VALIDATION.field.type',
    ],
    ['with an expiry in the past', { expiry_at: '2020-01-01T00:00:00Z' }, 400, 'VALIDATION.date.range'],
    ['with an unknown field', { colour: 'red' }, 400, 'VALIDATION.field.unknown'],
    ['with a field named like an object method', { constructor: 1 }, 400, 'VALIDATION.field.unknown'],
    ['with a field named prototype', { prototype: {} }, 400, 'VALIDATION.field.unknown'],
    [
      'with a field named __proto__',
      JSON.parse('{"__proto__":{"name":"x"}}'),
      400,
      'VALIDATION.field.unknown',
    ],
    ...immutable.map((field): [string, object, number, string] => [
      `that writes ${field}`,
      { [field]: 'x' },
      403,
      'AUTHZ.field.denied',
    ]),
  ])('%s fails without affecting the others', async (...bad) => {
    const [, change, status, code, details] = bad
    const tenant = newTenant()
    const [before, one, after] = await createThree(tenant)
    const items = [before, one, after].map((made) => ({
      ...made,
      name: 'After',
      ...(made === one && change),
    }))
    const answer = await send(tenant, items)
    expect(results(answer)).toEqual([200, [status, code], 200])
    const shown = { code, message_id: messageId(code), http: status, retryable: false }
    const error = { ...shown, details: details ?? expect.anything() }
    const sent = items[1]?.id
    const id = typeof sent === 'string' ? sent : null
    expect(answer.json.items[1]).toEqual({ row: 2, id, status, error })
    expect(answer.json.counts).toEqual({ total: 3, succeeded: 2, failed: 1 })
    expect(await versionsOf(tenant)).toEqual({ [before.id]: 2, [one.id]: 1, [after.id]: 2 })
    expect({}).not.toHaveProperty('name')
    const denied = (await audited(tenant)).filter(({ result }) => result === 'deny')
    const isDenial = status === 403 || status === 404
    expect(denied.map(({ reason, target }) => [reason, target])).toEqual(
      isDenial ? [[code, status === 404 ? 'code' : `code/${one.id}`]] : [],
    )
  })

  test('of another tenant is treated as absent; both are audited without their ids', async () => {
    const [tenant, other] = [newTenant(), newTenant()]
    const foreign = await create(other)
    const absent = foreign.id.replace(/.{4}$/, foreign.id.endsWith('0000') ? '1111' : '0000')
    const own = await create(tenant)
    const ids = [foreign.id, own.id, absent]
    const answer = await send(
      tenant,
      ids.map((id) => ({ id, if_match: '*', name: 'After' })),
    )
    expect(results(answer)).toEqual([[404, 'NOT_FOUND.code'], 200, [404, 'NOT_FOUND.code']])
    const [first, , third] = answer.json.items
    expect({ ...first, row: 0, id: '' }).toEqual({ ...third, row: 0, id: '' })
    const records = (await audited(tenant)).filter(({ result }) => result === 'deny')
    expect(records.map(({ target, reason }) => [target, reason]).sort()).toEqual([
      ['code', 'AUTHZ.scope.tenant'],
      ['code', 'NOT_FOUND.code'],
    ])
    for (const id of [foreign.id, absent, other]) expect(JSON.stringify(records)).not.toContain(id)
    expect(await versionsOf(other)).toEqual({ [foreign.id]: 1 })
  })

  test('that fails has the id that the request names, whatever it is, also in a replay', async () => {
    const tenant = newTenant()
    const foreign = await create(newTenant())
    const own = await create(tenant)
    const ids = [foreign.id, '', 'no-id', '\ud800"\u0000', 'x'.repeat(100_000), own.id, 7, null]
    const items = ids.map((id) => ({ id, if_match: '"stale"', name: 'After' }))
    const headers = { 'Idempotency-Key': 'named' }
    const [first, replay] = [await send(tenant, items, { headers }), await send(tenant, items, { headers })]
    const named = ids.map((id) => (typeof id === 'string' ? id : null))
    expect(first.json.items.map(({ id }: { id: string | null }) => id)).toEqual(named)
    expect(first.json.counts.failed).toBe(ids.length)
    expect([replay.headers['Idempotency-Status'], replay.body === first.body]).toEqual(['replayed', true])
  })

  test('that is soft-deleted is denied to an Editor and audited, and updated for an Admin', async () => {
    const tenant = newTenant()
    const [live, deleted] = await createThree(tenant)
    await service.call({ method: 'DELETE', path: `/codes/${deleted.id}`, as: editor(tenant) })
    const items = [live, deleted].map(({ id }) => ({ id, if_match: '*', name: 'After' }))
    expect(results(await send(tenant, items))).toEqual([200, [409, 'CONFLICT.soft_deleted']])
    expect((await audited(tenant)).filter(({ result }) => result === 'deny')).toMatchObject([
      { target: `code/${deleted.id}`, reason: 'CONFLICT.soft_deleted', actor_id: 'u1' },
    ])
    const as = admin(tenant)
    expect(results(await send(tenant, items, { as }))).toEqual([200, 200])
    const [item] = (await service.items(tenant, 'code')).filter(({ id }) => id === deleted.id)
    expect(item).toMatchObject({ name: 'After', soft_deleted: true, state: 'soft_deleted' })
  })

  test('that is repeated with the same tag is updated once, and its repetition is stale', async () => {
    const tenant = newTenant()
    const made = await createThree(tenant)
    const items = ['First', 'Second'].flatMap((name) => made.map((one) => ({ ...one, name })))
    const stale = [412, 'CONFLICT.etag.mismatch']
    expect(results(await send(tenant, items))).toEqual([200, 200, 200, stale, stale, stale])
    const names = (await service.items(tenant, 'code')).map(({ name, version }) => [name, version])
    expect(names).toEqual(made.map(() => ['First', 2]))
  })

  test('that is repeated with if_match * is updated each time, in order', async () => {
    const tenant = newTenant()
    const { id } = await create(tenant)
    const items = Array.from({ length: 20 }, (_, n) => ({ id, if_match: '*', name: `Name ${n}` }))
    expect(results(await send(tenant, items))).toEqual(items.map(() => 200))
    const [item] = await service.items(tenant, 'code')
    expect(item).toMatchObject({ name: 'Name 19', version: 21 })
    expect(await audited(tenant)).toHaveLength(20)
  })

  test('with an excessive depth rejects the entire body and changes nothing', async () => {
    const tenant = newTenant()
    const made = await create(tenant)
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
    const body = `{"items":[${JSON.stringify({ ...made, name: 'After' })},{"id":${deep}}]}`
    const answer = await send(tenant, undefined, { body })
    expect(outcome(answer)).toBe('400 VALIDATION.body.too_deep')
    expect(await versionsOf(tenant)).toEqual({ [made.id]: 1 })
  })
})
