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
