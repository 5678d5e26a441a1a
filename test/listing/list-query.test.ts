import { createSecretKey } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import type { Failure } from '#shared/platform/base/failure.ts'
import { dateTimePattern } from '#shared/platform/formats/text.ts'
import { cursorSeal, type Position, sessionHash } from '#shared/platform/listing/cursor.ts'
import { type ListQuery, parseListQuery } from '#shared/platform/listing/list-query.ts'
import { type Listing, operatorsOf, parseSort, sortsOf, sortText } from '#shared/platform/listing/listing.ts'
import { parameterOf } from '#shared/platform/listing/parse-filter.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'
import { codeListing } from './code-list.ts'

const settings: Settings = {
  ...localSettings,
  'lists.defaultSort': 'created_at.desc,id.desc',
  'lists.offsetPaging': ['orders.list', 'codes.list'],
  'lists.pageSizeZero': 'refuse',
  'lists.maxFilterValues': 3,
  'lists.maxFilterLength': 50,
  'lists.maxSearchLength': 5,
  'lists.readBudget': 500,
}

interface How {
  operation?: string
  mayAskForDeleted?: boolean
  settings?: Partial<Settings>
  listing?: Listing
}

function parse(query: Record<string, string> | [string, string][], how: How = {}): ListQuery {
  const { operation = 'codes.list', mayAskForDeleted = true, listing = codeListing } = how
  const pairs = Array.isArray(query) ? query : Object.entries(query)
  return parseListQuery(pairs, listing, operation, mayAskForDeleted, { ...settings, ...how.settings })
}

/** The code of a rejection, its field and the problem with it. */
function rejection(query: Parameters<typeof parse>[0], how: How = {}): unknown {
  try {
    return parse(query, how)
  } catch (thrown) {
    const { code, details } = thrown as Failure
    const [[field, problem] = []] = Object.entries(details?.fields ?? {})
    const { code: own, ...facts } = problem ?? {}
    expect(own).toBe(code)
    return [code, field, facts]
  }
}

const invalid = (field: string, problem: object) => ['VALIDATION.filter.value_invalid', field, problem]

describe('a query without parameters', () => {
  test('has the defaults', () => {
    expect(parse({})).toEqual({
      sortedBy: undefined,
      descending: true,
      cursor: undefined,
      search: undefined,
      deleted: 'excluded',
      pageSize: 25,
      offset: 0,
      filters: [],
    })
  })

  test('has the sort of the settings', () => {
    expect(parse({}, { settings: { 'lists.defaultSort': 'created_at.asc,id.asc' } }).descending).toBe(false)
  })
})

describe('a parameter', () => {
  test.each(['color', 'constructor', 'type.gt', 'type.eq', 'type.', 'soft_deleted.in', 'uses.like', '.type'])(
    'named %s is unknown',
    (name) => {
      const problem = { reason: 'unknown', actual: 'string' }
      expect(rejection({ [name]: '1' })).toEqual(['VALIDATION.filter.unknown_key', name, problem])
    },
  )

  test('that is unknown is quoted by its first 64 code points', () => {
    const name = `a${'😀'.repeat(100)}`
    expect(rejection({ [name]: '1' })).toMatchObject([
      'VALIDATION.filter.unknown_key',
      `a${'😀'.repeat(63)}`,
      {},
    ])
  })

  test('is named like the filter that it asks for', () => {
    expect(parameterOf({ field: 'type', operator: 'eq', values: [] })).toBe('type')
    expect(parameterOf({ field: 'uses', operator: 'gte', values: [] })).toBe('uses.gte')
  })
})

describe('a filter', () => {
  test.each<[string, string, string, string, unknown[]]>([
    ['type', 'a,b', 'type', 'eq', ['a,b']],
    ['type.in', 'a,b', 'type', 'in', ['a', 'b']],
    ['uses', '-7', 'uses', 'eq', [-7]],
    ['uses.gte', '17', 'uses', 'gte', [17]],
    ['uses.in', '1,2,3', 'uses', 'in', [1, 2, 3]],
    ['code', ' a1 ', 'code', 'eq', ['A1']],
    ['state', 'ACTIVE', 'state', 'eq', ['active']],
    ['type', 'x'.repeat(50), 'type', 'eq', ['x'.repeat(50)]],
  ])('%s=%s', (name, value, field, operator, values) => {
    expect(parse({ [name]: value }).filters).toEqual([{ field, operator, values }])
  })

  test.each(['gte', 'gt', 'lte', 'lt'])('%s compares dates and numbers', (operator) => {
    const date = '2026-03-01T12:00:00.5Z'
    expect(parse({ [`created_at.${operator}`]: date }).filters).toEqual([
      { field: 'created_at', operator, values: [Date.parse(date)] },
    ])
  })

  const length = (actual: number) => ({ reason: 'length', min: 1, max: 50, actual })
  const safe = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }
  const integer = { reason: 'integer', integer: true, ...safe }
  test.each<[string, string, object]>([
    ['type', '', length(0)],
    ['type', 'x'.repeat(51), length(51)],
    ['type.in', 'a,', length(0)],
    ['type.in', 'a,b,c,d', { reason: 'too_many', max: 3, actual: 4 }],
    ['uses', '1.5', { ...integer, actual: 3 }],
    ['uses', '1x', { ...integer, actual: 2 }],
    ['uses', 'x1', { ...integer, actual: 2 }],
    ['uses', '+1', { ...integer, actual: 2 }],
    ['uses', '1e3', { ...integer, actual: 3 }],
    ['uses', '9007199254740993', { reason: 'too_large', ...safe, actual: 2 ** 53 }],
    ['uses.lte', '-9007199254740993', { reason: 'too_small', ...safe, actual: -(2 ** 53) }],
    ['code', 'a!', expect.objectContaining({ reason: 'format' })],
    ['state', 'gone', { reason: 'not_allowed', allowed: ['active', 'archived', 'soft_deleted'], actual: 4 }],
    ['soft_deleted', 'yes', { reason: 'boolean', allowed: ['true', 'false', '1', '0'], actual: 3 }],
    ['created_at', 'yesterday', { reason: 'date-time', regex: dateTimePattern.source, actual: 9 }],
    ['created_at', '2030-02-30T00:00:00Z', { reason: 'no_such_time', actual: 20 }],
  ])('%s=%s is rejected', (name, value, problem) => {
    expect(rejection({ [name]: value })).toEqual(invalid(name, problem))
  })

  test('of a list that normalizes nothing is taken as it is', () => {
    const { normalize: _, ...listing } = codeListing
    expect(parse({ type: ' a ' }, { listing }).filters).toMatchObject([{ values: [' a '] }])
  })

  test('on a date without a time zone is rejected', () => {
    expect(rejection({ created_at: '2026-03-01' })).toMatchObject([
      'VALIDATION.datetime.timezone_required',
      'created_at',
      { reason: 'timezone_required' },
    ])
  })
})

describe('a range', () => {
  const date = '2026-03-01T12:00:00Z'

  test.each<[Record<string, string>, boolean]>([
    [{ 'uses.gte': '2', 'uses.lte': '2' }, true],
    [{ 'uses.gt': '1', 'uses.lt': '2' }, true],
    [{ 'uses.gte': '3', 'uses.lt': '2' }, false],
    [{ 'uses.gt': '3', 'uses.lte': '2' }, false],
    [{ 'uses.gte': '1', 'uses.gt': '3', 'uses.lte': '2' }, false],
    [{ 'uses.gte': '1', 'uses.lt': '9', 'uses.lte': '0' }, false],
    [{ 'uses.gte': '3', uses: '1' }, true],
    [{ 'uses.gte': '3' }, true],
    [{ 'uses.lte': '3' }, true],
  ])('of numbers: %j accepted %j', (query, accepted) => {
    const expected = accepted
      ? expect.objectContaining({ pageSize: 25 })
      : invalid('uses', { reason: 'range' })
    expect(rejection(query)).toMatchObject(expected)
  })

  test('of dates has its own error', () => {
    const query = { 'created_at.gte': '2026-03-02T00:00:00Z', 'created_at.lte': date }
    expect(rejection(query)).toMatchObject(['VALIDATION.date.range', 'created_at', { reason: 'range' }])
  })

  test('of one field is independent of another', () => {
    expect(parse({ 'uses.gte': '3', 'created_at.lte': '1970-01-01T00:00:00Z' }).filters).toHaveLength(2)
  })
})

describe('a page size', () => {
  test.each([
    ['1', 1],
    ['100', 100],
    ['101', 100],
    ['10000', 100],
    ['+7', 7],
  ])('of %s is %d', (page_size, expected) => {
    expect(parse({ page_size }).pageSize).toBe(expected)
  })

  const small = { reason: 'too_small', min: 1, max: 100 }
  const large = { reason: 'too_large', min: 1, max: 100 }
  const integer = { reason: 'integer', integer: true, min: 1, max: 100 }
  test.each<[string, string, object]>([
    ['x', 'invalid', { ...integer, actual: 1 }],
    ['7x', 'invalid', { ...integer, actual: 2 }],
    ['1+7', 'invalid', { ...integer, actual: 3 }],
    ['x7', 'invalid', { ...integer, actual: 2 }],
    ['', 'invalid', { ...integer, actual: 0 }],
    ['0', 'min', { ...small, actual: 0 }],
    ['-1', 'min', { ...small, actual: -1 }],
    [`-${'9'.repeat(400)}`, 'min', { ...small, actual: -Number.MAX_VALUE }],
    ['10001', 'max', { ...large, actual: 10_001 }],
    ['9'.repeat(400), 'max', { ...large, actual: Number.MAX_VALUE }],
  ])('of %j is rejected', (page_size, rule, problem) => {
    expect(rejection({ page_size })).toEqual([`VALIDATION.page_size.${rule}`, 'page_size', problem])
  })

  test('of zero is one if the settings say so', () => {
    const one: How = { settings: { 'lists.pageSizeZero': 'one' } }
    expect(parse({ page_size: '0' }, one).pageSize).toBe(1)
    expect(rejection({ page_size: '-1' }, one)).toMatchObject(
      expect.arrayContaining(['VALIDATION.page_size.min']),
    )
  })
})

describe('an offset', () => {
  test('and a limit are read where the settings allow them', () => {
    expect(parse({ offset: '500', limit: '7' })).toMatchObject({ offset: 500, pageSize: 7 })
    expect(parse({ limit: '7' })).toMatchObject({ offset: 0 })
  })

  test.each(['offset', 'limit'])('is an unknown filter elsewhere (%s)', (name) => {
    const query = { [name]: '1', cursor: 'x', page_size: '1' }
    expect(rejection(query, { operation: 'carts.list' })).toMatchObject([
      'VALIDATION.filter.unknown_key',
      name,
      { reason: 'unknown' },
    ])
  })

  test.each([
    ['501', 'too_large', 501],
    ['-1', 'too_small', -1],
    ['x', 'integer', 1],
    ['1x', 'integer', 2],
    ['', 'integer', 0],
    ['1.5', 'integer', 3],
    ['+1', 'integer', 2],
  ])('of %j is rejected: %s', (offset, reason, actual) => {
    const facts = { reason, ...(reason === 'integer' && { integer: true }), min: 0, max: 500, actual }
    expect(rejection({ offset })).toEqual(invalid('offset', facts))
  })

  test('of minus zero is zero', () => {
    expect(parse({ offset: '-0' }).offset).toBe(0)
  })

  test('names the limit that is invalid', () => {
    expect(rejection({ limit: 'x' })).toMatchObject([
      'VALIDATION.page_size.invalid',
      'limit',
      { reason: 'integer' },
    ])
  })
})

describe('a cursor', () => {
  test('has at most 1024 characters', () => {
    expect(parse({ cursor: 'x'.repeat(1024) }).cursor).toBe('x'.repeat(1024))
  })

  test.each(['', 'x'.repeat(1025)])('of another length is rejected', (cursor) => {
    const problem = { reason: 'invalid', min: 1, max: 1024, actual: cursor.length }
    expect(rejection({ cursor })).toEqual(['VALIDATION.cursor.invalid', 'cursor', problem])
  })
})

describe('a problem with a parameter', () => {
  const withDeleted = { reason: 'not_with_include_deleted' }
  test.each<[Record<string, string>, string, object]>([
    [{ limit: '10', page_size: '1' }, 'limit', { reason: 'not_with_page_size', actual: 2 }],
    [{ offset: '100', cursor: 'x' }, 'offset', { reason: 'not_with_cursor', actual: 3 }],
    [{ deleted: 'false', include_deleted: 'true' }, 'deleted', { ...withDeleted, actual: 5 }],
    [{ deleted: 'true', include_deleted: 'false' }, 'deleted', { ...withDeleted, actual: 4 }],
    [{ state: 'soft_deleted', include_deleted: 'false' }, 'state', { ...withDeleted, actual: 12 }],
    [{ state: 'soft_deleted', deleted: 'false' }, 'state', { reason: 'not_with_deleted', actual: 12 }],
    [{ state: 'soft_deleted', deleted: '0' }, 'state', { reason: 'not_with_deleted', actual: 12 }],
    [{ 'uses.gt': '3', 'uses.lte': '2' }, 'uses', { reason: 'range', min: 3, actual: 2 }],
    [
      { 'created_at.gte': '2026-03-02T01:00:00+01:00', 'created_at.lte': '2026-03-01T12:00:00Z' },
      'created_at',
      { reason: 'range', not_before: '2026-03-02T00:00:00.000Z', actual: '2026-03-01T12:00:00.000Z' },
    ],
  ])('states what contradicts another parameter: %j', (query, field, facts) => {
    expect(rejection(query)).toEqual([expect.any(String), field, facts])
  })

  test('states how often a parameter was sent', () => {
    const query: [string, string][] = ['a', 'b', 'c'].map((type) => ['type', type])
    expect(rejection(query)).toEqual(invalid('type', { reason: 'repeated', max: 1, actual: 3 }))
  })

  test('states the roles that may send it', () => {
    const allowed = settings['lists.includeDeletedRoles']
    const denied = rejection({ deleted: 'true' }, { mayAskForDeleted: false })
    expect(denied).toEqual(['AUTHZ.filter.denied', 'deleted', { reason: 'role', allowed, actual: 'string' }])
  })
})

describe('a search', () => {
  test('is normalized, trimmed and case-folded', () => {
    expect(parse({ q: ' e\u0301a ' }).search).toBe('\u00c9A')
  })

  test('is measured before its case is folded', () => {
    expect(parse({ q: 'ßßßßß' }).search).toBe('SSSSSSSSSS')
  })

  test.each([
    ['  ', 0],
    ['abcdef', 6],
  ])('for %j is rejected', (q, actual) => {
    expect(rejection({ q })).toEqual(invalid('q', { reason: 'length', min: 1, max: 5, actual }))
  })
})

describe('deleted items', () => {
  test.each<[Record<string, string>, ListQuery['deleted']]>([
    [{}, 'excluded'],
    [{ include_deleted: 'false' }, 'excluded'],
    [{ deleted: 'false' }, 'excluded'],
    [{ include_deleted: 'true' }, 'included'],
    [{ deleted: 'true' }, 'only'],
    [{ include_deleted: 'true', deleted: 'true' }, 'only'],
    [{ include_deleted: 'false', deleted: 'false' }, 'excluded'],
    [{ include_deleted: '0', deleted: 'false' }, 'excluded'],
    [{ include_deleted: '1' }, 'included'],
    [{ include_deleted: 'true', deleted: '1' }, 'only'],
    [{ state: 'soft_deleted', deleted: '1' }, 'only'],
    [{ state: 'soft_deleted' }, 'included'],
    [{ state: 'soft_deleted', include_deleted: 'true' }, 'included'],
    [{ state: 'soft_deleted', deleted: 'true' }, 'only'],
    [{ state: 'active' }, 'excluded'],
  ])('with %j are %s', (query, expected) => {
    expect(parse(query).deleted).toBe(expected)
  })

  test.each<[Record<string, string>, string]>([
    [{ include_deleted: 'true' }, 'include_deleted'],
    [{ deleted: 'true' }, 'deleted'],
    [{ state: 'soft_deleted' }, 'state'],
    [{ 'state.in': 'active,soft_deleted' }, 'state.in'],
    [{ include_deleted: 'false', deleted: 'true' }, 'deleted'],
  ])('with %j need a role', (query, field) => {
    const how = { mayAskForDeleted: false }
    expect(rejection(query, how)).toMatchObject(['AUTHZ.filter.denied', field, { reason: 'role' }])
  })

  test('that are excluded need no role', () => {
    const how = { mayAskForDeleted: false }
    expect(parse({ include_deleted: 'false', deleted: 'false' }, how).deleted).toBe('excluded')
  })

  test.each(['include_deleted', 'deleted'])('need a boolean %s', (name) => {
    const problem = { reason: 'boolean', allowed: ['true', 'false', '1', '0'], actual: 3 }
    expect(rejection({ [name]: 'yes' })).toEqual(invalid(name, problem))
  })

  test('are not meant by any filter of a list without them', () => {
    const { reveals: _, ...listing } = codeListing
    expect(parse({ state: 'soft_deleted' }, { listing }).deleted).toBe('excluded')
  })
})

describe('a sort', () => {
  test.each([
    ['created_at.desc', undefined, true],
    ['id.asc', undefined, false],
    ['created_at.asc,id.asc', undefined, false],
    ['code.desc', 'code', true],
    ['code.asc,id.asc', 'code', false],
  ])('%s', (sort, sortedBy, descending) => {
    expect(parseSort(sort, codeListing)).toEqual({ sortedBy, descending })
    expect(parse({ sort })).toMatchObject({ sortedBy, descending })
  })

  const allowed = sortsOf(codeListing)
  test.each([
    ['color.asc', 'unknown'],
    ['constructor.asc', 'unknown'],
    ['xcode.asc', 'unknown'],
    ['type.asc', 'not_sortable'],
    ['type.asc,color.asc', 'unknown'],
    ['id.asc,created_at.asc', 'not_allowed'],
    ['created_at.asc,created_at.desc', 'repeated'],
    ['id.asc,id.asc', 'repeated'],
    ['created_at.asc,id.asc,code.asc', 'not_allowed'],
  ])('%j is rejected as %s', (sort, reason) => {
    expect(rejection({ sort })).toEqual([
      'VALIDATION.sort.field',
      'sort',
      { reason, allowed, actual: sort.length },
    ])
  })

  test.each(['', 'code', '1code.asc', 'code.ascx', 'Code.asc', 'code.asc,', ' code.asc'])(
    '%j is malformed',
    (sort) => {
      const problem = { reason: 'format', allowed, actual: sort.length }
      expect(rejection({ sort })).toEqual(['VALIDATION.sort.field', 'sort', problem])
    },
  )

  test('in two directions is rejected', () => {
    expect(rejection({ sort: 'created_at.asc,id.desc' })).toMatchObject([
      'VALIDATION.sort.field',
      'sort',
      { reason: 'mixed_directions', allowed },
    ])
  })

  test('of a list without indexes is by time or id', () => {
    const { orders: _, ...listing } = codeListing
    expect(sortsOf(listing)).toEqual([
      'created_at.desc',
      'created_at.asc',
      'id.desc',
      'id.asc',
      'created_at.desc,id.desc',
      'created_at.asc,id.asc',
    ])
    expect(rejection({ sort: 'code.asc' }, { listing })).toMatchObject([
      'VALIDATION.sort.field',
      'sort',
      { reason: 'not_sortable', allowed: sortsOf(listing) },
    ])
    expect(parseSort('id.asc', listing)).toEqual({ sortedBy: undefined, descending: false })
  })

  test('may be by an index', () => {
    expect(sortsOf(codeListing).slice(6)).toEqual([
      'code.desc',
      'code.asc',
      'code.desc,id.desc',
      'code.asc,id.asc',
    ])
  })

  test('is shown with the id', () => {
    expect(sortText({ sortedBy: undefined, descending: true })).toBe('created_at.desc,id.desc')
    expect(sortText({ sortedBy: 'code', descending: false })).toBe('code.asc,id.asc')
  })
})

test('the operators of a field depend on its kind', () => {
  const ranges = ['eq', 'in', 'gte', 'gt', 'lte', 'lt']
  expect(operatorsOf('boolean')).toEqual(['eq'])
  expect(operatorsOf('string')).toEqual(['eq', 'in'])
  expect(operatorsOf('integer')).toEqual(ranges)
  expect(operatorsOf('date-time')).toEqual(ranges)
})

describe('a sealed cursor', () => {
  const key = createSecretKey(new Uint8Array(32).fill(1))
  const position: Position = { direction: 'next', start: 'a', bound: undefined, snapshotBound: 'z', skip: 3 }
  const cursors = cursorSeal(key, (length) => crypto.getRandomValues(new Uint8Array(length)))
  const openedBy = (cursor: string, session: string, by = cursors) => {
    try {
      return by.open(cursor, session)
    } catch (thrown) {
      return (thrown as Failure).code
    }
  }

  test.each(['b', undefined])('returns its position (bound: %s)', (bound) => {
    const cursor = cursors.seal({ ...position, bound }, 'session')
    expect(openedBy(cursor, 'session')).toEqual({ ...position, bound })
  })

  test.each<[string, (cursor: string) => unknown]>([
    ['of another session', (cursor) => openedBy(cursor, 'other')],
    ['that was changed', (cursor) => openedBy(`A${cursor.slice(1)}B`, 'session')],
    [
      'of another key',
      (cursor) =>
        openedBy(
          cursor,
          'session',
          cursorSeal(createSecretKey(new Uint8Array(32)), () => new Uint8Array(12)),
        ),
    ],
  ])('%s is rejected', (_, open) => {
    expect(open(cursors.seal(position, 'session'))).toBe('VALIDATION.cursor.invalid')
  })

  test('names the parameter in its rejection', () => {
    expect(() => cursors.open('x', 'session')).toThrow(
      expect.objectContaining({
        details: { fields: { cursor: expect.objectContaining({ reason: 'invalid', actual: 1 }) } },
      }),
    )
  })
})

describe('a pagination session', () => {
  const query = parse({ type: 'a', 'uses.gte': '3' })
  const hash = sessionHash('codes.list', 'acme', query)

  test('stays the same with another page size and another order of its filters', () => {
    const same = parse({ 'uses.gte': '3', type: 'a', page_size: '7' })
    expect(sessionHash('codes.list', 'acme', same)).toBe(hash)
  })

  test.each<[string, string]>([
    ['operation', sessionHash('orders.list', 'acme', query)],
    ['tenant', sessionHash('codes.list', 'other', query)],
    ['filters', sessionHash('codes.list', 'acme', parse({ type: 'b', 'uses.gte': '3' }))],
    ['operators', sessionHash('codes.list', 'acme', parse({ type: 'a', 'uses.gt': '3' }))],
    ['search', sessionHash('codes.list', 'acme', { ...query, search: 'x' })],
    ['deleted items', sessionHash('codes.list', 'acme', { ...query, deleted: 'only' })],
    ['sort', sessionHash('codes.list', 'acme', { ...query, sortedBy: 'code' })],
    ['direction', sessionHash('codes.list', 'acme', { ...query, descending: false })],
  ])('differs by its %s', (_, other) => {
    expect(other).not.toBe(hash)
  })
})
