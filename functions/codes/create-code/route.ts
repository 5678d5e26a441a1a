import { Code } from '#shared/codes/code.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'codes.create',
  method: 'POST',
  path: '/codes',
  summary: 'Create a discount code',
  description:
    'Creates a code in the caller’s tenant. The code is trimmed and stored in upper case, and is unique in its tenant; the name is trimmed and NFC-normalized, and its length counts Unicode code points.',
  auth: 'bearer',
  access: 'create',
  scope: 'codes:write',
  idempotency: 'required',
  body: Code.request,
  example: (settings) => ({
    code: 'SUMMER-10',
    type: Object.keys(settings['codes.types'])[0],
    name: 'Summer sale',
    expiry_at: '2099-01-01T00:00:00Z',
  }),
  reply: {
    status: () => 201,
    replayStatus: (settings) => {
      const status = settings['codes.replayStatus']
      return status === 'original' ? undefined : status
    },
    schema: Code.view,
    etag: true,
    location: true,
  },
  errors: [
    'VALIDATION.code.length.exceeds',
    'VALIDATION.code.charset',
    'VALIDATION.name.length.exceeds',
    'VALIDATION.name.charset',
    'VALIDATION.datetime.timezone_required',
    'VALIDATION.date.range',
    'CONFLICT.code.exists',
  ],
  uses: [],
  table: { get: ['code'], put: ['code', 'code_lock'] },
  impact: 'No discount code can be created.',
})
