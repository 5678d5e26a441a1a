import { beforeAll, describe, expect, test } from '@jest/globals'
import { parametersOf } from '#bin/describe/openapi/parameters.ts'
import { routes } from '#functions/routes.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { CodeStore, codeList, type StoredCode } from './code-list.ts'

const start = Date.parse('2026-03-01T00:00:00.000Z')

const service = await startService({ extra: [codeList] })
const acme = new CodeStore(service.table, 'acme')
beforeAll(async () => {
  for (const [n, code] of ['SPRING', 'SUMMER-10', 'SUMMER-1', 'SUMMER', 'AUTUMN'].entries()) {
    await acme.add(start + n, code)
  }
  const old = (await acme.add(start - 5, 'WINTER')) as StoredCode
  await acme.softDelete(old, true)
  await acme.add(start + 9, 'WINTER', { state: 'archived' })
})

const list = (query: string, role = 'Viewer', tenant = 'acme') =>
  service.call({ path: `/tests/codes${query}`, as: { tenant, role } })

const refusal = async (query: string, role = 'Viewer') => {
  const { status, json } = await list(query, role)
  return [status, json.error?.code, json.error?.details.fields]
}

const codesOf = ({ json }: { json: { data: StoredCode[] } }) => json.data.map(({ code }) => code)

describe('a list sorted by another field', () => {
  const ascending = ['AUTUMN', 'SPRING', 'SUMMER', 'SUMMER-1', 'SUMMER-10', 'WINTER']

  test.each([
    ['code.asc', 'code.asc,id.asc', ascending],
    ['code.asc,id.asc', 'code.asc,id.asc', ascending],
    ['code.desc', 'code.desc,id.desc', ascending.toReversed()],
    ['code.desc,id.desc', 'code.desc,id.desc', ascending.toReversed()],
    ['id.asc', 'created_at.asc,id.asc', undefined],
  ])('with sort=%s is sorted, and returns that sort', async (sort, returned, expected) => {
    const answer = await list(`?sort=${sort}`)
    expect(answer.json.sort).toBe(returned)
    if (expected) expect(codesOf(answer)).toEqual(expected)
  })

  test.each([
    ['code.asc,id.desc', 'mixed_directions'],
    ['code', 'format'],
    ['code.up', 'format'],
    ['colour.asc', 'unknown'],
    ['constructor.asc', 'unknown'],
    ['code.asc,colour.asc', 'unknown'],
    ['uses.desc', 'not_sortable'],
    ['code.asc,state.asc', 'not_sortable'],
    ['id.asc,code.asc', 'not_allowed'],
    ['code.asc,created_at.asc', 'not_allowed'],
    ['code.asc,code.asc', 'repeated'],
  ])('with sort=%s is rejected: %s', async (sort, reason) => {
    const [status, code, fields] = await refusal(`?sort=${sort}`)
    expect([status, code, fields.sort.reason]).toEqual([400, 'VALIDATION.sort.field', reason])
    if (!['mixed_directions', 'format'].includes(reason))
      expect(fields.sort.allowed).toEqual(['created_at', 'id', 'code'])
  })

  test('of orders does not exist', async () => {
    const orders = await service.call({ path: '/v1/orders?sort=cart_id.asc', as: { role: 'Viewer' } })
    expect(orders.json.error.details.fields.sort).toMatchObject({
      reason: 'not_sortable',
      allowed: ['created_at', 'id'],
    })
  })

  test('rejects a cursor of another sort', async () => {
    for (const [sort, other] of [
      ['code.asc', 'code.desc'],
      ['code.asc', 'id.asc'],
      ['id.asc', 'code.asc'],
    ]) {
      const cursor = (await list(`?page_size=2&sort=${sort}`)).json.next_cursor
      expect((await list(`?sort=${sort}&cursor=${cursor}`)).status).toBe(200)
      expect((await refusal(`?sort=${other}&cursor=${cursor}`))[1]).toBe('VALIDATION.cursor.invalid')
    }
  })

  test('returns 304 until a code is added, and counts its items', async () => {
    const store = new CodeStore(service.table, 'tagged')
    await store.add(start, 'B')
    const first = await list('?sort=code.asc&page_size=1', 'Viewer', 'tagged')
    const again = () =>
      service.call({
        path: '/tests/codes?sort=code.asc&page_size=1',
        as: { tenant: 'tagged', role: 'Viewer' },
        headers: { 'If-None-Match': first.headers.ETag as string },
      })
    expect((await again()).status).toBe(304)
    await store.add(start + 1, 'C')
    expect((await again()).status).toBe(200)

    const settings = { ...localSettings, 'lists.count': 'exact' as const }
    const counting = await startService({ settings, tableName: service.tableName, extra: [codeList] })
    const as = { tenant: 'acme', role: 'Viewer' }
    const { json } = await counting.call({ path: '/tests/codes?sort=code.desc&page_size=2', as })
    expect([json.count, json.data.length]).toEqual([6, 2])
  })

  test.each(['asc', 'desc'])(
    'shows each code once while all are deleted concurrently, %s',
    async (direction) => {
      const store = new CodeStore(service.table, `deleted-${direction}`)
      const added = []
      for (const [n, code] of ['A', 'A-', 'B', 'C'].entries()) added.push(await store.add(start + n, code))
      const seen: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const query = `?include_deleted=true&sort=code.${direction}&page_size=1${cursor && `&cursor=${cursor}`}`
        const { json } = await list(query, 'Admin', store.tenant)
        for (const { id } of json.data) {
          seen.push(id)
          const shown = added.find((code) => code?.id === id) as StoredCode
          await store.softDelete(shown, true)
          await store.add(Date.now() + 5, shown.code)
        }
        cursor = json.next_cursor
      }
      const ids = added.map((code) => code?.id)
      expect(seen).toEqual(direction === 'asc' ? ids : ids.toReversed())
    },
  )
})

describe('filters of a list', () => {
  test.each([
    ['?code=summer-10', 'Viewer', ['SUMMER-10']],
    ['?code=%20Summer%20', 'Viewer', ['SUMMER']],
    ['?code.in=spring,%20autumn%20,nothing', 'Viewer', ['AUTUMN', 'SPRING']],
    ['?code=winter', 'Viewer', ['WINTER']],
    ['?code=winter&include_deleted=true', 'Admin', ['WINTER', 'WINTER']],
    ['?state=ARCHIVED', 'Viewer', ['WINTER']],
    ['?soft_deleted=true', 'Admin', ['WINTER']],
    ['?soft_deleted=false&state=archived', 'Viewer', ['WINTER']],
    ['?soft_deleted=true&deleted=true', 'Admin', ['WINTER']],
    ['?soft_deleted=false&deleted=true', 'Admin', []],
    ['?state.in=archived,soft_deleted', 'Admin', ['WINTER', 'WINTER']],
    ['?state=soft_deleted&soft_deleted=true', 'Admin', ['WINTER']],
  ])('%s', async (query, role, expected) => {
    for (const sort of ['code.asc', 'code.desc', 'id.desc']) {
      expect(codesOf(await list(`${query}&sort=${sort}`, role)).toSorted()).toEqual(expected)
    }
  })

  test.each([
    ['?soft_deleted=yes', 'VALIDATION.filter.value_invalid', 'soft_deleted', 'boolean'],
    ['?soft_deleted=TRUE', 'VALIDATION.filter.value_invalid', 'soft_deleted', 'boolean'],
    ['?soft_deleted=', 'VALIDATION.filter.value_invalid', 'soft_deleted', 'length'],
    ['?soft_deleted.in=true', 'VALIDATION.filter.unknown_key', 'soft_deleted.in', 'unknown'],
    ['?soft_deleted.gte=true', 'VALIDATION.filter.unknown_key', 'soft_deleted.gte', 'unknown'],
    ['?code=SUMMER_10', 'VALIDATION.filter.value_invalid', 'code', 'format'],
    ['?code.in=SUMMER,%20', 'VALIDATION.filter.value_invalid', 'code.in', 'format'],
    ['?code=SUMMER%2310', 'VALIDATION.filter.value_invalid', 'code', 'format'],
    ['?state=lost', 'VALIDATION.filter.value_invalid', 'state', 'not_allowed'],
  ])('%s is rejected with %s', async (query, code, field, reason) => {
    const [status, error, fields] = await refusal(query, 'Admin')
    expect([status, error, fields[field].reason]).toEqual([400, code, reason])
  })

  test.each([
    ['?soft_deleted=true', 'soft_deleted'],
    ['?state=soft_deleted', 'state'],
    ['?state=SOFT_DELETED', 'state'],
    ['?state.in=active,soft_deleted', 'state.in'],
  ])('%s is permitted to roles that see deleted items', async (query, field) => {
    const denied = [403, 'AUTHZ.filter.denied', { [field]: { reason: 'role' } }]
    for (const role of ['Viewer', 'Editor']) expect(await refusal(query, role)).toMatchObject(denied)
    expect((await list(query, 'Admin')).status).toBe(200)
  })
})

describe('the API description', () => {
  test('of a list names its sorts and the values of its filters', () => {
    const parameters = parametersOf(codeList.route, localSettings)
    const schemaOf = (name: string) => parameters.find((one) => one.name === name)?.schema
    expect(schemaOf('sort')).toMatchObject({
      enum: expect.arrayContaining([
        'id.asc',
        'code.asc',
        'code.desc',
        'code.asc,id.asc',
        'code.desc,id.desc',
      ]),
    })
    expect(schemaOf('soft_deleted')).toEqual({ type: 'boolean' })
    expect(schemaOf('soft_deleted.in')).toBeUndefined()
  })

  test('of orders has the same sorts as before', () => {
    const orders = routes.find(({ route }) => route.operation === 'orders.list')
    if (!orders) throw new Error('no list of orders')
    const [sort] = parametersOf(orders.route, localSettings).filter(({ name }) => name === 'sort')
    expect(sort).toMatchObject({
      description: 'The order. created_at is the time in the id, so both sort alike.',
      schema: {
        enum: [
          'created_at.desc',
          'created_at.asc',
          'id.desc',
          'id.asc',
          'created_at.desc,id.desc',
          'created_at.asc,id.asc',
        ],
      },
    })
  })
})
