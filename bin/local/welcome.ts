import type { ServiceFile } from '#bin/local/service-file.ts'

/** Long enough to try things out with; `npm run -s token` makes others. */
const TOKEN_SECONDS = 8 * 3600

/** Ends the start: base URL, token and three requests, printed as one block that can be pasted into a shell. */
export async function printWelcome(
  service: ServiceFile,
  seconds: string,
  settings: string,
  paymentProvider: string | undefined,
): Promise<void> {
  // Loaded only now: signing keys and their library are not needed to deploy.
  const { issueToken } = await import('#bin/token.ts')
  const who = { tenant: 'acme', role: 'Editor', sub: 'u1', expiresInSeconds: TOKEN_SECONDS }
  // A profile may trust other issuers alone: the service runs all the same.
  const token = await issueToken(who, settings).catch((thrown: Error) => `# none: ${thrown.message}`)
  const refunds = paymentProvider
    ? `Refunds are paid by a double: ${paymentProvider}/refunds lists them.\n`
    : ''
  console.log(`
${refunds}Ready in ${seconds} s; Ctrl-C ends it. To create an order, read it and list, paste into another terminal:

BASE_URL=${service.base_url}
TOKEN=${token}
${REQUESTS.join('\n')}
`)
}

const AUTHORISATION = '-H "Authorization: Bearer $TOKEN"'
const ORDER = '{"cart_id":"cart-1","amount_minor":1999,"currency":"EUR"}'
const CREATED = '/tmp/order.json'

const REQUESTS = [
  `curl -s "$BASE_URL/v1/orders" ${AUTHORISATION} -H "Content-Type: application/json" -H "Idempotency-Key: first-order" -d '${ORDER}' | tee ${CREATED}`,
  `curl -s "$BASE_URL/v1/orders/$(sed -E 's/.*"id":"([^"]+)".*/\\1/' ${CREATED})" ${AUTHORISATION}`,
  `curl -s "$BASE_URL/v1/orders?page_size=10" ${AUTHORISATION}`,
]
