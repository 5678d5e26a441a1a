import { describe, expect, test } from '@jest/globals'
import { messageId } from '#shared/error-catalog.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { admin, audit, codeCalls, editor, resultsOf, validCode, viewer } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

const header = 'code,type,name,expiry_at'
const expiry = '2099-01-01T00:00:00Z'
const good = (code: string, name = 'Ten off') => `${code},percent-10,${name},${expiry}`
const fileOf = (...rows: string[]) => [header, ...rows, ''].join('\r\n')
const limits = localSettings['codes.import']
const newTenant = () => uniqueTenant('importer')
const send = (tenant: string, file: string, headers = {}) =>
  calls.importFile(editor(tenant), file, { headers: { 'Idempotency-Key': 'key', ...headers } })

/** Returns the names of a tenant's codes that are not deleted, by code. */
async function namesOf(tenant: string): Promise<Record<string, unknown>> {
  const live = (await service.items(tenant, 'code')).filter(({ soft_deleted }) => !soft_deleted)
  return Object.fromEntries(live.map(({ code, name }) => [String(code), name]).sort())
}

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

  test('ignores the columns without a name and the rows of commas of a spreadsheet', async () => {
    const rows = [`${good('ONE')},,`, ',,,,,', `${good('TWO')},secret,`, `${good('THREE')},,`, ',,,,,']
    const { json } = await send(newTenant(), [`${header},,`, ...rows, ''].join('\r\n'))
    type Result = { row: number; status: number; error?: { code: string } }
    const results = json.items.map(({ row, status, error }: Result) => [row, status, error?.code])
    expect(results).toEqual([
      [1, 201, undefined],
      [2, 400, 'VALIDATION.csv.columns'],
      [3, 201, undefined],
    ])
    expect(JSON.stringify(json)).not.toContain('secret')
  })

  test('creates the same codes as POST /codes', async () => {
    const tenant = newTenant()
    const row = 'summer-1,fixed-500, Un éte\u0301 ,2099-06-01T12:00:00+02:00'
    const { id } = (await send(tenant, fileOf(row))).json.items[0]
    const read = await calls.read(viewer(tenant), id)
    expect(read.json).toEqual({
      id,
      code: 'SUMMER-1',
      type: 'fixed-500',
      name: 'Un été',
      expiry_at: '2099-06-01T10:00:00.000Z',
      created_by: 'Editor-1',
      tenant_id: tenant,
      soft_deleted: false,
      created_at: expect.stringMatching(/Z$/),
      updated_at: read.json.created_at,
      state: 'active',
    })
    const again = await calls.create(editor(tenant), validCode({ code: 'SUMMER-1' }))
    expect(outcome(again)).toBe('409 CONFLICT.code.exists')
  })

  test('writes one audit record, in the tenant of the codes', async () => {
    const [home, tenant] = [newTenant(), newTenant()]
    const extra = { headers: { 'X-Correlation-Id': 'import-1' }, query: { tenant } }
    await calls.importFile(admin(home), fileOf(good('A'), good('B'), good('not a code')), extra)
    expect(Object.keys(await namesOf(tenant))).toEqual(['A', 'B'])
    expect(await audit(service, home)).toEqual([])
    expect(await audit(service, tenant)).toMatchObject([
      {
        action: 'import',
        target: 'codes',
        result: 'allow',
        actor_id: 'Admin-1',
        tenant_id: tenant,
        correlation_id: 'import-1',
        after: { rows: 3 },
      },
    ])
  })
})

describe('a file', () => {
  test('may have the columns of an export', async () => {
    const tenant = newTenant()
    const file = `id,${header},updated_at\n1,${good('A', 'Anna')},"x\r\ny, ""z"""\n2,${good('B')},now\n`
    expect(resultsOf(await send(tenant, file))).toEqual([201, 201])
    expect(await namesOf(tenant)).toEqual({ A: 'Anna', B: 'Ten off' })
  })

  test.each([
    ['a column that no export has', `${header},created_by\n${good('A')},joe\n`, '400 VALIDATION.csv.header'],
    ['another type', fileOf(good('A')), '415 VALIDATION.content_type.unsupported', 'application/json'],
    ['one row too many', fileOf(...Array(limits.maxRows + 1).fill('x')), '400 VALIDATION.csv.too_many_rows'],
  ])('with %s is rejected as a whole, and its key can be reused', async (...refused) => {
    const [, file, expected, type = 'text/csv'] = refused
    const tenant = newTenant()
    const answer = await send(tenant, file, { 'Content-Type': type })
    expect(outcome(answer)).toBe(expected)
    expect(answer.headers).not.toHaveProperty('Idempotency-Status')
    expect(await service.items(tenant, 'code')).toEqual([])
    expect(await audit(service, tenant)).toEqual([])
    expect(resultsOf(await send(tenant, fileOf(good('A'))))).toEqual([201])
  })

  test('with the same key is replayed, with or without a byte order mark, and creates nothing', async () => {
    const tenant = newTenant()
    const file = fileOf(good('A'), good('b'), good('no code'))
    const first = await send(tenant, file)
    const replays = await Promise.all([send(tenant, file), send(tenant, `\ufeff${file}`)])
    for (const { status, body, headers } of replays) {
      expect([status, body, headers['Idempotency-Status']]).toEqual([207, first.body, 'replayed'])
      expect(headers['Content-Type']).toBe(first.headers['Content-Type'])
    }
    expect(await service.items(tenant, 'code')).toHaveLength(2)
    expect(await audit(service, tenant)).toHaveLength(1)
  })

  test('is replayed even if all rows are invalid and the response exceeds the item size of the table', async () => {
    const settings = { ...service.settings, 'errors.multiField': 'fields_and_errors' as const }
    const wordy = codeCalls(await startService({ tableName: service.tableName, settings }), {
      headers: { 'Idempotency-Key': 'key' },
    })
    const as = editor(newTenant())
    const rows = Array.from({ length: limits.maxRows }, (_, n) => `B ${n},free ${n},${'😀'.repeat(65)},soon`)
    const first = await wordy.importFile(as, fileOf(...rows))
    expect(first.json.counts).toEqual({ total: limits.maxRows, succeeded: 0, failed: limits.maxRows })
    for (const { error } of first.json.items) expect(Object.keys(error.details.fields)).toHaveLength(4)
    expect(first.body?.length).toBeGreaterThan(400 * 1024)
    const replay = await wordy.importFile(as, fileOf(...rows))
    expect(replay).toMatchObject({ status: 207, headers: { 'Idempotency-Status': 'replayed' } })
    expect(replay.body === first.body).toBe(true)
  })
})

describe('a row', () => {
  /** The defect, the row, its error code, and the fields of the error. */
  test.each<[string, string, string, string[]?]>([
    ['a code too long', good('X'.repeat(17)), 'VALIDATION.code.length.exceeds', ['code']],
    ['a type of every object', `BAD,constructor,Name,${expiry}`, 'VALIDATION.field.enum', ['type']],
    ['no name', good('BAD', ''), 'VALIDATION.field.length', ['name']],
    [
      'a day that has passed',
      'BAD,percent-10,N,2020-01-01T00:00:00Z',
      'VALIDATION.date.range',
      ['expiry_at'],
    ],
    ['bad fields', 'B A D,free,,soon', 'VALIDATION.body.invalid', ['code', 'type', 'name', 'expiry_at']],
    ['too few cells', 'BAD,percent-10', 'VALIDATION.csv.columns'],
    ['an unclosed quote', `"${good('BAD')}`, 'VALIDATION.csv.malformed'],
    ['a code that exists', good('existing'), 'CONFLICT.code.exists'],
    ['a code that a soft-deleted one keeps', good('DELETED'), 'CONFLICT.code.exists'],
  ])('with %s is rejected, and the others are imported', async (...bad) => {
    const [, row, code, fields] = bad
    const tenant = newTenant()
    const made = await send(tenant, fileOf(good('EXISTING'), good('DELETED')), { 'Idempotency-Key': 'first' })
    await calls.softDelete(editor(tenant), made.json.items[1].id)
    const answer = await send(tenant, fileOf(good('BEFORE'), row, good('AFTER')))
    const status = code.startsWith('CONFLICT.') ? 409 : 400
    const details = answer.json.items[1].error?.details
    const error = { code, message_id: messageId(code), http: status, retryable: false, details }
    expect(answer.json.items[1]).toEqual({ row: 2, id: null, status, error })
    expect(details.fields && Object.keys(details.fields)).toEqual(fields)
    expect(resultsOf(answer)).toEqual([201, code, 201])
    expect(answer.json.counts).toEqual({ total: 3, succeeded: 2, failed: 1 })
    expect(Object.keys(await namesOf(tenant))).toEqual(['AFTER', 'BEFORE', 'EXISTING'])
  })

  test('of a deleted code does not restore it', async () => {
    const tenant = newTenant()
    const rows = [`${good('A')},TRUE`, `${good('B')},false`, `${good('C')},`]
    const answer = await send(tenant, [`${header},soft_deleted`, ...rows].join('\n'))
    expect(resultsOf(answer)).toEqual(['CONFLICT.soft_deleted', 201, 201])
    expect(Object.keys(await namesOf(tenant))).toEqual(['B', 'C'])
  })

  test('that repeats a code of the file in any form is rejected in favor of the first', async () => {
    const tenant = newTenant()
    const codes = Array.from({ length: 10 }, (_, n) => n)
    const forms = ['dup-', 'DUP-', '  Dup-', 'dUP-']
    const rows = forms.flatMap((form, turn) => codes.map((n) => good(`${form}${n}`, `Form ${turn}`)))
    const answer = await send(tenant, fileOf(...rows))
    expect(resultsOf(answer)).toEqual(rows.map((_, n) => (n < 10 ? 201 : 'CONFLICT.code.exists')))
    expect(Object.values(await namesOf(tenant))).toEqual(codes.map(() => 'Form 0'))
    expect(await service.items(tenant, 'code_lock')).toHaveLength(10)
  })

  test('that repeats a code of a rejected row is imported', async () => {
    const tenant = newTenant()
    const rows = [good('AGAIN', ''), good('again', 'Second'), good('AGAIN', 'Third')]
    const results = resultsOf(await send(tenant, fileOf(...rows)))
    expect(results).toEqual(['VALIDATION.field.length', 201, 'CONFLICT.code.exists'])
    expect(await namesOf(tenant)).toEqual({ AGAIN: 'Second' })
  })
})
