import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

interface Issuer {
  /** The public keys, for the functions' settings. */
  keys: { keys: JWK[] }
  /** Returns a token of a subject. */
  sign(sub: string): Promise<string>
}

/** Creates an issuer for the benchmark. */
export async function benchIssuer(
  claims: Record<string, unknown>,
  issuer: string,
  audience: string,
): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const header = { alg: 'ES256', kid: 'bench' }
  const signed = { ...header, typ: 'at+jwt' }
  const sign = (sub: string) =>
    new SignJWT({ ...claims, sub })
      .setProtectedHeader(signed)
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
  return { keys: { keys: [{ ...(await exportJWK(publicKey)), ...header }] }, sign }
}

/** Returns the event of API Gateway for POST /orders with a new idempotency key. */
export function orderEvent(token: string): object {
  const headers = {
    Accept: 'application/json',
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    Host: 'bench.execute-api.us-east-1.amazonaws.com',
    'Idempotency-Key': crypto.randomUUID(),
    'X-Forwarded-For': '192.0.2.1',
  }
  return {
    resource: '/orders',
    path: '/orders',
    httpMethod: 'POST',
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
    stageVariables: null,
    requestContext: {
      requestId: crypto.randomUUID(),
      stage: 'bench',
      httpMethod: 'POST',
      path: '/bench/orders',
      resourcePath: '/orders',
      requestTimeEpoch: Date.now(),
      identity: { sourceIp: '192.0.2.1', userAgent: 'bench' },
    },
    body: JSON.stringify({ cart_id: 'cart-1', amount_minor: 1999, currency: 'EUR' }),
    isBase64Encoded: false,
  }
}

/** Returns the event of API Gateway for GET /orders/{id}. */
export function readEvent(token: string, id: string) {
  return { ...orderEvent(token), httpMethod: 'GET', pathParameters: { id }, body: null }
}
