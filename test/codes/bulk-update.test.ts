import { beforeAll, describe, expect, test } from '@jest/globals'
import { makeCode } from '#shared/codes/code.ts'
import { codeEtag, newCode } from '#shared/codes/code-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { type Call, type Service, startService } from '../support/service.ts'
import { localSettings, profile } from '../support/settings.ts'

interface Made {
  id: string
  if_match: string
}

interface Row {
  row: number
  id: string | null
  status: number
  error?: { code: string; details: object }
}

const scope = 'codes:read codes:write'
const { maxItems } = localSettings['codes.bulkUpdate']

/** A budget large enough for many items on a busy machine. */
const patient = {
  ...localSettings,
  'requests.timeoutHeader': { unit: 'milliseconds' as const, maxMilliseconds: 60_000 },
}

let service: Service
let tenants = 0
let codes = 0
beforeAll(async () => {
  service = await startService({ settings: patient })
})

const newTenant = () => `updater-${tenants++}`
const editor = (tenant: string) => ({ tenant, role: 'Editor', scope })
const admin = (tenant: string) => ({ tenant, role: 'Admin', scope })
const send = (tenant: string, items: unknown, call: Partial<Call> = {}, to = service) =>
  to.call({
    method: 'POST',
    path: '/codes:bulkUpdate',
    as: editor(tenant),
    body: { items },
    ...call,
    headers: { 'Idempotency-Key': crypto.randomUUID(), ...call.headers },
  })

/** Codes that an Editor of the tenant has made, and their tags. */
async function createMany(tenant: string, count: number): Promise<Made[]> {
  const fields = { type: 'percent-10', name: 'Before', expiry_at: '2099-01-01T00:00:00.000Z' }
  const made = Array.from({ length: count }, () =>
    makeCode(
      { code: `BULK-${codes++}`, ...fields },
      { id: newId(systemClock), tenant, createdBy: 'u1' },
      localSettings,
    ),
  )
  for (let from = 0; from < count; from += 50) {
    const writes = made.slice(from, from + 50).flatMap(newCode)
    await service.table.transact(writes.map(({ onFailure: _, ...change }) => change))
  }
  return made.map((code) => ({ id: code.id, if_match: codeEtag(code) }))
}

const create = async (tenant: string) => (await createMany(tenant, 1))[0] as Made
const read = (tenant: string, id: string) => service.call({ path: `/codes/${id}`, as: editor(tenant) })
const told = (answer: { json: { items: Row[] } }) =>
  answer.json.items.map(({ status, error }) => (error ? [status, error.code] : status))
const audited = async (tenant: string, action = 'update') =>
  (await service.items(tenant, 'audit')).filter((record) => record.action === action)

describe('POST /codes:bulkUpdate', () => {
  test('updates each item like PATCH, and returns the results in the order of the items', async () => {
    const tenant = newTenant()
    const made = await createMany(tenant, maxItems)
    const items = made.map((one, n) => ({ ...one, name: ` Name ${n} ` }))
    const answer = await send(tenant, items)
    expect([answer.status, answer.headers['Idempotency-Status']]).toEqual([207, 'stored'])
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
    expect([one.json.name, one.json.expiry_at]).toEqual(['Été', '2098-06-01T10:00:00.000Z'])
    expect(one.headers.ETag).not.toBe(bulk.if_match)
    const [first, second] = await audited(tenant)
    const own = { pk: '', sk: '', id: '', target: '', at: '' }
    expect({ ...first, ...own }).toEqual({ ...second, ...own })
  })

  test('replays the response for a repeated key, and rejects another payload', async () => {
    const tenant = newTenant()
    const [one, other] = await createMany(tenant, 2)
    const items = [
      { ...one, name: 'After' },
      { ...other, if_match: '"stale"', name: 'After' },
    ]
    const headers = { 'Idempotency-Key': 'key' }
    const first = await send(tenant, items, { headers })
    const stored = await service.items(tenant, 'code')
    const replay = await send(tenant, items, { headers })
    expect([replay.status, replay.body, replay.headers['Idempotency-Status']]).toEqual([
      207,
      first.body,
      'replayed',
    ])
    const changed = await send(tenant, items.toReversed(), { headers })
    expect([changed.status, changed.json.error.code]).toEqual([409, 'CONFLICT.idempotency.payload_mismatch'])
    expect(await service.items(tenant, 'code')).toEqual(stored)
    expect(await audited(tenant)).toHaveLength(1)
  })

  test('updates codes of every tenant for an Admin, and audits each in the tenant of its code', async () => {
    const [home, near, far] = [newTenant(), newTenant(), newTenant()]
    const [one, other] = [await create(near), await create(far)]
    const items = [
      { ...one, name: 'After' },
      { ...other, name: 'After' },
    ]
    expect(told(await send(home, items, { as: admin(home) }))).toEqual([200, 200])
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
    expect([answer.status, answer.json.error.code]).toEqual([400, code])
  })

  test('is denied to a Viewer, and rejected without a key', async () => {
    const tenant = newTenant()
    const items = [{ ...(await create(tenant)), name: 'After' }]
    const viewer = await send(tenant, items, { as: { ...editor(tenant), role: 'Viewer' } })
    expect([viewer.status, viewer.json.error.code]).toEqual([403, 'AUTHZ.role.denied'])
    const keyless = await send(tenant, items, { headers: { 'Idempotency-Key': '' } })
    expect([keyless.status, keyless.json.error.code]).toEqual([400, 'VALIDATION.idempotency_key.required'])
    expect((await service.items(tenant, 'code')).map(({ version }) => version)).toEqual([1])
  })

  test('without a key is executed each time if the profile requires none', async () => {
    const tenant = newTenant()
    const settings = profile('shared/settings/profiles/local.json', { 'idempotency.requiredOn': [] })
    const lax = await startService({ tableName: service.tableName, settings })
    const { id, if_match } = await create(tenant)
    const body = { items: [{ id, if_match, name: 'After' }] }
    const call = { method: 'POST', path: '/codes:bulkUpdate', as: editor(tenant), body }
    expect(told(await lax.call(call))).toEqual([200])
    expect(told(await lax.call(call))).toEqual([[412, 'CONFLICT.etag.mismatch']])
  })
})
