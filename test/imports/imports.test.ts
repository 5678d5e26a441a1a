import { describe, expect, test } from '@jest/globals'
import { endImport } from '#shared/imports/end-import.ts'
import { chunkPartition } from '#shared/imports/import.ts'
import type { OperationRef } from '#shared/operations/operation-store.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { outcome } from '#test/support/outcome.ts'
import { longTimeoutSettings } from '#test/support/settings.ts'
import { startImports } from './import-service.ts'

const service = await startImports({ settings: longTimeoutSettings })

const begin = async (tenant: string, file: string | Uint8Array) =>
  (await service.upload(tenant, file)).json.operation_id as string
const imported = async (tenant: string, file: string | Uint8Array) => {
  const id = await begin(tenant, file)
  expect((await service.run(tenant, id)).status).toBe('succeeded')
  return (await service.read(tenant, id)).json
}
const fieldsOf = (customers: Record<string, unknown>[]) =>
  customers.map(({ email, name, country }) => [email, name, country])

describe('POST /imports', () => {
  test('returns a pending operation with Location and Retry-After', async () => {
    const answer = await service.upload('begun', 'email\na@example.com\n')
    const id = answer.json.operation_id
    expect([answer.status, answer.json]).toEqual([202, { operation_id: id, state: 'pending', progress: 0 }])
    expect(answer.headers.Location).toBe(`/operations/${id}`)
    const read = await service.read('begun', id)
    expect([read.status, read.json, read.headers['Retry-After']]).toEqual([200, answer.json, '1'])
    const item = await service.operation('begun', id)
    expect(item).toMatchObject({ task: { queue: 'imports' } })
    expect(JSON.parse((item as never as { task: { body: string } }).task.body)).toEqual({
      tenant: 'begun',
      operation_id: id,
    })
  })

  test('creates customers, and returns rejects and counts that add up', async () => {
    const rows = [
      'Ann@Example.com,Ann,DE',
      'nobody,Bob,FR',
      ',Eve,IT',
      'zoe@example.com,"Zoe, ""Z""",US',
      'a,b',
    ]
    const result = await imported('first', `email,name,country\r\n${rows.join('\r\n')}\r\n`)
    expect(result).toEqual({
      operation_id: expect.any(String),
      state: 'succeeded',
      progress: 1,
      result: {
        outcome: 'PARTIAL',
        counts: { total: 5, succeeded: 2, failed: 3 },
        rejects: [
          { row: 2, code: 'VALIDATION.email', field: 'email' },
          { row: 3, code: 'VALIDATION.email', field: 'email' },
          { row: 5, code: 'VALIDATION.csv.columns', field: null },
        ],
        rejects_url: expect.stringContaining(`rejects_${result.operation_id}.csv`),
        schema_version: 1,
      },
    })
    expect(fieldsOf(await service.customers('first'))).toEqual([
      ['ann@example.com', 'Ann', 'DE'],
      ['zoe@example.com', 'Zoe, "Z"', 'US'],
    ])
    const { bytes } = service.files.get(`rejects/${result.operation_id}/rejects.csv`) as { bytes: Buffer }
    expect(bytes.toString()).toBe(
      'row,code,field\r\n2,VALIDATION.email,email\r\n3,VALIDATION.email,email\r\n5,VALIDATION.csv.columns,\r\n',
    )
  })

  test('ignores the columns without a name and the rows of commas of a spreadsheet', async () => {
    const rows = ['ann@example.com,Ann,,', ',,,', 'nobody,Bob,,', 'cy@example.com,Cy,,x', ',,,']
    const { result } = await imported('spreadsheet', `email,name,,\r\n${rows.join('\r\n')}\r\n`)
    expect(result).toMatchObject({
      counts: { total: 3, succeeded: 1, failed: 2 },
      rejects: [
        { row: 2, code: 'VALIDATION.email', field: 'email' },
        { row: 3, code: 'VALIDATION.csv.columns', field: null },
      ],
    })
  })

  test('succeeds without a bad row, fails with bad rows only, and has a result in both cases', async () => {
    const good = await imported('outcomes', 'email\na@example.com\n')
    expect(good.result).toEqual({
      outcome: 'SUCCESS',
      counts: { total: 1, succeeded: 1, failed: 0 },
      rejects: [],
      schema_version: 1,
    })
    const bad = await imported('outcomes', 'email\na@\n@b\n')
    expect([bad.state, bad.result.outcome, bad.result.counts]).toEqual([
      'succeeded',
      'FAILED',
      { total: 2, succeeded: 0, failed: 2 },
    ])
    const none = await imported('outcomes', 'email,name\n')
    expect(none).toMatchObject({ result: { outcome: 'SUCCESS', counts: { total: 0 } } })
  })

  test('accepts a byte order mark, blank lines, and columns in another order and case', async () => {
    const { result } = await imported('read', '\ufeff\n\nName, EMAIL \r\r\rAnn,a@example.com')
    expect(result.counts).toEqual({ total: 1, succeeded: 1, failed: 0 })
    expect(fieldsOf(await service.customers('read'))).toEqual([['a@example.com', 'Ann', undefined]])
  })

  test('preserves line ends in quoted cells, and requires time zones', async () => {
    const file =
      'email,name,created_at\na@example.com,"one\r\ntwo\nthree",2026-01-02T03:04:05+02:00\nb@example.com,,2026-01-02T03:04:05\n'
    const { result } = await imported('quoted', file)
    expect(result.rejects).toEqual([
      { row: 2, code: 'VALIDATION.datetime.timezone_required', field: 'created_at' },
    ])
    expect(await service.customers('quoted')).toMatchObject([
      { name: 'one\r\ntwo\nthree', created_at: '2026-01-02T01:04:05.000Z' },
    ])
  })

  test('rejects a row that is too long to be read, and no other', async () => {
    const rows = ['a@example.com,A', `b@example.com,${'x'.repeat(300_000)}`, 'c@example.com,C']
    const { result } = await imported('too-long', `email,name\n${rows.join('\n')}\n`)
    expect(result.rejects).toEqual([{ row: 2, code: 'VALIDATION.csv.row_too_long', field: null }])
    expect(fieldsOf(await service.customers('too-long'))).toEqual([
      ['a@example.com', 'A', undefined],
      ['c@example.com', 'C', undefined],
    ])
  })

  test('returns the rejects of several chunks in the order of the file, and the first of them in the result', async () => {
    const id = await begin('rejecting', `email\n${'bad\n'.repeat(1300)}`)
    const { table } = service
    const readRange: Table['readRange'] = (range) => table.readRange({ ...range, limit: 1 })
    const inPages = new Proxy(table, {
      get: (_, name) => (name === 'readRange' ? readRange : Reflect.get(table, name)),
    })
    await service.run('rejecting', id, {
      around: (step, input, work) =>
        step === 'end' ? endImport(input as OperationRef, { ...service.steps, table: inPages }) : work(),
    })
    const { bytes } = service.files.get(`rejects/${id}/rejects.csv`) as { bytes: Buffer }
    const rowsOfFile = bytes.toString().split('\r\n').slice(1, -1)
    expect(rowsOfFile).toEqual(rowsOfFile.map((_, n) => `${n + 1},VALIDATION.email,email`))
    expect(rowsOfFile).toHaveLength(1300)
    const { rejectsShown } = service.settings['imports.result']
    const { rejects } = (await service.read('rejecting', id)).json.result
    expect(rejects.map(({ row }: { row: number }) => row)).toEqual(
      Array.from({ length: rejectsShown }, (_, n) => n + 1),
    )
  })

  test('fails as a whole with the reason if its header is not valid', async () => {
    const { state, error, result } = await imported('header', 'email,shoe size\na@example.com,42\n')
    expect([state, result, error]).toEqual([
      'failed',
      undefined,
      {
        code: 'VALIDATION.csv.header',
        message_id: 'error.validation.csv.header',
        http: 400,
        retryable: false,
        correlation_id: expect.any(String),
        details: { missing: [], unknown: [2], repeated: [] },
      },
    ])
  })

  test('stores no header with more columns than it may have', async () => {
    const wide = `email${','.repeat(10_000)}\na\n`
    const { operation_id, state, error } = await imported('wide', wide)
    expect([state, error.code]).toEqual(['failed', 'VALIDATION.csv.header'])
    expect((await service.operation('wide', operation_id)).columns).toEqual([])
  })

  test('rejects invalid UTF-8 at once', async () => {
    const answer = await service.upload(
      'latin',
      Buffer.from('email,name\na@example.com,J\xfcrgen\n', 'latin1'),
    )
    expect(outcome(answer)).toBe('400 VALIDATION.body.encoding')
  })

  test('counts thousands of rows by chunk, and its progress never decreases', async () => {
    const rows = Array.from({ length: 1001 }, (_, n) => (n % 100 === 7 ? `bad ${n}` : `user${n}@example.com`))
    const id = await begin('large', `email\n${rows.join('\n')}\n`)
    const seen: number[] = []
    let chunksBefore: Promise<unknown> = Promise.resolve()
    await service.run('large', id, {
      around: (_step, _input, work) => {
        // One chunk after another, so each changes the progress.
        const done = chunksBefore.then(async () => {
          const result = await work()
          seen.push((await service.read('large', id)).json.progress)
          return result
        })
        chunksBefore = done
        return done
      },
    })
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    // Before the first chunk, after some and after all.
    expect(new Set(seen).size).toBeGreaterThanOrEqual(3)
    const { json } = await service.read('large', id)
    expect(json.result.counts).toEqual({ total: 1001, succeeded: 991, failed: 10 })
    expect(await service.customers('large')).toHaveLength(991)
  })
})

describe('an import of the same file', () => {
  const file = 'email\nsame@example.com\n'

  test('twenty times concurrently is one operation', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.upload('crowd', file)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size).toBe(1)
    const replayed = answers.filter(({ headers }) => headers['Idempotency-Status'] === 'replayed')
    expect(replayed).toHaveLength(19)
    expect(await service.items('crowd', 'operation')).toHaveLength(1)
    expect(await service.items('crowd', 'audit')).toHaveLength(1)
  })

  test('in another tenant is a separate import', async () => {
    const mine = await service.upload('mine', file)
    const theirs = await service.upload('theirs', file)
    expect(theirs.json.operation_id).not.toBe(mine.json.operation_id)
    expect(theirs.headers).not.toHaveProperty('Idempotency-Status')
  })
})

test('a cancellation with a stale entity tag is rejected and changes nothing', async () => {
  const { json } = await service.upload('conditional', 'email\nnew@example.com\n')
  const path = `/operations/${json.operation_id}`
  const as = { tenant: 'conditional', role: 'Editor' }
  const cancel = (tag: string) =>
    service.call({ method: 'POST', path: `${path}:cancel`, as, headers: { 'If-Match': tag } })
  const stale = await cancel('"stale"')
  expect(outcome(stale)).toBe('412 CONFLICT.etag.mismatch')
  expect((await service.operation('conditional', json.operation_id)).cancel_requested).toBe('no')
  const { headers } = await service.call({ path, as })
  const tag = headers.ETag ?? ''
  expect((await cancel(tag)).status).toBe(200)
  // It has ended: a repetition with the tag of the first attempt changes nothing and succeeds.
  expect((await cancel(tag)).status).toBe(200)
  const ended = await service.call({ path, as })
  expect(ended.json.state).toBe('canceled')
  expect((await cancel(ended.headers.ETag ?? '')).status).toBe(200)
})

test('the entity tag of an operation with a link is weak: it ignores the signature, but changes before the link expires', async () => {
  let ahead = 0
  const clock = { ...systemClock, now: () => start + ahead }
  const start = Math.ceil(Date.now() / 300_000) * 300_000
  const late = await startImports({ clock })
  const { json } = await late.upload('linked', 'email\nbad\n')
  await late.run('linked', json.operation_id)
  const [first, second] = [
    await late.read('linked', json.operation_id),
    await late.read('linked', json.operation_id),
  ]
  expect(second.json.result.rejects_url).not.toBe(first.json.result.rejects_url)
  expect(second.headers.ETag).toBe(first.headers.ETag)
  expect(first.headers.ETag).toMatch(/^W\//)
  const cancel = (tag = '') => {
    const [path, as] = [`/operations/${json.operation_id}:cancel`, { tenant: 'linked', role: 'Editor' }]
    return late.call({ method: 'POST', path, as, headers: { 'If-Match': tag } })
  }
  expect((await cancel(first.headers.ETag)).status).toBe(200)
  ahead = (late.settings['imports.result'].linkSeconds - 1) * 1000
  expect((await late.read('linked', json.operation_id)).headers.ETag).not.toBe(first.headers.ETag)
})

test('operations, audit records, chunks and rejects contain no personal data', async () => {
  const file = 'email,name\nsecret@person.example,Secret Person\nbad secret,Secret Person\n'
  const { operation_id: id } = await imported('private', file)
  const kept = [
    await service.items('private', 'operation'),
    await service.items('private', 'audit'),
    await service.items('private', 'file_reservation'),
    (
      await service.table.readRange({
        partition: chunkPartition(id),
        low: '0',
        high: 'g',
        descending: false,
        limit: 9,
      })
    ).items,
    service.files.get(`rejects/${id}/rejects.csv`)?.bytes.toString(),
    service.lines,
  ]
  expect(JSON.stringify(kept)).not.toMatch(/secret@|Secret Person/)
  expect(JSON.stringify(kept)).toContain('VALIDATION.email')
})
