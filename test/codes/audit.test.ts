import { describe, expect, test } from '@jest/globals'
import type { Item } from '#shared/platform/table/keys.ts'
import { type Change, keyOfChange } from '#shared/platform/table/table.ts'
import { type Answer, startService } from '../support/service.ts'
import { admin, audit, codeCalls, editor, made } from './code-calls.ts'

const service = await startService()
const calls = codeCalls(service)

/** The writes of the table, each with the operation for each kind of item, the first part of its partition key. */
let writes: string[][] = []
const { openTable } = service.runtime
service.runtime.openTable = (...opening) => {
  const table = openTable(...opening)
  return {
    ...table,
    async transact(changes) {
      writes.push(changes.map(nameOf))
      return table.transact(changes)
    },
    async put(one) {
      writes.push([nameOf(one)])
      return table.put(one)
    },
    async update(one) {
      writes.push([nameOf(one)])
      return table.update(one)
    },
  }
}

function nameOf(change: Change): string {
  const verb =
    'item' in change ? 'put' : 'update' in change ? 'update' : 'remove' in change ? 'delete' : 'check'
  return `${verb} ${keyOfChange(change).pk.split('#')[0]}`
}

/** Makes a call. Returns its transactions and the audit records of a tenant that it wrote. */
async function traced(tenant: string, call: () => Promise<Answer>) {
  const before = (await audit(service, tenant)).length
  writes = []
  const answer = await call()
  return { answer, writes, records: (await audit(service, tenant)).slice(before) }
}

const of = (record: Item | undefined) => ({ before: record?.before, after: record?.after })

describe('the audit record of', () => {
  test('an update is part of its transaction, with the changed fields and no free text', async () => {
    const { id, json } = await made(calls, 'update')
    const headers = { 'X-Correlation-Id': 'update-1' }
    const both = { name: 'Other', expiry_at: '2098-01-01T00:00:00.000Z' }
    const { answer, writes, records } = await traced('update', () =>
      calls.update(editor('update'), id, '*', both, { headers }),
    )
    expect(answer.status).toBe(200)
    expect(writes).toEqual([['put code', 'put audit']])
    expect(records).toEqual([
      {
        pk: expect.any(String),
        sk: expect.any(String),
        actor_id: 'Editor-1',
        token_sub: 'Editor-1',
        role: 'Editor',
        tenant_id: 'update',
        action: 'update',
        target: `code/${id}`,
        result: 'allow',
        reason: 'allowed',
        issuer: 'https://issuer.localhost',
        correlation_id: 'update-1',
        at: expect.stringMatching(/Z$/),
        before: { name: '[redacted]', expiry_at: json.expiry_at },
        after: { name: '[redacted]', expiry_at: both.expiry_at },
      },
    ])
    const same = await traced('update', () => calls.update(editor('update'), id, '*', { name: 'Other' }))
    expect(same.records.map(of)).toEqual([{ before: {}, after: {} }])
    const later = await traced('update', () =>
      calls.update(editor('update'), id, '*', { expiry_at: '2097-01-01T00:00:00Z' }),
    )
    expect(later.records.map(of)).toEqual([
      {
        before: { expiry_at: '2098-01-01T00:00:00.000Z' },
        after: { expiry_at: '2097-01-01T00:00:00.000Z' },
      },
    ])
  })

  const live = { soft_deleted: false }
  const gone = { soft_deleted: true }
  const noHolds = ['check legal_hold', 'check legal_hold']
  const removed = { code: '[redacted]', name: '[redacted]', type: 'percent-10', state: 'active', ...live }
  interface Sensitive {
    act(tenant: string, id: string): Promise<Answer>
    writes: string[]
    record: object
    before?: object
    after: object
  }
  test.each<[string, Sensitive]>([
    [
      'soft_delete',
      {
        act: (tenant, id) => calls.softDelete(editor(tenant), id),
        writes: ['update code', 'put audit'],
        record: { role: 'Editor' },
        before: live,
        after: gone,
      },
    ],
    [
      'restore',
      {
        act: (tenant, id) => calls.restore(editor(tenant), id),
        writes: ['put idempotency', 'put code', 'put audit'],
        record: { role: 'Editor' },
        before: { state: 'soft_deleted', ...gone },
        after: { state: 'active', ...live },
      },
    ],
    [
      'share',
      {
        act: (tenant, id) => calls.share(admin(tenant), id, 'friend'),
        writes: ['put idempotency', 'put audit'],
        record: { role: 'Admin' },
        after: { grantee_tenant: 'friend' },
      },
    ],
    [
      'hard_delete',
      {
        act: (tenant, id) => calls.hardDelete(admin(tenant), id, 'requested by the merchant'),
        writes: ['delete code', 'delete code_lock', ...noHolds, 'put audit'],
        record: { role: 'Admin', reason: 'requested by the merchant' },
        before: {
          ...removed,
          expiry_at: '2099-01-01T00:00:00.000Z',
          code_hash: expect.stringMatching(/^[\w-]{43}$/),
        },
        after: {},
      },
    ],
  ])('a %s is part of its transaction', async (action, { act, writes, record, ...values }) => {
    const { id } = await made(calls, action)
    if (action === 'restore') await calls.softDelete(editor(action), id)
    const written = await traced(action, () => act(action, id))
    expect(written.writes).toEqual([writes])
    expect(written.records).toMatchObject([{ action, target: `code/${id}`, result: 'allow', ...record }])
    expect(of(written.records[0])).toEqual({ before: undefined, ...values })
  })

  test('an Admin’s action in another tenant is stored in that tenant', async () => {
    const { id } = await made(calls, 'branch')
    const far = { ...admin('head'), sub: 'far-admin' }
    const query = { tenant: 'branch' }
    await calls.update(far, id, '*', { name: 'Other' })
    await calls.softDelete(far, id, { query })
    await calls.restore(far, id)
    await calls.share(far, id, 'friend', { query })
    await calls.softDelete(far, id)
    await calls.restore(far, id, { query })
    await calls.hardDelete(far, id, 'requested')
    const records = await audit(service, 'branch')
    expect(records.map(({ action }) => action)).toEqual([
      'update',
      'soft_delete',
      'restore',
      'share',
      'soft_delete',
      'restore',
      'hard_delete',
    ])
    for (const record of records) {
      expect(record).toMatchObject({ tenant_id: 'branch', actor_id: 'far-admin', result: 'allow' })
    }
    expect(await audit(service, 'head')).toEqual([])
  })

  test('a call without effect writes none: a replay, a repeated delete, a rejection', async () => {
    const { id } = await made(calls, 'nothing')
    const extra = { headers: { 'Idempotency-Key': 'once' } }
    await calls.softDelete(editor('nothing'), id, extra)
    const { records } = await traced('nothing', async () => {
      await calls.softDelete(editor('nothing'), id, extra)
      await calls.softDelete(editor('nothing'), id)
      await calls.update(admin('nothing'), id, '"stale"', { name: 'x' })
      return calls.hardDelete(admin('nothing'), id, undefined)
    })
    expect(records).toEqual([])
  })
})
