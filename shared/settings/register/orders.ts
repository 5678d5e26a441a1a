import * as v from 'valibot'
import { currency, fields, identifier, integer, setting, some } from '../setting.ts'

/** Orders, their refunds, and lists. */
export const orders = {
  'orders.createStatus': setting(
    'Success status of creating an order (RFC 9110 15.3.2: 201)',
    v.picklist([200, 201]),
  ),
  'orders.statuses': setting(
    'Statuses of an order, the first one, and the transitions with the event of each',
    v.pipe(
      v.strictObject({
        all: some(identifier),
        first: identifier,
        transitions: v.array(v.strictObject({ from: identifier, to: identifier, event: v.string() })),
      }),
      v.check(
        ({ all, first, transitions }) =>
          [first, ...transitions.flatMap(({ from, to }) => [from, to])].every((one) => all.includes(one)),
        'first, from and to must be among all',
      ),
    ),
  ),
  'orders.fields': setting('Fields of an order in a response besides id, created_at and status', fields),
  'orders.limits': setting(
    'Maximum length of cart_id in characters, and the minimum and maximum amount in minor units',
    v.pipe(
      v.strictObject({
        cartIdMaxLength: integer(1, 255),
        amountMinorMin: v.pipe(v.number(), v.safeInteger()),
        amountMinorMax: v.pipe(v.number(), v.safeInteger()),
      }),
      v.check(
        ({ amountMinorMin, amountMinorMax }) => amountMinorMin <= amountMinorMax,
        'amountMinorMin must not exceed amountMinorMax',
      ),
    ),
  ),
  'orders.currencies': setting('Currencies of orders (ISO 4217)', some(currency)),
  'orders.gone': setting(
    'Status of an erased order: 410 from a tombstone, or never 410 but 404 (RFC 9110 15.5.11)',
    v.picklist(['tombstone', 'never']),
  ),

  'refunds.provider': setting(
    'Endpoint of the payment provider, and the time limit of one attempt in milliseconds (Stripe API)',
    v.strictObject({
      endpoint: v.pipe(v.string(), v.url()),
      attemptMilliseconds: integer(1, 10_000),
    }),
  ),
  'refunds.account': setting(
    'Connected account of the provider with the charges of a tenant: a named one, else the optional prefix and the tenant; without both, the request fails (Stripe Connect). The daily comparison covers the tenants with a named account',
    v.strictObject({
      accounts: v.pipe(
        v.record(v.string(), v.string()),
        v.check((accounts) => {
          const names = Object.values(accounts)
          return new Set(names).size === names.length
        }, 'Two tenants have the same account'),
      ),
      prefix: v.exactOptional(v.string()),
    }),
  ),
  'refunds.reconcile': setting(
    'Daily comparison of the ledger with the refunds of the provider: the hour in UTC, how many days it goes back, and the age in minutes from which a refund is compared',
    v.strictObject({ hour: integer(0, 23), days: integer(1, 90), minAgeMinutes: integer(0, 1440) }),
  ),
  'refunds.fields': setting('Fields of a refund in a response besides id (Stripe)', fields),
  'refunds.pendingMinutes': setting(
    'Age in minutes from which the provider is asked about a refund that it has not settled; then each time the age has doubled, and once a day',
    integer(1, 24 * 60),
  ),
  'refunds.policy': setting(
    'Whether a new key with the same payload creates another refund (Stripe)',
    v.picklist(['within_charge', 'once_per_charge']),
  ),

  'lists.defaultSort': setting(
    'Sort order of lists without a sort parameter',
    v.picklist(['created_at.desc,id.desc', 'created_at.asc,id.asc']),
  ),
  'lists.offsetPaging': setting(
    'Lists that allow limit and offset',
    v.array(v.picklist(['orders.list', 'codes.list'])),
  ),
  'lists.searchFields': setting(
    'Fields that q searches',
    v.strictObject({
      orders: v.array(v.picklist(['cart_id', 'id', 'currency', 'status'])),
      codes: v.array(v.picklist(['code', 'name', 'id', 'type'])),
    }),
  ),
  'lists.pageSizeZero': setting(
    'Handling of a page_size of 0: rejected, or treated as 1',
    v.picklist(['refuse', 'one']),
  ),
  'lists.pageSizeAbsurd': setting(
    'The page_size above which a request is rejected instead of clamped',
    integer(1000),
  ),
  'lists.count': setting(
    'Item count of lists: null, or the exact number within the read budget',
    v.picklist(['null', 'exact']),
  ),
  'lists.maxFilterValues': setting('Maximum number of values of one filter with .in', integer(1, 100)),
  'lists.maxFilterLength': setting('Maximum length of a filter value, in characters', integer(64, 1024)),
  'lists.maxSearchLength': setting('Maximum length of q, in characters', integer(1, 1024)),
  'lists.readBudget': setting(
    'Maximum number of items that one request reads before it returns a next_cursor',
    integer(101, 10_000),
  ),
}
