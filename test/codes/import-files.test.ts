import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '../support/service.ts'
import { localSettings } from '../support/settings.ts'
import {
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

const rows = [good('A', 'Anna'), good('B', 'Bert')]
const limits = localSettings['codes.import']
const fullFile = (row: (n: number) => string) => Array.from({ length: limits.maxRows }, (_, n) => row(n))

describe('a file', () => {
  const reversed = `name,expiry_at,code,type\nAnna,${expiry},a,percent-10\nBert,${expiry},b,percent-10\n`
  test.each([
    ['CRLF', [header, ...rows, ''].join('\r\n')],
    ['LF and no final line end', [header, ...rows].join('\n')],
    ['CR alone', [header, ...rows, ''].join('\r')],
    ['a byte order mark', `\ufeff${fileOf(...rows)}`],
    ['blank lines', `\r\n${[header, '', ...rows, '', ''].join('\r\n')}`],
    ['quotes around everything', fileOf(...rows).replace(/[^,\r\n]+/g, '"$&"')],
    ['columns in another order', reversed],
    ['a header in another case', fileOf(...rows).replace(header, ' Code,TYPE,Name,"expiry_at "')],
    [
      'additional columns of an export',
      `id,${header},updated_at\n1,${rows[0]},"x\r\ny, ""z"""\n2,${rows[1]},now\n`,
    ],
  ])('with %s is accepted', async (_, body) => {
    const tenant = newTenant()
    expect(statusesOf(await send(tenant, body))).toEqual([201, 201])
    expect(await namesOf(tenant)).toEqual({ A: 'Anna', B: 'Bert' })
  })

  const cut = Buffer.from(`${header}\n${good('A', 'é')}`).filter((byte) => byte !== 0xa9)
  const unsupported = 'VALIDATION.content_type.unsupported'
  test.each<[string, string | Uint8Array, number, string, string?]>([
    ['no content', '', 400, 'VALIDATION.csv.header'],
    ['a missing column', 'code,type,name\nA,percent-10,Anna\n', 400, 'VALIDATION.csv.header'],
    ['an unknown column', `${header},colour\n${rows[0]},red\n`, 400, 'VALIDATION.csv.header'],
    ['a duplicate column', `${header},name\n${rows[0]},Anna\n`, 400, 'VALIDATION.csv.header'],
    ['a column for its creator', `${header},created_by\n${rows[0]},joe\n`, 400, 'VALIDATION.csv.header'],
    ['an unclosed quote in its header', `"${header}\n${rows[0]}\n`, 400, 'VALIDATION.csv.malformed'],
    ['invalid UTF-8', Buffer.of(0xfe, 0xff, 0x00, 0x63), 400, 'VALIDATION.body.encoding'],
    ['a truncated character', cut, 400, 'VALIDATION.body.encoding'],
    ['another content type', fileOf(...rows), 415, unsupported, 'application/json'],
    ['no content type', fileOf(...rows), 415, unsupported, ''],
    ['another charset', fileOf(...rows), 415, unsupported, 'text/csv; charset=iso-8859-1'],
    ['one row too many', fileOf(...fullFile(() => 'x'), 'x'), 400, 'VALIDATION.csv.too_many_rows'],
    [
      'one byte too many',
      fileOf(...rows).padEnd(limits.maxBytes + 1, '\n'),
      413,
      'VALIDATION.body.too_large',
    ],
  ])('with %s is rejected as a whole, and its key can be reused', async (...refused) => {
    const [, body, status, code, type = 'text/csv'] = refused
    const tenant = newTenant()
    const answer = await send(tenant, body, { headers: { 'Content-Type': type } })
    expect(outcome(answer)).toBe(`${status} ${code}`)
    expect(answer.headers).not.toHaveProperty('Idempotency-Status')
    expect(await service.items(tenant, 'code')).toEqual([])
    expect(await service.items(tenant, 'audit')).toEqual([])
    expect(statusesOf(await send(tenant, fileOf(...rows)))).toEqual([201, 201])
  })

  test.each([
    ['an unclosed quote', '"B,percent-10,Bert'],
    ['a quote within a cell', `B,percent-10,Be"rt,${expiry}`],
    ['text after a closing quote', `"B"x,percent-10,Bert,${expiry}`],
  ])('with %s in one row is imported without this row', async (_, bad) => {
    const tenant = newTenant()
    const body = fileOf(rows[0] as string, bad, good('C', '"Carl, ""C"""'), good('D', 'Dora'))
    const answer = await send(tenant, body)
    expect(statusesOf(answer)).toEqual([201, 400, 201, 201])
    expect(answer.json.items[1].error).toMatchObject({
      code: 'VALIDATION.csv.malformed',
      details: { reason: 'quotes' },
    })
    expect(answer.json.counts).toEqual({ total: 4, succeeded: 3, failed: 1 })
    expect(await namesOf(tenant)).toEqual({ A: 'Anna', C: 'Carl, "C"', D: 'Dora' })
  })

  test('with semicolons is rejected with the separator', async () => {
    const answer = await send(newTenant(), fileOf(...rows).replaceAll(',', ';'))
    expect(answer.json.error.details).toEqual({ reason: 'separator', expected: ',', actual: ';' })
  })

  test('of exactly the maximum size is accepted', async () => {
    const body = fileOf(...rows).padEnd(limits.maxBytes, '\n')
    expect(statusesOf(await send(newTenant(), body))).toEqual([201, 201])
  })
})

describe('a repeated file', () => {
  test('with the same key replays the same bytes and creates nothing', async () => {
    const tenant = newTenant()
    const file = fileOf(...rows, good('b'), good('no code'))
    const first = await send(tenant, file)
    const stored = await service.items(tenant, 'code')
    const replays = await Promise.all([send(tenant, file), send(tenant, `\ufeff${file}`), send(tenant, file)])
    for (const { status, body, headers } of replays) {
      expect([status, body, headers['Idempotency-Status']]).toEqual([207, first.body, 'replayed'])
      expect(headers['Content-Type']).toBe(first.headers['Content-Type'])
    }
    expect(await service.items(tenant, 'code')).toEqual(stored)
    expect(await service.items(tenant, 'audit')).toHaveLength(1)
  })

  test('with the same key but other contents is rejected', async () => {
    const tenant = newTenant()
    await send(tenant, fileOf(...rows))
    const answer = await send(tenant, fileOf(...rows, good('C')))
    expect(outcome(answer)).toBe('409 CONFLICT.idempotency.payload_mismatch')
    expect(Object.keys(await namesOf(tenant)).toSorted()).toEqual(['A', 'B'])
  })

  test('is replayed even if all rows are invalid and the response exceeds the item size of the table', async () => {
    const tenant = newTenant()
    const settings = { ...service.settings, 'errors.multiField': 'fields_and_errors' as const }
    const wordy = await startService({ tableName: service.tableName, settings })
    const file = fileOf(...fullFile((n) => `B A D ${n},free ${n},${'😀'.repeat(65)},soon`))
    const first = await send(tenant, file, {}, wordy)
    expect(first.json.counts).toEqual({ total: limits.maxRows, succeeded: 0, failed: limits.maxRows })
    for (const { error } of first.json.items) expect(Object.keys(error.details.fields)).toHaveLength(4)
    expect(first.body?.length).toBeGreaterThan(400 * 1024)
    const replay = await send(tenant, file, {}, wordy)
    expect(replay).toMatchObject({ status: 207, headers: { 'Idempotency-Status': 'replayed' } })
    expect(replay.body === first.body).toBe(true)
  })
})
