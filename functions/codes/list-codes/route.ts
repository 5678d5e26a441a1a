import { Code } from '#shared/codes/code.ts'
import { codeListing } from '#shared/codes/code-listing.ts'
import { listEnvelope } from '#shared/platform/request/list-decision.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { perSettings } from '#shared/settings/per-settings.ts'

/** Larger pages end early. A page of 100 codes with names of 64 characters of any script fits. */
const maxListBytes = 128 * 1024

export const route = defineRoute({
  operation: 'codes.list',
  method: 'GET',
  path: '/codes',
  summary: 'List discount codes',
  description:
    'Returns one page of the codes of a tenant, newest first by default, or sorted by their text. Soft-deleted codes are included only if the request asks for them and the role may see them.',
  auth: 'bearer',
  access: 'list',
  scope: 'codes:read',
  idempotency: 'none',
  replyBytes: () => maxListBytes,
  listing: codeListing,
  reply: {
    status: () => 200,
    schema: perSettings((settings) => listEnvelope('DiscountCodeList', Code.view(settings))),
    etag: true,
  },
  errors: [],
  uses: ['secret.cursors'],
  table: { get: ['code_lock'], getMany: ['code'], query: ['code', 'code_lock'] },
  impact: 'Discount codes cannot be listed or searched.',
})
