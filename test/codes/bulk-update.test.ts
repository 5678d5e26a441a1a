import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { localSettings } from '../support/settings.ts'
import {
  admin,
  audited,
  create,
  createMany,
  editor,
  newTenant,
  results,
  send,
  service,
} from './bulk-updates.ts'

const { maxItems } = localSettings['codes.bulkUpdate']
const read = (tenant: string, id: string) => service.call({ path: `/codes/${id}`, as: editor(tenant) })

describe('POST /codes:bulkUpdate', () => {
  test('updates each item like PATCH, and returns the results in the order of the items', async () => {
    const tenant = newTenant()
    const made = await createMany(tenant, maxItems)
    const items = made.map((one, n) => ({ ...one, name: ` Name ${n} ` }))
    const answer = await send(tenant, items)
    expect(answer).toMatchObject({ status: 207, headers: { 'Idempotency-Status': 'stored' } })
    expect(answer.json).toEqual({
      items: made.map(({ id }, n) => ({ row: n + 1, id, status: 200 })),
      counts: { total: maxItems, succeeded: maxItems, failed: 0 },
    })
    const stored = new Map((await service.items(tenant, 'code')).map((item) => [item.id, item]))
    expect(made.map(({ id }) => [stored.get(id)?.name, stored.get(id)?.version])).toEqual(
      made.map((_, n) => [`Name ${n}`, 2]),
    )
    const records = await audited(tenant)
    expect(records.map(({ target }) => target).sort()).toEqual(made.map(({ id }) => `code/${id}`).sort())
  })

  test('updates the same attributes as PATCH, and the tag', async () => {
    const tenant = newTenant()
    const [bulk, alone] = await createMany(tenant, 2)
    if (!bulk || !alone) throw new Error('no codes were made')
    const changes = { name: 'E\u0301te\u0301', expiry_at: '2098-06-01T12:00:00+02:00' }
    const headers = { 'X-Correlation-Id': 'bulk-1' }
    await send(tenant, [{ ...bulk, ...changes }], { headers })
    const patch = { method: 'PATCH', body: changes, headers: { ...headers, 'If-Match': alone.if_match } }
    await service.call({ path: `/codes/${alone.id}`, as: editor(tenant), ...patch })
    const [one, other] = [await read(tenant, bulk.id), await read(tenant, alone.id)]
    const alike = { id: '', code: '', created_at: '', updated_at: '' }
    expect({ ...one.json, ...alike }).toEqual({ ...other.json, ...alike })
    expect(one).toMatchObject({ json: { name: 'Été', expiry_at: '2098-06-01T10:00:00.000Z' } })
    expect(one.headers.ETag).not.toBe(bulk.if_match)
    const [first, second] = await audited(tenant)
    const own = { pk: '', sk: '', id: '', target: '', at: '' }
    expect({ ...first, ...own }).toEqual({ ...second, ...own })
  })

  test('updates codes of every tenant for an Admin, and audits each in the tenant of its code', async () => {
    const [home, near, far] = [newTenant(), newTenant(), newTenant()]
    const [one, other] = [await create(near), await create(far)]
    const items = [
      { ...one, name: 'After' },
      { ...other, name: 'After' },
    ]
    expect(results(await send(home, items, { as: admin(home) }))).toEqual([200, 200])
    expect(await audited(home)).toEqual([])
    expect(await audited(near)).toMatchObject([{ target: `code/${one.id}`, tenant_id: near, role: 'Admin' }])
    expect(await audited(far)).toMatchObject([{ target: `code/${other.id}`, tenant_id: far, role: 'Admin' }])
  })

  test.each<[string, unknown, string]>([
    ['no items', [], 'VALIDATION.field.length'],
    ['too many items', Array(maxItems + 1).fill({ id: 'x' }), 'VALIDATION.field.length'],
    ['items that are not an array', { id: 'x' }, 'VALIDATION.field.type'],
    ['an item that is a string', ['x'], 'VALIDATION.field.type'],
    ['an item that is an array', [['x']], 'VALIDATION.field.type'],
    ['an item that is null', [null], 'VALIDATION.field.type'],
  ])('with %s is rejected', async (_, items, code) => {
    const answer = await send(newTenant(), items)
    expect(outcome(answer)).toBe(`400 ${code}`)
  })

  test('with an item that is not an object names the type of one', async () => {
    const { json } = await send(newTenant(), [1])
    const facts = { reason: 'type', type: 'object', actual: 'number' }
    expect(json.error.details.fields).toEqual({ 'items.0': { code: 'VALIDATION.field.type', ...facts } })
  })
})
