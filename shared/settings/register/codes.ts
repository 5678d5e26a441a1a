import * as v from 'valibot'
import { importColumns } from '../import-columns.ts'
import { liveStates } from '../live-states.ts'
import {
  count,
  currency,
  headerName,
  identifier,
  integer,
  linkSeconds,
  list,
  nonEmpty,
  setting,
  some,
  text,
} from '../setting.ts'

const state = v.picklist(liveStates)
const pricingRule = { rule_id: v.string(), combinable_with_gift_card: v.boolean() }
const pricing = v.variant('kind', [
  v.strictObject({
    ...pricingRule,
    kind: v.literal('percentage'),
    value: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
  }),
  v.strictObject({ ...pricingRule, kind: v.literal('fixed'), value: integer(0), currency }),
])
/** The columns that an export may contain: no personal data. */
const exportable = [
  ...(['id', 'tenant_id', ...importColumns] as const),
  ...(['state', 'soft_deleted', 'created_at', 'updated_at'] as const),
] as const
/** Lambda accepts and returns at most 6 MB; base64 makes a body a third larger. */
const maxBodyBytes = 4 * 1024 * 1024
/** The size limit of a bulk update item: a name of 64 code points, each escaped as two \uXXXX, takes 768 bytes. */
const maxItemBytes = 1024
const path = text(/^\/codes[:/][A-Za-z]+$/)
/** The path of a property in the data of an event. */
const inData = text(/^data(\.[A-Za-z_][A-Za-z0-9_]*)+$/, 'a path such as data.amount_minor')
const namesOfEvents = /^data\.(id|tenant_id|cart_id|correlation_id)(\.|$)/

function isWithinAnother(paths: readonly string[]): boolean {
  return paths.some((one, index) =>
    paths.some((other, place) => place !== index && `${one}.`.startsWith(`${other}.`)),
  )
}

/** Discount codes and their verification. */
export const codes = {
  'codes.types': setting(
    'product',
    'Allowed values of type, each with its pricing rule: kind percentage with a value in percent (15 is 15 %, 0.15 is not), or fixed with a value in minor units and its currency; rule_id, which the event promo.applied names; and whether it combines with a gift card (Medusa, Saleor: percentage and fixed)',
    v.record(text(/^[a-z0-9][a-z0-9-]{0,31}$/), pricing),
  ),
  'codes.fields': setting('product', 'Optional response fields of a code', list(v.picklist(['version']))),
  'codes.initialState': setting('product', 'First state of a code', state),
  'codes.transitions': setting(
    'product',
    'Transitions between states that an update by an Admin may make; a delete and a restore are none',
    list(
      v.pipe(
        v.strictObject({ from: state, to: state }),
        v.check(({ from, to }) => from !== to, 'an update that keeps the state needs no transition'),
      ),
    ),
  ),
  'codes.stateAfterRestore': setting(
    'product',
    'State after a restore: the one before the deletion, or the first one (AIP-164)',
    v.picklist(['previous', 'initial']),
  ),
  'codes.adminUpdateOfSoftDeleted': setting(
    'product',
    'Whether an Admin may update a soft-deleted code',
    v.picklist(['allowed', 'refused']),
  ),
  'codes.readOfSoftDeleted': setting(
    'product',
    'Status of reading a soft-deleted code by id (AIP-164)',
    v.picklist([200, 404]),
  ),
  'codes.repeatedDelete': setting(
    'product',
    'Status of deleting a soft-deleted code again (AIP-164)',
    v.picklist([204, 404]),
  ),
  'codes.restoreOfLive': setting(
    'product',
    'Status of restoring a code that is not deleted (AIP-164)',
    v.picklist([200, 409]),
  ),
  'codes.nameInnerSpace': setting('product', 'White space within a name', v.picklist(['allowed', 'refused'])),
  'codes.duplicate': setting(
    'product',
    'Whether the text of a soft-deleted code stays reserved in its tenant; a change applies to codes that are deleted from then on (AIP-164)',
    v.strictObject({ softDeletedKeepsCode: v.boolean() }),
  ),
  'codes.hardDeleteReason': setting(
    'product',
    'Header with the reason of a hard delete, and its maximum length in characters (Discord: X-Audit-Log-Reason)',
    v.strictObject({ header: headerName, maxLength: count }),
  ),
  'codes.missingIfMatch': setting(
    'product',
    'Status of an update without If-Match (RFC 6585: 428)',
    v.picklist([400, 428]),
  ),
  'codes.replayStatus': setting(
    'product',
    'Status of a replayed create: the original one, or 200',
    v.picklist(['original', 200]),
  ),
  'codes.share': setting(
    'product',
    'Status and body of a share (AIP-136)',
    v.pipe(
      v.strictObject({ status: v.picklist([200, 204]), body: v.picklist(['code', 'none']) }),
      v.check(({ status, body }) => status === 200 || body === 'none', 'a 204 has no body: say none, or 200'),
    ),
  ),
  'codes.export': setting(
    'product',
    'Columns and row limit of an export, the size up to which it is returned inline, and the lifetime of its signed link',
    v.strictObject({
      columns: v.pipe(
        some(v.picklist(exportable)),
        // Otherwise an import of the file would activate codes that are not active.
        v.check(
          (columns) => !importColumns.every((field) => columns.includes(field)) || columns.includes('state'),
          'expected state too, as the other columns can be imported',
        ),
      ),
      maxRows: count,
      // Lambda takes a text as JSON, in which a quote or a line break is two bytes.
      inlineMaxBytes: integer(1, 3_000_000),
      linkSeconds,
    }),
  ),
  'codes.import': setting(
    'product',
    'Path and limits of the code import (AIP-136)',
    v.strictObject({ path, maxRows: integer(1, 1000), maxBytes: count }),
  ),
  'codes.bulkUpdate': setting(
    'product',
    'Path and limits of the bulk update (AIP-136, AIP-234)',
    v.pipe(
      v.strictObject({ path, maxItems: integer(1, 1000), maxBytes: integer(1, maxBodyBytes) }),
      v.check(
        ({ maxItems, maxBytes }) => maxItems * maxItemBytes <= maxBytes,
        `maxBytes must hold maxItems of ${maxItemBytes} bytes each`,
      ),
    ),
  ),
  'bulk.layout': setting(
    'product',
    'Body of a 207: the names of its list and its counts, and the number of the first row (Zalando rule 152)',
    v.pipe(
      v.strictObject({ items: identifier, counts: identifier, firstRow: v.picklist([0, 1]) }),
      v.check(({ items, counts }) => items !== counts, 'items and counts must have different names'),
    ),
  ),

  'discount.cart': setting(
    'product',
    'Header that names the cart of a verification',
    v.strictObject({ header: headerName }),
  ),
  'discount.cartFields': setting(
    'product',
    'Paths of amount, currency and owner of a cart in cart.updated; the owner is a subject of discount.cartOwners',
    v.pipe(
      v.strictObject({ amount: inData, currency: inData, owner: inData }),
      v.check(
        (paths) => !Object.values(paths).some((one) => namesOfEvents.test(one)),
        'id, tenant_id, cart_id and correlation_id of data have another meaning',
      ),
      v.check(
        (paths) => !isWithinAnother(Object.values(paths)),
        'two paths are the same, or one is within another',
      ),
    ),
  ),
  'discount.cartOwners': setting(
    'deployment',
    'Issuer whose subjects own carts: one of auth.issuers, user_pool for logins by password, or sessions for logins by one-time code',
    nonEmpty,
  ),
  'discount.mayApply': setting(
    'product',
    'Who may apply a code to a cart: all readers in its tenant (readers); if the cart has an owner, only the owner and editors (owner); or only editors (editors)',
    v.picklist(['readers', 'owner', 'editors']),
  ),
  'discount.combination': setting(
    'tuning',
    'Maximum number of codes on one cart; with 1, codes cannot be combined (Voucherify)',
    v.strictObject({ maxCodes: integer(1, 100) }),
  ),
  'discount.rejection': setting(
    'product',
    'Status for an unknown, expired, archived or soft-deleted code (OWASP, against enumeration)',
    v.strictObject({ status: v.picklist([200, 404]) }),
  ),
  'discount.amount': setting(
    'product',
    'Rounding of an amount to minor units, and whether the sum of all codes on a cart is limited to its amount',
    v.strictObject({
      rounding: v.picklist(['half-even', 'half-up', 'down']),
      cappedAtCart: v.boolean(),
    }),
  ),
}
