import { beforeAll, describe, expect, test } from '@jest/globals'
import { admin, codeCalls, editor, made, viewer } from '#test/codes/code-calls.ts'
import { startService } from '#test/support/service.ts'

let live: string[]
let deleted: string
const calls = codeCalls(await startService())
beforeAll(async () => {
  const ids: string[] = []
  for (let n = 0; n < 5; n += 1) ids.unshift((await made(calls, 'acme')).id)
  const [newest = '', ...others] = ids
  await calls.softDelete(editor('acme'), newest)
  deleted = newest
  live = others
})

const idsOf = async (query: Record<string, string>, who = viewer('acme')) =>
  (await calls.list(who, query)).json.data.map(({ id }: { id: string }) => id)

const refusal = async (query: Record<string, string>, who = admin('acme')) => {
  const { status, json } = await calls.list(who, query)
  return [status, json.error?.code, json.error?.details.fields]
}

describe('the page size of an offset page', () => {
  test('named page_size is honored', async () => {
    expect(await idsOf({ offset: '1', page_size: '2' })).toEqual(live.slice(1, 3))
  })

  test('named limit is honored', async () => {
    expect(await idsOf({ offset: '1', limit: '2' })).toEqual(live.slice(1, 3))
  })

  test('has a default', async () => {
    expect((await calls.list(viewer('acme'), { offset: '1' })).json.page_size).toBe(25)
  })
})

describe('contradictory parameters are rejected', () => {
  const invalid = 'VALIDATION.filter.value_invalid'

  test('limit and page_size', async () => {
    const fields = { limit: { code: invalid, reason: 'not_with_page_size', actual: 1 } }
    expect(await refusal({ limit: '2', page_size: '3' })).toEqual([400, invalid, fields])
  })

  test('offset and cursor', async () => {
    const cursor = (await calls.list(viewer('acme'), { page_size: '1' })).json.next_cursor
    const fields = { offset: { code: invalid, reason: 'not_with_cursor', actual: 1 } }
    expect(await refusal({ offset: '2', cursor })).toEqual([400, invalid, fields])
  })

  test.each([
    ['false', 'true'],
    ['true', 'false'],
  ])('include_deleted=%s and deleted=%s', async (include_deleted, only) => {
    const fields = { deleted: { code: invalid, reason: 'not_with_include_deleted', actual: only.length } }
    expect(await refusal({ include_deleted, deleted: only })).toEqual([400, invalid, fields])
  })

  test.each(['include_deleted', 'deleted'])('a filter for deleted items and %s=false', async (name) => {
    const fields = { state: { code: invalid, reason: `not_with_${name}`, actual: 12 } }
    expect(await refusal({ state: 'soft_deleted', [name]: 'false' })).toEqual([400, invalid, fields])
  })
})

describe('consistent parameters are accepted', () => {
  test('a cursor and limit', async () => {
    const cursor = (await calls.list(viewer('acme'), { page_size: '1' })).json.next_cursor
    expect(await idsOf({ cursor, limit: '2' })).toEqual(live.slice(1, 3))
  })

  test('include_deleted=true and deleted=true', async () => {
    expect(await idsOf({ include_deleted: 'true', deleted: 'true' }, admin('acme'))).toEqual([deleted])
  })

  test('include_deleted=false and deleted=false', async () => {
    expect(await idsOf({ include_deleted: 'false', deleted: 'false' })).toEqual(live)
  })
})

test('a role that may not see deleted items is denied before a contradiction is reported', async () => {
  const [status, code] = await refusal({ include_deleted: 'false', deleted: 'true' }, viewer('acme'))
  expect([status, code]).toEqual([403, 'AUTHZ.filter.denied'])
})

test('a long unknown parameter is quoted by its first 64 code points', async () => {
  const { body } = await calls.list(viewer('acme'), { [`a${'😀'.repeat(100)}`]: '1' })
  expect(Object.keys(JSON.parse(body ?? '').error.details.fields)).toEqual([`a${'😀'.repeat(63)}`])
})
