import { expect, test } from '@jest/globals'
import { type Call, startService } from '#test/support/service.ts'

const service = await startService()
const as = { tenant: 'acme', role: 'Editor', scope: 'codes:read codes:write' }
const order = (changes: object | string): Call => ({
  method: 'POST',
  path: '/v1/orders',
  as,
  headers: { 'Idempotency-Key': crypto.randomUUID() },
  body:
    typeof changes === 'string' ? changes : { cart_id: 'c', amount_minor: 1, currency: 'EUR', ...changes },
})
const code = (changes: object): Call => ({
  ...order({}),
  path: '/codes',
  body: { code: 'A', type: 'percent-10', name: 'A', expiry_at: '2099-01-01T00:00:00Z', ...changes },
})
const list = (query: string): Call => ({ path: `/codes?${query}`, as })

test.each<[string, Call, string, string | number]>([
  ['the JSON type where it is wrong', order({ cart_id: 5 }), 'cart_id', 'number'],
  ['the JSON type of a field that does not exist', order({ surprise: 'abc' }), 'surprise', 'string'],
  ['the JSON type of a filter that does not exist', list('surprise=abc'), 'surprise', 'string'],
  ['the JSON type of a filter of other roles', list('include_deleted=1'), 'include_deleted', 'string'],
  ['absent where nothing was sent', order({ cart_id: undefined }), 'cart_id', 'absent'],
  ['a number itself', order({ amount_minor: 1.5 }), 'amount_minor', 1.5],
  ['a number itself in a query', list('page_size=-7'), 'page_size', -7],
  ['a large number itself', order({ amount_minor: 1e20 }), 'amount_minor', 1e20],
  [
    'the nearest number that a double holds',
    order('{"amount_minor":9007199254740993}'),
    'amount_minor',
    9007199254740992,
  ],
  ['a time itself', code({ expiry_at: '2020-01-01T00:00:00.000Z' }), 'expiry_at', '2020-01-01T00:00:00.000Z'],
  ['the length of a text', order({ currency: 'euro' }), 'currency', 4],
  ['the length of a text in characters', code({ name: '😀'.repeat(65) }), 'name', 65],
  ['the length of a text that is no time', code({ expiry_at: 'soon' }), 'expiry_at', 4],
  ['the length of a text in a query', list('sort=color.asc'), 'sort', 9],
  ['the length of a value in a query', list('state=%F0%9F%98%80'), 'state', 1],
  ['the length of a list', list('page_size=1&page_size=2'), 'page_size', 2],
])('the actual of an invalid field is %s', async (_, call, field, actual) => {
  const { json } = await service.call(call)
  expect(json.error.details.fields[field]).toMatchObject({ actual })
})
