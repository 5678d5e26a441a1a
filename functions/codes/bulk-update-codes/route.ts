import * as v from 'valibot'
import { BulkView } from '#shared/platform/jobs/bulk-saga.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { openPoint, perSettings } from '#shared/settings/per-settings.ts'

/** Any object. Valibot's record drops keys such as `constructor` and `__proto__`, and accepts arrays. */
const Item = v.pipe(
  v.custom<Record<string, unknown>>(
    (item) => typeof item === 'object' && item !== null && !Array.isArray(item),
  ),
  v.metadata({ type: 'object' }),
  v.title('DiscountCodeUpdate'),
)

/** Checks only the shape of the items, because one invalid item must not stop the others. */
const Body = perSettings((settings) => {
  const items = v.pipe(
    v.array(Item),
    v.minLength(1),
    v.maxLength(settings['codes.bulkUpdate'].maxItems),
    v.description(
      'Each item is {id, if_match, name?, expiry_at?}: the id of a code, its entity tag as the caller has read it, and the changed fields.',
    ),
    openPoint('codes.bulkUpdate'),
  )
  return v.pipe(v.strictObject({ items }), v.title('BulkUpdate'))
})

export const route = defineRoute({
  operation: 'codes.bulk-update',
  action: 'update',
  method: 'POST',
  path: (settings) => settings['codes.bulkUpdate'].path,
  summary: 'Update many discount codes',
  description:
    'Updates each code separately, like PATCH /codes/{id}, and returns one result per code. After a failure, a retry with the same Idempotency-Key continues with the remaining codes.',
  auth: 'bearer',
  access: 'transfer',
  scope: 'codes:write',
  idempotency: 'accepted',
  bodyBytes: (settings) => settings['codes.bulkUpdate'].maxBytes,
  body: Body,
  example: () => ({
    items: [{ id: '01a1fd42-cae3-748a-b36e-b4be13e970b1', if_match: '"1"', name: 'Summer sale' }],
  }),
  reply: { status: () => 207, schema: BulkView },
  errors: [],
  uses: ['table.read', 'table.query', 'table.find', 'table.write'],
  impact: 'Discount codes cannot be updated in bulk.',
})
