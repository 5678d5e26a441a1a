import { setTimeout as sleep } from 'node:timers/promises'
import Stripe from 'stripe'
import { stripeEventOf } from '../stripe-events.ts'
import type { PaidRefund } from './refund-ledger.ts'
import { type Answer, errorAnswer, newStripeId } from './stripe-wire.ts'

interface WebhookEndpoint {
  id: string
  object: 'webhook_endpoint'
  url: string
  secret: string
  enabled_events: string[]
  livemode: false
  status: 'enabled'
}

interface WebhookEndpoints {
  /** Creates an endpoint for the events of connected accounts. */
  create(parameters: Record<string, string>): Answer
  /** Sends an event to the endpoints with its type, until each acknowledges it. */
  send(type: string, refund: PaidRefund): void
  /** Ends all sending. */
  stop(): void
}

const parameterName = /^(url|connect|enabled_events\[\d*\])$/
/** The pauses before the attempts, in milliseconds. Stripe goes on for three days. */
const pauses = [0, 500, 1000, 2000, 4000, 8000, 16_000]

export function webhookEndpoints(): WebhookEndpoints {
  const endpoints: WebhookEndpoint[] = []
  const stopped = new AbortController()

  async function deliver({ url, secret }: WebhookEndpoint, payload: string): Promise<void> {
    for (const pause of pauses) {
      await sleep(pause, undefined, { signal: stopped.signal, ref: false })
      const headers = {
        'Content-Type': 'application/json; charset=utf-8',
        'Stripe-Signature': Stripe.webhooks.generateTestHeaderString({ payload, secret }),
        'User-Agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
      }
      const request = { method: 'POST', headers, body: payload, signal: stopped.signal }
      const answer = await fetch(url, request).catch(() => undefined)
      await answer?.body?.cancel()
      if (answer?.ok) return
    }
  }

  return {
    create(parameters) {
      const unknown = Object.keys(parameters).find((name) => !parameterName.test(name))
      if (unknown || !URL.canParse(parameters.url ?? ''))
        return errorAnswer(400, { param: unknown ?? 'url', message: 'Invalid parameter' })
      const endpoint: WebhookEndpoint = {
        id: newStripeId('we'),
        object: 'webhook_endpoint',
        url: parameters.url ?? '',
        secret: newStripeId('whsec'),
        enabled_events: Object.entries(parameters).flatMap(([name, value]) =>
          name.startsWith('enabled_events') ? [value] : [],
        ),
        livemode: false,
        status: 'enabled',
      }
      endpoints.push(endpoint)
      return { status: 200, body: endpoint }
    },

    send(type, { account, ...object }) {
      const payload = JSON.stringify(stripeEventOf(type, object, { account }), null, 2)
      // It is given up only when the provider stops.
      for (const endpoint of endpoints)
        if (endpoint.enabled_events.includes(type)) deliver(endpoint, payload).catch(() => {})
    },

    stop: () => stopped.abort(),
  }
}
