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
)

/** Checks only the shape of the items, because one invalid item must not stop the others. */
const Body = perSettings((settings) =>
  v.strictObject({
    items: v.pipe(
      v.array(Item),
      v.minLength(1),
      v.maxLength(settings['codes.bulkUpdate'].maxItems),
      v.description(
        'Each {id, if_match, name?, expiry_at?}: the fields of an update, the id of its code, and the entity tag that the caller has seen.',
      ),
      openPoint('codes.bulkUpdate'),
    ),
  }),
)

export const route = defineRoute({
  operation: 'codes.bulk-update',
  action: 'update',
  method: 'POST',
  path: (settings) => settings['codes.bulkUpdate'].path,
  summary: 'Update many discount codes',
  description:
    'Updates each code on its own, as PATCH /codes/{id} would, and says of each what became of it. Sent again with the same key after a failure, it goes on where it stood.',
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
  uses: ['table.read', 'table.find', 'table.write'],
  impact: 'Discount codes cannot be updated in bulk.',
})
