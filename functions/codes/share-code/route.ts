import * as v from 'valibot'
import { Code } from '#shared/codes/code.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { openPoint, perSettings } from '#shared/settings/per-settings.ts'
import { tenantNamePattern } from '#shared/settings/tenant-name.ts'

const Share = perSettings((settings) => {
  const grantee_tenant = v.pipe(
    v.string(),
    v.regex(tenantNamePattern(settings)),
    openPoint('requests.tenantName'),
  )
  return v.pipe(v.strictObject({ grantee_tenant }), v.title('Share'))
})

export const route = defineRoute({
  operation: 'codes.share',
  action: 'share',
  method: 'POST',
  path: '/codes/{id}:share',
  summary: 'Share a discount code',
  description:
    'Writes an audit record of a share. An Editor may share within the tenant, an Admin with any tenant. Sharing grants no permissions.',
  auth: 'bearer',
  access: 'share',
  scope: 'codes:write',
  idempotency: 'accepted',
  ifMatch: 'accepted',
  body: Share,
  auditedFields: ['grantee_tenant'],
  example: () => ({ grantee_tenant: 'acme' }),
  reply: {
    status: (settings) => settings['codes.share'].status,
    schema: perSettings((settings) =>
      settings['codes.share'].body === 'code' ? Code.view(settings) : v.undefined(),
    ),
  },
  errors: [
    { code: 'AUTHZ.scope.tenant', status: 403 },
    'NOT_FOUND.code',
    'CONFLICT.etag.mismatch',
    'CONFLICT.soft_deleted',
  ],
  uses: [],
  table: { get: ['code'], find: ['code'] },
  impact: 'No discount code can be shared.',
})
