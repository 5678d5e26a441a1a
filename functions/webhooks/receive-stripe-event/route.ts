import * as v from 'valibot'
import { defineRoute } from '#shared/platform/request/route.ts'
import { stripeEvent } from '#shared/webhooks/stripe-event.ts'

export const route = defineRoute({
  operation: 'webhooks.receive-stripe',
  method: 'POST',
  path: '/v1/webhooks/stripe',
  summary: 'Receive an event of Stripe',
  description:
    'Receives an event of Stripe about a refund in a connected account. The signature covers the exact bytes of the body. The event is stored before the response and handled afterwards. A repeated event gets the same response and changes nothing. Events of other types, of other accounts or of another mode have no effect. This operation is an addition to the contract.',
  auth: 'signature',
  signer: 'stripe',
  idempotency: 'none',
  bodyBytes: (settings) => settings['webhooks.maxBytes'],
  body: stripeEvent,
  example: () => ({
    id: 'evt_1',
    object: 'event',
    type: 'refund.updated',
    created: 1_767_225_600,
    livemode: false,
    account: 'acct_acme',
    data: {
      object: {
        id: 're_1',
        object: 'refund',
        charge: 'ch_1',
        amount: 500,
        currency: 'eur',
        status: 'succeeded',
        metadata: {
          refund_id: '01a1fd42-cae3-848a-b36e-b4be13e97000',
          tenant_id: 'acme',
          request: 'ZrAd5bLyJWb6WyJkhAXr3oOJvvCS9VyLqQHnVqzBXkM',
        },
      },
    },
  }),
  reply: { status: (settings) => settings['webhooks.status'], schema: () => v.undefined() },
  errors: [],
  uses: ['secret.stripe_webhooks'],
  table: { put: ['inbox'] },
  impact: 'Outcomes of refunds that Stripe reports arrive late; Stripe repeats its events for three days.',
})
