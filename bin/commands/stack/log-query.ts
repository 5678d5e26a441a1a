import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { STSClient } from '@aws-sdk/client-sts'
import { SignatureV4 } from '@smithy/signature-v4'
import type { DeployedStack } from './deployment.ts'

/** A row of a query, by the names of its fields. */
export type LogRow = Record<string, string>

/** CloudWatch Logs Insights. The project has no client of CloudWatch Logs. */
export interface Logs {
  /**
   * Runs a query.
   * @param options the times are in milliseconds since 1970; a query may name its log groups itself
   * @throws Error with AWS's answer
   */
  query(query: string, options: { from: number; to: number; groups?: readonly string[] }): Promise<LogRow[]>
}

const pollMilliseconds = 1000

/** @param access that of a deployment; the credentials and the region of the environment by default */
export function logsAt(access: DeployedStack['access'] = {}): Logs {
  const { config } = new STSClient(access)
  return {
    async query(queryString, { from, to, groups: logGroupNames }) {
      const time = { startTime: Math.floor(from / 1000), endTime: Math.ceil(to / 1000) }
      const started = { queryString, ...time, ...(logGroupNames && { logGroupNames }) }
      const { queryId } = await call('StartQuery', started)
      for (;;) {
        const { status, results } = await call('GetQueryResults', { queryId })
        if (status === 'Complete') return results.map(rowOf)
        if (status !== 'Scheduled' && status !== 'Running') throw new Error(`the query is ${status}`)
        await sleep(pollMilliseconds)
      }
    },
  }

  // biome-ignore lint/suspicious/noExplicitAny: each operation has another answer
  async function call(operation: string, input: object): Promise<any> {
    const region = await config.region()
    const { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: ofLogs, AWS_ENDPOINT_URL: ofAll } = process.env
    const url = new URL(access.endpoint ?? ofLogs ?? ofAll ?? `https://logs.${region}.amazonaws.com`)
    const { protocol, hostname, host } = url
    const body = JSON.stringify(input)
    const signer = new SignatureV4({
      service: 'logs',
      region,
      credentials: config.credentials,
      sha256: Sha256,
    })
    const { headers } = await signer.sign({
      ...{ method: 'POST', protocol, hostname, path: '/', body },
      headers: {
        ...{ host, 'content-type': 'application/x-amz-json-1.1' },
        'x-amz-target': `Logs_20140328.${operation}`,
      },
    })
    const response = await fetch(url, { method: 'POST', headers, body })
    // biome-ignore lint/suspicious/noExplicitAny: each operation has another answer
    const answer: any = await response.json()
    if (response.ok) return answer
    throw new Error(`${answer.__type}: ${answer.message ?? answer.Message}`)
  }
}

function rowOf(fields: readonly { field: string; value: string }[]): LogRow {
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
