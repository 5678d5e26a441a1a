import { failField } from '#shared/platform/errors/failure.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { readSecret } from '#shared/platform/secrets/secret.ts'
import { received } from '#shared/webhooks/inbox.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ body, headers }, { settings, committer, now }) {
    const { idHeader } = settings['webhooks.scheme']
    if (headers[idHeader.toLowerCase()] !== body.event_id) {
      throw failField('VALIDATION.field.format', 'event_id', { reason: 'other_than_signed' })
    }
    const status = route.reply.status(settings)
    const { correlation } = committer
    return {
      status,
      writes: [received(body, body.correlation_id ?? correlation.id, now(), settings['webhooks.inboxDays'])],
      refused: async () => ({ status }),
    }
  },
})

export const handler = lambda(endpoint, { secret: readSecret })
