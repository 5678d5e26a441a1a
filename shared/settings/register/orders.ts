import * as v from 'valibot'
import { setting } from '../setting.ts'

const name = v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]*$/))

export const orders = {
  'orders.createStatus': setting({
    open: 'the success status of creating an order',
    contract: 'POST /v1/orders',
    feature: 'orders',
    precedent: 'RFC 9110 15.3.2: 201',
    schema: v.picklist([200, 201]),
  }),
  'orders.statuses': setting({
    open: 'the set of statuses, the first one, and the transitions with the event that causes each',
    contract: 'Order',
    feature: 'orders',
    precedent: 'commercetools, Square',
    schema: v.pipe(
      v.strictObject({
        all: v.pipe(v.array(name), v.minLength(1)),
        first: name,
        transitions: v.array(v.strictObject({ from: name, to: name, event: v.string() })),
      }),
      v.check(
        ({ all, first, transitions }) =>
          all.includes(first) && transitions.every(({ from, to }) => all.includes(from) && all.includes(to)),
        'first, from and to must be among all',
      ),
    ),
  }),
  'orders.fields': setting({
    open: 'the fields of an order in a reply',
    contract: 'Order',
    feature: 'orders',
    schema: v.pipe(
      v.array(
        v.picklist([
          'id',
          'tenant_id',
          'cart_id',
          'amount_minor',
          'currency',
          'status',
          'created_at',
          'updated_at',
        ]),
      ),
      v.check(
        (fields) => ['id', 'created_at', 'status'].every((field) => fields.some((one) => one === field)),
        'id, created_at and status are in the contract and cannot be left out',
      ),
    ),
  }),
  'orders.limits': setting({
    open: 'the longest cart_id in characters, and the smallest and largest amount in minor units',
    contract: 'Order',
    feature: 'orders',
    schema: v.pipe(
      v.strictObject({
        cartIdMaxLength: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(255)),
        amountMinorMin: v.pipe(v.number(), v.safeInteger()),
        amountMinorMax: v.pipe(v.number(), v.safeInteger()),
      }),
      v.check(
        ({ amountMinorMin, amountMinorMax }) => amountMinorMin <= amountMinorMax,
        'the smallest amount must not pass the largest',
      ),
    ),
  }),
  'orders.currencies': setting({
    open: 'the currency codes that an order may be in',
    contract: 'Order',
    feature: 'orders',
    precedent: 'ISO 4217',
    schema: v.pipe(v.array(v.pipe(v.string(), v.regex(/^[A-Z]{3}$/))), v.minLength(1)),
  }),
  'orders.gone': setting({
    open: 'when an order answers 410: its record was erased and left a tombstone, or never (404 then)',
    contract: 'Errors, Codes named',
    feature: 'orders',
    precedent: 'RFC 9110 15.5.11',
    schema: v.picklist(['tombstone', 'never']),
  }),
}

const searchable = v.strictObject({
  orders: v.array(v.picklist(['cart_id', 'id', 'currency', 'status'])),
  codes: v.array(v.picklist(['code', 'name', 'id', 'type'])),
})

export const lists = {
  'lists.defaultSort': setting({
    open: 'the sort when none is asked for',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    precedent: "the contract's reference form",
    schema: v.picklist(['created_at.desc,id.desc', 'created_at.asc,id.asc']),
  }),
  'lists.or': setting({
    open: 'the syntax of an OR of filters: off, as no syntax is agreed',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    precedent: 'PostgREST or=()',
    schema: v.picklist(['off']),
  }),
  'lists.offsetPaging': setting({
    open: 'the lists that allow limit and offset',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    schema: v.array(v.picklist(['orders.list', 'codes.list'])),
  }),
  'lists.searchFields': setting({
    open: 'the fields that q searches',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    schema: searchable,
  }),
  'lists.pageSizeZero': setting({
    open: 'a page_size of 0: refused, or treated as 1',
    contract: 'Limits',
    feature: 'lists',
    schema: v.picklist(['refuse', 'one']),
  }),
  'lists.pageSizeAbsurd': setting({
    open: 'the page_size above which a request is refused instead of clamped',
    contract: 'Errors, Codes named',
    feature: 'lists',
    schema: v.pipe(v.number(), v.safeInteger(), v.minValue(1000)),
  }),
  'lists.count': setting({
    open: 'whether lists count their items: null, or the exact number within the read budget',
    contract: 'List envelope',
    feature: 'lists',
    schema: v.picklist(['null', 'exact']),
  }),
  'lists.maxFilterValues': setting({
    open: 'how many values one filter with .in may name',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
  }),
  'lists.maxFilterLength': setting({
    open: 'the longest value of a filter, in characters',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    schema: v.pipe(v.number(), v.integer(), v.minValue(64), v.maxValue(1024)),
  }),
  'lists.maxSearchLength': setting({
    open: 'the longest text that q searches for, in characters',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    schema: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)),
  }),
  'lists.readBudget': setting({
    open: 'how many items one request may read before it returns what it has with a next_cursor',
    contract: 'Limits',
    feature: 'lists',
    schema: v.pipe(v.number(), v.integer(), v.minValue(101), v.maxValue(10_000)),
  }),
}
