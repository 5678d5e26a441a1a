import Stripe from 'stripe'
import { verifyBySecret } from '../platform/identity/signature.ts'
import type { SignedRequest } from '../platform/request/endpoint.ts'

/** The largest age of a signature, as Stripe advises. Each attempt to send an event has its own signature. */
const windowSeconds = 300

/**
 * Verifies that a body comes from Stripe, is unmodified and recent, by the secrets of the webhook endpoint.
 * @throws AUTH.invalid_credentials for any problem with the request; the error of a read
 */
export function verifyStripe({ request, secret, now }: SignedRequest): Promise<void> {
  const { body = new Uint8Array(), headers } = request
  const at = now()
  return verifyBySecret(
    (options) => secret('stripe_webhooks', options),
    // Every secret is tried: the timing must not reveal which one was right.
    (stored) =>
      secretsOf(stored).filter((one) => isSigned(body, headers['stripe-signature'], one, at)).length > 0,
  )
}

/** Returns the secrets in order. They are separated by spaces during a rotation. */
function secretsOf(stored: string): string[] {
  return stored.split(/[\s,]/).filter(Boolean)
}

function isSigned(body: Uint8Array, header: string | undefined, secret: string, now: number): boolean {
  try {
    const { signature } = Stripe.webhooks
    return signature?.verifyHeader(body, header ?? '', secret, windowSeconds, undefined, now) === true
  } catch {
    // Signatures that the library cannot compare, such as an empty one, do not throw its own error.
    return false
  }
}
