import { defineRoute } from '#shared/platform/request/route.ts'
import { Refund } from '#shared/refunds/refund.ts'

export const route = defineRoute({
  operation: 'refunds.read',
  method: 'GET',
  path: '/v1/refunds/{id}',
  summary: 'Read a refund',
  description:
    'Returns one refund with its entity tag, which changes with its status. Poll a pending refund with If-None-Match. A refund of another tenant gets the same response as one that does not exist.',
  auth: 'bearer',
  access: 'read',
  idempotency: 'none',
  reply: { status: () => 200, schema: Refund.view, etag: true },
  errors: ['NOT_FOUND.refund'],
  uses: [],
  table: { get: ['refund'], find: ['refund'] },
  impact: 'No refund can be read by its id.',
})
