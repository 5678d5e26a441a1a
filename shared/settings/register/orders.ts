import * as v from 'valibot'
import { announcedStatuses, type OrderMove } from '../order-moves.ts'
import { currency, fields, identifier, integer, list, nonEmpty, setting, some } from '../setting.ts'

const moves = Object.entries(announcedStatuses) as [OrderMove, string][]
const transition = v.strictObject(
  { from: list(identifier) },
  'expected {from}: the event decides the status to which the order moves',
)

interface Statuses {
  all: string[]
  first: string
  transitions: Record<OrderMove, { from: string[] }>
}

/** Returns the statuses that an order could get, or leave, and that are not among all. */
function unlisted({ all, first, transitions }: Statuses): string[] {
  const used = [first, ...moves.flatMap(([type, to]) => [to, ...transitions[type].from])]
  return used.filter((status) => !all.includes(status))
}

/** Orders, their refunds, and lists. */
export const orders = {
  'orders.createStatus': setting(
    'product',
    'Success status of creating an order (RFC 9110 15.3.2: 201)',
    v.picklist([200, 201]),
  ),
  'orders.statuses': setting(
    'product',
    'Statuses of an order, the first one, and those from which each received event moves an order to the status that it announces',
    v.pipe(
      v.strictObject({
        all: some(identifier),
        first: identifier,
        transitions: v.strictObject(
          Object.fromEntries(moves.map(([type]) => [type, transition])) as Record<
            OrderMove,
            typeof transition
          >,
          `expected one {from} for each event that a handler takes: ${moves.map(([type, to]) => `${type} to ${to}`).join(', ')}`,
        ),
      }),
      v.check(
        (statuses) => unlisted(statuses).length === 0,
        ({ input }) => `${unlisted(input).join(', ')} is not among all: ${input.all.join(', ')}`,
      ),
      v.check(
        ({ transitions }) => moves.every(([type, to]) => !transitions[type].from.includes(to)),
        'an event moves an order from another status than the one that it announces',
      ),
    ),
  ),
  'orders.fields': setting(
    'product',
    'Fields of an order in a response besides id, created_at and status',
    fields,
  ),
  'orders.currencies': setting('product', 'Currencies of orders (ISO 4217)', some(currency)),
  'orders.gone': setting(
    'product',
    'Status of an erased order: 410 from a tombstone, or never 410 but 404 (RFC 9110 15.5.11)',
    v.picklist(['tombstone', 'never']),
  ),

  'refunds.provider': setting(
    'deployment',
    'Endpoint of the payment provider, and the time limit of one attempt in milliseconds (Stripe API)',
    v.strictObject({
      endpoint: v.pipe(v.string(), v.url(), v.regex(/^https?:/, 'expected an address of https')),
      attemptMilliseconds: integer(1, 10_000),
    }),
  ),
  'refunds.account': setting(
    'deployment',
    "How the provider's account of a tenant is found: `connected` by an operator (`tenants connect`), or, on the local run, by the prefix and the tenant if none was ever connected (Stripe Connect)",
    v.union(
      [v.literal('connected'), v.strictObject({ prefix: nonEmpty })],
      'expected connected, or {prefix} on the local run',
    ),
  ),
  'refunds.reconcile': setting(
    'tuning',
    'Daily comparison of the ledger with the refunds of the provider: the hour in UTC, how many days it goes back, and the age in minutes from which a refund is compared',
    v.strictObject({ hour: integer(0, 23), days: integer(1, 90), minAgeMinutes: integer(0, 1440) }),
  ),
  'refunds.fields': setting('product', 'Fields of a refund in a response besides id (Stripe)', fields),
  'refunds.pendingMinutes': setting(
    'tuning',
    'Age in minutes from which the provider is asked about a refund that it has not settled; then each time the age has doubled, and once a day',
    integer(1, 24 * 60),
  ),
  'refunds.policy': setting(
    'product',
    'Whether a new key with the same payload creates another refund; after a change to once_per_charge, a charge that was refunded before can be refunded once more (Stripe)',
    v.picklist(['within_charge', 'once_per_charge']),
  ),

  'lists.defaultSort': setting(
    'product',
    'Sort order of lists without a sort parameter',
    v.picklist(['created_at.desc,id.desc', 'created_at.asc,id.asc']),
  ),
  'lists.offsetPaging': setting(
    'product',
    'Lists that allow limit and offset',
    list(v.picklist(['orders.list', 'codes.list'])),
  ),
  'lists.searchFields': setting(
    'product',
    'Fields that q searches',
    v.strictObject({
      orders: some(v.picklist(['cart_id', 'id', 'currency', 'status'])),
      codes: some(v.picklist(['code', 'name', 'id', 'type'])),
    }),
  ),
  'lists.pageSizeZero': setting(
    'product',
    'Handling of a page_size of 0: rejected, or treated as 1',
    v.picklist(['refuse', 'one']),
  ),
  'lists.count': setting(
    'product',
    'Item count of lists: null, or the exact number within the read budget',
    v.picklist(['null', 'exact']),
  ),
  'lists.maxFilterValues': setting(
    'tuning',
    'Maximum number of values of one filter with .in',
    integer(1, 100),
  ),
  'lists.maxFilterLength': setting(
    'tuning',
    'Maximum length of a filter value, in characters',
    integer(64, 1024),
  ),
  'lists.maxSearchLength': setting('tuning', 'Maximum length of q, in characters', integer(1, 1024)),
  'lists.readBudget': setting(
    'tuning',
    'Maximum number of items that one request reads before it returns a next_cursor',
    integer(101, 10_000),
  ),
}
