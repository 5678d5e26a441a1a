import * as v from 'valibot'
import { CodeChanges } from '#shared/codes/code.ts'
import { BulkView } from '#shared/platform/jobs/bulk-saga.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { describedAs, openPoint, perSettings } from '#shared/settings/per-settings.ts'

/** Any object. Valibot's record drops keys such as `constructor` and `__proto__`, and accepts arrays. */
const AnyObject = Object.assign(
  v.custom<Record<string, unknown>>(
    (item) => typeof item === 'object' && item !== null && !Array.isArray(item),
  ),
  // The error of another type names this one.
  { expects: 'Object' as string },
)

/** An update of one code. The body is accepted if its items are objects: one that is invalid must not stop the others. */
const CodeUpdate = perSettings((settings) => {
  const id = v.pipe(v.string(), v.description('The id of the code.'))
  const if_match = v.pipe(v.string(), v.description('Its entity tag, as the caller has read it.'))
  const { entries } = CodeChanges(settings)
  return v.pipe(v.strictObject({ ...entries, id, if_match }), v.minEntries(3), v.title('DiscountCodeUpdate'))
})

const Body = perSettings((settings) => {
  const items = v.pipe(
    v.array(v.pipe(v.unknown(), describedAs(CodeUpdate(settings)))),
    v.minLength(1),
    v.maxLength(settings['codes.bulkUpdate'].maxItems),
    openPoint('codes.bulkUpdate'),
    // Items are checked after their number: an error for each of 100,000 would exceed what a function may return.
    v.array(AnyObject),
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
    'Updates each code separately, like PATCH /codes/{id}, and returns one result per code, with the entity tag that if_match takes next. The result of a code that cannot be updated has the id that the request names, if it has at most 64 characters. After a failure, a retry with the same Idempotency-Key continues with the remaining codes.',
  auth: 'bearer',
  access: 'transfer',
  scope: 'codes:write',
  idempotency: 'accepted',
  bodyBytes: (settings) => settings['codes.bulkUpdate'].maxBytes,
  body: Body,
  example: () => ({
    items: [{ id: '01a1fd42-cae3-848a-b36e-b4be13e97000', if_match: '"1"', name: 'Summer sale' }],
  }),
  reply: { status: () => 207, schema: BulkView },
  errors: [],
  uses: [],
  table: { get: ['code'], find: ['code'], query: ['batch'], put: ['batch', 'code'] },
  impact: 'Discount codes cannot be updated in bulk.',
})
