import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { newInboxItem } from '#shared/webhooks/inbox.ts'
import { storedForm } from '#shared/webhooks/stripe-event.ts'
import { verifyStripe } from '#shared/webhooks/stripe-signature.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  verifySender: verifyStripe,
  decide({ body }, { settings, correlation, now }) {
    const status = route.reply.status(settings)
    return {
      status,
      writes: [newInboxItem(storedForm(body), correlation.id, now(), settings, 'stripe')],
      onConflict: async () => ({ status }),
    }
  },
})

export const handler = httpFunction(endpoint, { secret: readSecret })
