import * as v from 'valibot'
import { setting } from '../setting.ts'

const count = v.pipe(v.number(), v.integer(), v.minValue(1))
const state = v.picklist(['draft', 'active', 'archived'])
const pricing = v.variant('kind', [
  v.strictObject({
    kind: v.literal('percentage'),
    rule_id: v.string(),
    value: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
    combinable_with_gift_card: v.boolean(),
  }),
  v.strictObject({
    kind: v.literal('fixed'),
    rule_id: v.string(),
    value: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
    currency: v.pipe(v.string(), v.regex(/^[A-Z]{3}$/)),
    combinable_with_gift_card: v.boolean(),
  }),
])
/** The columns that an export may contain: no personal data. */
const exportable = [
  'id',
  'tenant_id',
  'code',
  'type',
  'name',
  'expiry_at',
  'state',
  'soft_deleted',
  'created_at',
  'updated_at',
] as const
const importable = ['code', 'type', 'name', 'expiry_at'] as const
const fieldName = v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]*$/))
/** Lambda accepts and returns at most 6 MB; base64 makes a body a third larger. */
const largestBodyBytes = 4 * 1024 * 1024
/** The size limit of a bulk update item: a name of 64 code points, each escaped as two \uXXXX, takes 768 bytes. */
const largestItemBytes = 1024
const path = v.pipe(v.string(), v.regex(/^\/codes[:/][A-Za-z]+$/))

export const codes = {
  'codes.types': setting({
    open: 'the allowed values of type, each with its pricing rule',
    contract: 'Discount code',
    feature: 'codes',
    precedent: 'Medusa, Saleor: percentage and fixed',
    schema: v.record(v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,31}$/)), pricing),
  }),
  'codes.fields': setting({
    open: 'response fields of a code beyond those listed',
    contract: 'Discount code',
    feature: 'codes',
    schema: v.array(v.picklist(['version'])),
  }),
  'codes.initialState': setting({
    open: 'the first state of a code',
    contract: 'States and transitions, Discount code',
    feature: 'codes',
    schema: state,
  }),
  'codes.transitions': setting({
    open: 'the transitions among draft, active and archived that an Admin’s update may make',
    contract: 'States and transitions, Discount code',
    feature: 'codes',
    schema: v.array(v.strictObject({ from: state, to: state, trigger: v.literal('update') })),
  }),
  'codes.stateAfterRestore': setting({
    open: 'the state after a restore: the one before the delete, or the first one',
    contract: 'States and transitions, Discount code',
    feature: 'codes',
    precedent: 'AIP-164',
    schema: v.picklist(['previous', 'initial']),
  }),
  'codes.adminUpdateOfSoftDeleted': setting({
    open: 'whether an Admin may update a soft-deleted code',
    contract: 'States and transitions, Discount code',
    feature: 'codes',
    schema: v.picklist(['allowed', 'refused']),
  }),
  'codes.readOfSoftDeleted': setting({
    open: 'reading a soft-deleted code by id: 200 to whoever may read it, or 404',
    contract: 'GET /codes/{id}',
    feature: 'codes',
    precedent: 'AIP-164',
    schema: v.picklist([200, 404]),
  }),
  'codes.repeatedDelete': setting({
    open: 'deleting a soft-deleted code again',
    contract: 'DELETE /codes/{id}',
    feature: 'codes',
    precedent: 'AIP-164',
    schema: v.picklist([204, 404]),
  }),
  'codes.restoreOfLive': setting({
    open: 'restoring a code that is not deleted',
    contract: 'POST /codes/{id}:restore',
    feature: 'codes',
    precedent: 'AIP-164',
    schema: v.picklist([200, 409]),
  }),
  'codes.nameInnerSpace': setting({
    open: 'inner white space in a name',
    contract: 'Discount code',
    feature: 'codes',
    schema: v.picklist(['allowed', 'refused']),
  }),
  'codes.duplicate': setting({
    open: 'whether a soft-deleted code keeps its code in the tenant',
    contract: 'Discount code',
    feature: 'codes',
    precedent: 'AIP-164',
    schema: v.strictObject({ softDeletedKeepsCode: v.boolean() }),
  }),
  'codes.hardDeleteReason': setting({
    open: 'the header that carries the reason of a hard delete, and its longest value in characters',
    contract: 'DELETE /codes/{id}',
    feature: 'codes',
    precedent: 'Discord: X-Audit-Log-Reason',
    schema: v.strictObject({ header: v.pipe(v.string(), v.minLength(1)), maxLength: count }),
  }),
  'codes.missingIfMatch': setting({
    open: 'the status of an update without If-Match',
    contract: 'PATCH /codes/{id}',
    feature: 'codes',
    precedent: 'RFC 6585: 428',
    schema: v.picklist([400, 428]),
  }),
  'codes.replayStatus': setting({
    open: 'the status of a replayed create: the original, or 200',
    contract: 'POST /codes',
    feature: 'codes',
    schema: v.picklist(['original', 200]),
  }),
  'codes.share': setting({
    open: 'the status and body of a share',
    contract: 'POST /codes/{id}:share',
    feature: 'codes',
    precedent: 'AIP-136',
    schema: v.strictObject({ status: v.picklist([200, 204]), body: v.picklist(['code', 'none']) }),
  }),
  'codes.export': setting({
    open: 'columns, row limit, inline limit and life of the signed link of an export',
    contract: 'GET /codes:export',
    feature: 'codes',
    precedent: 'RFC 4180, OWASP CSV injection',
    schema: v.strictObject({
      columns: v.pipe(v.array(v.picklist(exportable)), v.minLength(1)),
      maxRows: count,
      inlineMaxBytes: count,
      linkSeconds: count,
    }),
  }),
  'codes.import': setting({
    open: 'path, columns and limits of the code import',
    contract: 'Code CSV import and bulk update',
    feature: 'codes',
    precedent: 'AIP-136',
    schema: v.strictObject({
      path,
      columns: v.pipe(
        v.array(v.picklist(importable)),
        v.check(
          (columns) => importable.every((field) => columns.includes(field)),
          `every field that is set at create: ${importable.join(', ')}`,
        ),
      ),
      maxRows: v.pipe(count, v.maxValue(1000)),
      maxBytes: count,
    }),
  }),
  'codes.bulkUpdate': setting({
    open: 'path and limits of the bulk update',
    contract: 'Code CSV import and bulk update',
    feature: 'codes',
    precedent: 'AIP-136, AIP-234',
    schema: v.pipe(
      v.strictObject({
        path,
        maxItems: v.pipe(count, v.maxValue(1000)),
        maxBytes: v.pipe(count, v.maxValue(largestBodyBytes)),
      }),
      v.check(
        ({ maxItems, maxBytes }) => maxItems * largestItemBytes <= maxBytes,
        `maxBytes must hold maxItems of ${largestItemBytes} bytes each`,
      ),
    ),
  }),
  'codes.list': setting({
    open: 'the largest answer of a list of codes, in bytes: a page ends early where it would be larger',
    contract: 'Limits',
    feature: 'codes',
    schema: v.strictObject({ maxBytes: v.pipe(count, v.minValue(8192), v.maxValue(largestBodyBytes)) }),
  }),
  'bulk.layout': setting({
    open: 'the body of a 207: its list, its counts, and what row counts from',
    contract: 'Errors, Other status rules',
    feature: 'codes',
    precedent: 'Zalando rule 152',
    schema: v.pipe(
      v.strictObject({ items: fieldName, counts: fieldName, firstRow: v.picklist([0, 1]) }),
      v.check(({ items, counts }) => items !== counts, 'items and counts must have names of their own'),
    ),
  }),
}
