import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { STSClient } from '@aws-sdk/client-sts'
import { SignatureV4 } from '@smithy/signature-v4'

/** Runs a query of CloudWatch Logs Insights over the last day. @returns its rows @throws Error with AWS's answer */
export type QueryLogs = (query: string, logGroup?: string) => Promise<Record<string, string>[]>

const pollMilliseconds = 1000
const daySeconds = 86_400

/** Returns queries with the credentials and the region of the environment. The project has no client of CloudWatch Logs. */
export function logQueries(): QueryLogs {
  const { config } = new STSClient({})
  return async (queryString, logGroupName) => {
    const now = Math.floor(Date.now() / 1000)
    const time = { startTime: now - daySeconds, endTime: now }
    const { queryId } = await call('StartQuery', {
      queryString,
      ...time,
      ...(logGroupName && { logGroupName }),
    })
    for (;;) {
      const { status, results } = await call('GetQueryResults', { queryId })
      if (status === 'Complete') return results.map(rowOf)
      if (status !== 'Scheduled' && status !== 'Running') throw new Error(`the query is ${status}`)
      await sleep(pollMilliseconds)
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: each operation has another answer
  async function call(operation: string, input: object): Promise<any> {
    const region = await config.region()
    const hostname = `logs.${region}.amazonaws.com`
    const body = JSON.stringify(input)
    const signer = new SignatureV4({
      service: 'logs',
      region,
      credentials: config.credentials,
      sha256: Sha256,
    })
    const { headers } = await signer.sign({
      ...{ method: 'POST', protocol: 'https:', hostname, path: '/', body },
      headers: {
        ...{ host: hostname, 'content-type': 'application/x-amz-json-1.1' },
        'x-amz-target': `Logs_20140328.${operation}`,
      },
    })
    const response = await fetch(`https://${hostname}/`, { method: 'POST', headers, body })
    // biome-ignore lint/suspicious/noExplicitAny: each operation has another answer
    const answer: any = await response.json()
    if (response.ok) return answer
    throw new Error(`${answer.__type}: ${answer.message ?? answer.Message}`)
  }
}

function rowOf(fields: readonly { field: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(fields.map(({ field, value }) => [field, value]))
}

type Bytes = string | ArrayBuffer | ArrayBufferView

function bytesOf(data: Bytes): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data)
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data)
}

/** The hash that signatures need, by Node. */
class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: Bytes) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }

  update(data: Bytes): void {
    this.#hash.update(bytesOf(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}
