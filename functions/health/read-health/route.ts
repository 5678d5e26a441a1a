import * as v from 'valibot'
import { defineRoute } from '#shared/platform/request/route.ts'
import { openPoint, perSettings } from '#shared/settings/per-settings.ts'

export const route = defineRoute({
  operation: 'health.read',
  method: 'GET',
  path: '/health',
  summary: 'Check whether the service is up',
  description:
    'Returns 200 when the service is up, whatever query, Accept or X-Request-Timeout a monitor sends.',
  auth: 'none',
  idempotency: 'none',
  ignoresCallerOptions: true,
  reply: {
    status: () => 200,
    schema: perSettings((settings) => {
      const entries = Object.entries(settings['health.body']).map(([key, value]) => [key, v.literal(value)])
      return v.pipe(v.strictObject(Object.fromEntries(entries)), openPoint('health.body'), v.title('Health'))
    }),
    mediaType: (settings) => settings['health.mediaType'],
  },
  errors: [],
  uses: [],
  impact: 'Load balancers and monitors report the service as down.',
})
