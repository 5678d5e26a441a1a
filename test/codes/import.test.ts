import { describe, expect, test } from '@jest/globals'
import { messageId } from '#shared/error-catalog.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { startService } from '../support/service.ts'
import { profile } from '../support/settings.ts'
import {
  editor,
  expiry,
  fileOf,
  good,
  header,
  namesOf,
  newTenant,
  send,
  service,
  statusesOf,
} from './code-imports.ts'

const scope = 'codes:read codes:write'
const create = (tenant: string, code: string) =>
  service.call({
    method: 'POST',
    path: '/codes',
    as: editor(tenant),
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    body: { code, type: 'percent-10', name: 'Ten off', expiry_at: expiry },
  })

describe('POST /codes:import', () => {
  test('returns 207 with the result of each row, and counts', async () => {
    const tenant = newTenant()
    const answer = await send(tenant, fileOf(good('ONE'), good('TWO IS BAD'), good(' three ')))
    expect(answer).toMatchObject({ status: 207, headers: { 'Content-Type': 'application/json' } })
    expect(answer.headers['Idempotency-Status']).toBe('stored')
    const ids = new Map((await service.items(tenant, 'code')).map(({ code, id }) => [code, id]))
    const code = 'VALIDATION.code.charset'
    const details = { fields: { code: { code, reason: 'format', regex: '^[A-Z0-9-]+$', actual: 10 } } }
    const error = { code, message_id: messageId(code), http: 400, retryable: false, details }
    expect(answer.json).toEqual({
      items: [
        { row: 1, id: ids.get('ONE'), status: 201 },
        { row: 2, id: null, status: 400, error },
        { row: 3, id: ids.get('THREE'), status: 201 },
      ],
      counts: { total: 3, succeeded: 2, failed: 1 },
    })
  })

  test('creates the same codes as POST /codes', async () => {
    const tenant = newTenant()
    const row = 'summer-1,fixed-500, Un éte\u0301 ,2099-06-01T12:00:00+02:00'
    const { id } = (await send(tenant, fileOf(row))).json.items[0]
    const read = await service.call({ path: `/codes/${id}`, as: { tenant, role: 'Viewer', scope } })
    expect(read.json).toEqual({
      id,
      code: 'SUMMER-1',
      type: 'fixed-500',
      name: 'Un été',
      expiry_at: '2099-06-01T10:00:00.000Z',
      created_by: 'u1',
      tenant_id: tenant,
      soft_deleted: false,
      created_at: expect.stringMatching(/Z$/),
      updated_at: read.json.created_at,
      state: 'active',
    })
    expect((await create(tenant, 'SUMMER-1')).json.error.code).toBe('CONFLICT.code.exists')
  })

  test('writes one audit record, in the tenant of the codes', async () => {
    const [home, tenant] = [newTenant(), newTenant()]
    const as = { tenant: home, role: 'Admin', sub: 'root', scope }
    const headers = { 'X-Correlation-Id': 'import-1' }
    const body = fileOf(good('A'), good('B'), good('not a code'))
    await send(home, body, { as, headers, path: `/codes:import?tenant=${tenant}` })
    expect(Object.keys(await namesOf(tenant))).toEqual(['A', 'B'])
    expect(await service.items(home, 'audit')).toEqual([])
    expect(await service.items(tenant, 'audit')).toMatchObject([
      {
        action: 'import',
        target: 'codes',
        result: 'allow',
        actor_id: 'root',
        tenant_id: tenant,
        correlation_id: 'import-1',
        after: { rows: 3 },
      },
    ])
  })

  test('of a header alone returns no rows', async () => {
    const answer = await send(newTenant(), `${header}\r\n`)
    const counts = { total: 0, succeeded: 0, failed: 0 }
    expect([answer.status, answer.json]).toEqual([207, { items: [], counts }])
  })

  test('returns its results in the layout of the profile', async () => {
    const layout = { items: 'rows', counts: 'totals', firstRow: 0 }
    const settings = profile('shared/settings/profiles/local.json', { 'bulk.layout': layout })
    const other = await startService({ tableName: service.tableName, settings })
    const answer = await send(newTenant(), fileOf(good('A')), {}, other)
    expect(answer.json.rows.map(({ row }: Item) => row)).toEqual([0])
    expect(answer.json.totals).toEqual({ total: 1, succeeded: 1, failed: 0 })
  })
})

/** The defect, the row, its error code, and the fields of the error. */
const badRows: [string, string, string, string[]?][] = [
  ['a code too long', good('X'.repeat(17)), 'VALIDATION.code.length.exceeds', ['code']],
  ['no code', good('  '), 'VALIDATION.field.length', ['code']],
  ['a code of other letters', good('ÄÖ'), 'VALIDATION.code.charset', ['code']],
  ['space in a code', good('A B'), 'VALIDATION.code.charset', ['code']],
  ['an unknown type', `BAD,free,Name,${expiry}`, 'VALIDATION.field.enum', ['type']],
  ['a type of every object', `BAD,constructor,Name,${expiry}`, 'VALIDATION.field.enum', ['type']],
  ['a name too long', good('BAD', '😀'.repeat(65)), 'VALIDATION.name.length.exceeds', ['name']],
  ['no name', good('BAD', ''), 'VALIDATION.field.length', ['name']],
  ['a name of two lines', good('BAD', '"Ten\r\noff"'), 'VALIDATION.name.charset', ['name']],
  ['a zero byte in a name', good('BAD', 'Ten\0off'), 'VALIDATION.name.charset', ['name']],
  ['no zone', 'BAD,percent-10,N,2099-01-01T00:00:00', 'VALIDATION.datetime.timezone_required', ['expiry_at']],
  ['a day that is none', 'BAD,percent-10,N,2099-02-30T00:00:00Z', 'VALIDATION.field.format', ['expiry_at']],
  ['a day that has passed', 'BAD,percent-10,N,2020-01-01T00:00:00Z', 'VALIDATION.date.range', ['expiry_at']],
  ['four bad fields', 'B A D,free,,soon', 'VALIDATION.body.invalid', ['code', 'type', 'name', 'expiry_at']],
  ['too few cells', 'BAD,percent-10', 'VALIDATION.csv.columns'],
  ['too many cells', `${good('BAD')},1`, 'VALIDATION.csv.columns'],
  ['a code that exists', good('existing'), 'CONFLICT.code.exists'],
  ['a code that a soft-deleted one keeps', good('DELETED'), 'CONFLICT.code.exists'],
]

describe('a row', () => {
  test.each(badRows)('with %s is rejected, and the others are imported', async (...bad) => {
    const [, row, code, fields] = bad
    const tenant = newTenant()
    await create(tenant, 'EXISTING')
    const { json: deleted } = await create(tenant, 'DELETED')
    const as = editor(tenant)
    await service.call({ method: 'DELETE', path: `/codes/${deleted.id}`, as })
    const answer = await send(tenant, fileOf(good('BEFORE'), row, good('AFTER')))
    const status = code.startsWith('CONFLICT.') ? 409 : 400
    const details = answer.json.items[1].error?.details
    const error = { code, message_id: messageId(code), http: status, retryable: false, details }
    expect(answer.json.items[1]).toEqual({ row: 2, id: null, status, error })
    expect(details.fields && Object.keys(details.fields)).toEqual(fields)
    expect(statusesOf(answer)).toEqual([201, status, 201])
    expect(answer.json.counts).toEqual({ total: 3, succeeded: 2, failed: 1 })
    expect(Object.keys(await namesOf(tenant))).toEqual(['AFTER', 'BEFORE', 'EXISTING'])
  })

  test('names the violated limit', async () => {
    const rows = [good('X'.repeat(17)), 'BAD,percent-10', good('BAD', 'SEC\tRET')]
    const answer = await send(newTenant(), fileOf(...rows))
    const [tooLong, tooFew] = answer.json.items.map(({ error }: Item) => (error as Item).details)
    expect(tooLong).toMatchObject({ fields: { code: { reason: 'too_long', min: 1, max: 16, actual: 17 } } })
    expect(tooFew).toEqual({ reason: 'too_few', expected: 4, actual: 2 })
    expect(answer.body).not.toMatch(/XX|BAD|RET/)
  })

  test.each(['true', 'TRUE'])('of a deleted code (%s) does not restore it', async (deleted) => {
    const tenant = newTenant()
    const rows = [`${good('A')},${deleted}`, `${good('B')},false`, `${good('C')},`]
    const answer = await send(tenant, [`${header},soft_deleted`, ...rows].join('\n'))
    expect(statusesOf(answer)).toEqual([409, 201, 201])
    expect(answer.json.items[0].error.code).toBe('CONFLICT.soft_deleted')
    expect(Object.keys(await namesOf(tenant))).toEqual(['B', 'C'])
  })

  test('that repeats a code of the file in any form is rejected in favor of the first', async () => {
    const tenant = newTenant()
    const codes = Array.from({ length: 10 }, (_, n) => n)
    const forms = ['dup-', 'DUP-', '  Dup-', 'dUP-']
    const rows = forms.flatMap((form, turn) => codes.map((n) => good(`${form}${n}`, `Form ${turn}`)))
    const answer = await send(tenant, fileOf(...rows))
    expect(statusesOf(answer)).toEqual(rows.map((_, n) => (n < 10 ? 201 : 409)))
    expect(Object.values(await namesOf(tenant))).toEqual(codes.map(() => 'Form 0'))
    expect(await service.items(tenant, 'code_lock')).toHaveLength(10)
  })

  test('that repeats a code of a rejected row is imported', async () => {
    const tenant = newTenant()
    const rows = [good('AGAIN', ''), good('again', 'Second'), good('AGAIN', 'Third')]
    expect(statusesOf(await send(tenant, fileOf(...rows)))).toEqual([400, 201, 409])
    expect(await namesOf(tenant)).toEqual({ AGAIN: 'Second' })
  })
})
