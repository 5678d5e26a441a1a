import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { describe, expect, test } from '@jest/globals'
import type { Item } from '#shared/platform/table/keys.ts'
import { testClient } from '../support/dynamodb-client.ts'
import { type Answer, startService } from '../support/service.ts'
import { admin, audit, codeCalls, editor, made, viewer } from './code-calls.ts'

/** The commands sent to the table, by name, with their input. */
let sent: { name: string; input: { TransactItems?: TransactWriteItem[] } }[] = []

function recordingClient(): DynamoDBClient {
  const client = testClient()
  const send = client.send.bind(client) as (...parameters: unknown[]) => Promise<unknown>
  const recorded = (command: { constructor: { name: string }; input: object }, ...more: unknown[]) => {
    sent.push({ name: command.constructor.name, input: command.input })
    return send(command, ...more)
  }
  return Object.assign(client, { send: recorded })
}

const service = await startService({ client: recordingClient() })
const calls = codeCalls(service)

const isWrite = ({ name }: { name: string }) => /^(TransactWrite|Put|Update|Delete|BatchWrite)/.test(name)

/** Returns the operation of a transaction for each kind of item, the first part of its partition key. */
function changesOf(items: TransactWriteItem[] = []): string[] {
  return items.map(({ Put, Update, Delete, ConditionCheck }) => {
    const attributes = Put?.Item ?? (Update ?? Delete ?? ConditionCheck)?.Key ?? {}
    const verb = Put ? 'put' : Update ? 'update' : Delete ? 'delete' : 'check'
    return `${verb} ${String(unmarshall(attributes).pk).split('#')[0]}`
  })
}

/** Makes a call. Returns its transactions and the audit records of a tenant that it wrote. */
async function traced(tenant: string, call: () => Promise<Answer>) {
  const before = (await audit(service, tenant)).length
  sent = []
  const answer = await call()
  const writes = sent.filter(isWrite).map(({ name, input }) => [name, ...changesOf(input.TransactItems)])
  return { answer, writes, records: (await audit(service, tenant)).slice(before) }
}

const once = (...changes: string[]) => [['TransactWriteItemsCommand', ...changes]]
const of = (record: Item | undefined) => ({ before: record?.before, after: record?.after })

describe('the audit record of a denied', () => {
  const denial = async (tenant: string, call: (id: string) => Promise<Answer>) => {
    const { id } = await made(calls, tenant)
    await call(id)
    const [record] = (await audit(service, tenant)).map(({ action, target, result, reason, after }) => {
      return { action, target, result, reason, ...(after !== undefined && { after }) }
    })
    return [record, `code/${id}`]
  }

  test('hard delete names its target', async () => {
    const [record, target] = await denial('no-hard', (id) =>
      calls.hardDelete(editor('no-hard'), id, 'requested'),
    )
    const reason = 'AUTHZ.role.denied'
    expect(record).toEqual({ action: 'hard_delete', target, result: 'deny', reason })
  })

  test('write to an immutable field names its target', async () => {
    const [record, target] = await denial('no-field', (id) =>
      calls.update(editor('no-field'), id, '*', { code: 'OTHER' }),
    )
    expect(record).toEqual({ action: 'update', target, result: 'deny', reason: 'AUTHZ.field.denied' })
  })

  test('write to an immutable field in a bulk update names its target', async () => {
    const [record, target] = await denial('no-row', (id) => {
      const items = [{ id, if_match: '*', code: 'OTHER' }]
      return calls.send('POST', '/codes:bulkUpdate', editor('no-row'), {}, { items })
    })
    expect(record).toEqual({ action: 'update', target, result: 'deny', reason: 'AUTHZ.field.denied' })
  })

  test('share by a Viewer names its target and its grantee', async () => {
    const [record, target] = await denial('no-share', (id) => calls.share(viewer('no-share'), id, 'friend'))
    expect(record).toEqual({
      action: 'share',
      target,
      result: 'deny',
      reason: 'AUTHZ.role.denied',
      after: { grantee_tenant: 'friend' },
    })
  })

  test('share with an invalid body names no grantee', async () => {
    const [record] = await denial('bad-share', (id) =>
      calls.share(viewer('bad-share'), id, 'jane@example.com'),
    )
    expect(record).not.toHaveProperty('after')
  })

  test('call with a malformed id names only the kind of its target', async () => {
    const [record] = await denial('no-id', () => calls.softDelete(viewer('no-id'), 'jane@example.com'))
    expect(record).toMatchObject({ action: 'soft_delete', target: 'codes', reason: 'AUTHZ.role.denied' })
  })
})

describe('the audit record of', () => {
  test('an update is part of its transaction, with the changed fields and no free text', async () => {
    const { id, json } = await made(calls, 'update')
    const headers = { 'X-Correlation-Id': 'update-1' }
    const both = { name: 'Other', expiry_at: '2098-01-01T00:00:00.000Z' }
    const { answer, writes, records } = await traced('update', () =>
      calls.update(editor('update'), id, '*', both, { headers }),
    )
    expect(answer.status).toBe(200)
    expect(writes).toEqual(once('put code', 'put audit'))
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

  test('a soft delete is part of its transaction', async () => {
    const { id } = await made(calls, 'delete')
    const { writes, records } = await traced('delete', () => calls.softDelete(editor('delete'), id))
    expect(writes).toEqual(once('update code', 'put audit'))
    expect(records).toMatchObject([{ action: 'soft_delete', target: `code/${id}`, result: 'allow' }])
    expect(of(records[0])).toEqual({ before: { soft_deleted: false }, after: { soft_deleted: true } })
  })

  test('a restore is part of its transaction', async () => {
    const { id } = await made(calls, 'restore')
    await calls.softDelete(editor('restore'), id)
    const { writes, records } = await traced('restore', () => calls.restore(editor('restore'), id))
    expect(writes).toEqual(once('put idempotency', 'put code', 'put audit'))
    expect(records).toMatchObject([{ action: 'restore', target: `code/${id}`, result: 'allow' }])
    expect(of(records[0])).toEqual({
      before: { state: 'soft_deleted', soft_deleted: true },
      after: { state: 'active', soft_deleted: false },
    })
  })

  test('a share names the grantee and nothing of the code', async () => {
    const { id } = await made(calls, 'share')
    const { writes, records } = await traced('share', () => calls.share(admin('share'), id, 'friend'))
    expect(writes).toEqual(once('put idempotency', 'put audit'))
    expect(records).toMatchObject([{ action: 'share', target: `code/${id}`, result: 'allow' }])
    expect(of(records[0])).toEqual({ before: undefined, after: { grantee_tenant: 'friend' } })
  })

  test('a hard delete is part of its transaction, with the caller’s reason and the masked code', async () => {
    const { id, json } = await made(calls, 'hard')
    const { writes, records } = await traced('hard', () =>
      calls.hardDelete(admin('hard'), id, 'requested by the merchant'),
    )
    const noHolds = ['check legal_hold', 'check legal_hold']
    expect(writes).toEqual(once('delete code', 'delete code_lock', ...noHolds, 'put audit'))
    expect(records).toMatchObject([
      {
        action: 'hard_delete',
        target: `code/${id}`,
        result: 'allow',
        reason: 'requested by the merchant',
        role: 'Admin',
      },
    ])
    expect(of(records[0])).toEqual({
      before: {
        code: '[redacted]',
        name: '[redacted]',
        type: json.type,
        expiry_at: json.expiry_at,
        state: 'active',
        soft_deleted: false,
      },
      after: {},
    })
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
