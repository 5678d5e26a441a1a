import type { ServiceFile } from '#bin/local/service-file.ts'

/** Long enough to try the service; `npm run -s token` creates more tokens. */
const TOKEN_SECONDS = 8 * 3600

/** Returns a token for trying the service, or the reason if the profile trusts only other issuers. */
export async function tokenToTry(settings: string): Promise<{ token: string } | { reason: string }> {
  // Loaded late: signing keys and their library are not needed to deploy.
  const { issueToken } = await import('#bin/token.ts')
  const who = { tenant: 'acme', role: 'Editor', sub: 'u1', expiresInSeconds: TOKEN_SECONDS }
  return issueToken({ ...who, scope: 'codes:read codes:write' }, settings).then(
    (token) => ({ token }),
    (thrown: Error) => ({ reason: thrown.message }),
  )
}

export interface Welcome {
  service: ServiceFile
  seconds: string
  token: { token: string } | { reason: string }
  paymentProvider: string | undefined
  reference: string | undefined
}

/** Prints addresses, the token and three requests at the end of the start, as one block to paste into a shell. */
export function printWelcome({ service, seconds, token, paymentProvider, reference }: Welcome): void {
  const beside = [
    reference && `API reference, where every operation can be tried: ${reference}`,
    paymentProvider && `Refunds are paid by a double: ${paymentProvider}/refunds lists them.`,
  ].filter(Boolean)
  console.log(`
${beside.join('\n')}
Ready in ${seconds} s; Ctrl-C ends it. To create an order, read it and list, paste into another terminal:

BASE_URL=${service.base_url}
TOKEN=${'token' in token ? token.token : `# none: ${token.reason}`}
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
