import * as v from 'valibot'
import { defineRoute } from '#shared/platform/http/route.ts'
import { perSettings } from '#shared/platform/settings/per-settings.ts'

export const route = defineRoute({
  operation: 'health.read',
  method: 'GET',
  path: '/health',
  summary: 'Tell whether the service is up',
  description: 'Returns 200 when the service is up.',
  auth: 'none',
  idempotency: 'none',
  reply: {
    status: () => 200,
    schema: perSettings((settings) =>
      v.strictObject(
        Object.fromEntries(
          Object.entries(settings['health.body']).map(([key, value]) => [key, v.literal(value)]),
        ),
      ),
    ),
    mediaType: (settings) => settings['health.mediaType'],
  },
  errors: [],
  openPoints: ['health.body', 'health.mediaType'],
  uses: [],
  breaks: 'Load balancers and monitors believe that the service is down.',
})
