import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import type { LocalAws } from '#bin/local/environment.ts'

export interface AwsRequest {
  /** The service in the scope of the signature, such as `lambda`. */
  service: string
  method: string
  path?: string
  headers?: Record<string, string>
  body?: string
}

/** Returns the headers of a signed request to the local AWS. */
export async function signedHeaders(
  { endpoint, region, credentials }: LocalAws,
  request: AwsRequest,
  signingDate = new Date(),
): Promise<Record<string, string>> {
  const { service, method, path = '/', headers = {}, body = '' } = request
  const { hostname, port, host } = new URL(endpoint)
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256 })
  const message = { protocol: 'http:', hostname, port: Number(port), method, path, body }
  const signed = await signer.sign({ ...message, headers: { ...headers, host } }, { signingDate })
  return signed.headers
}

type Data = string | ArrayBuffer | ArrayBufferView

class Sha256 {
  readonly #hash
  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }
  update(data: Data): void {
    this.#hash.update(bytesOf(data))
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
  reset(): void {}
}

function bytesOf(data: Data): Buffer {
  if (typeof data === 'string') return Buffer.from(data)
  return data instanceof ArrayBuffer
    ? Buffer.from(data)
    : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
}
