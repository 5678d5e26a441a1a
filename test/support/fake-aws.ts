import type { IncomingMessage } from 'node:http'
import { startHttpServer } from './http-server.ts'

/**
 * The responses of operations by their input. An operation that throws is answered with what it threw, or, for an Error,
 * with a fault that no SDK retries.
 */
type Operations = Record<string, (input: Record<string, unknown>) => unknown>

/** Returns the configuration of clients of a fake. */
export function accessOf(endpoint: string) {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  return { endpoint, region: 'us-east-1', credentials }
}

export interface FakeAws {
  /** The value of AWS_ENDPOINT_URL and its service-specific variants. */
  readonly endpoint: string
  /** The configuration of clients of the fake. */
  readonly access: ReturnType<typeof accessOf>
  stop(): Promise<void>
}

/**
 * Fakes AWS services that speak JSON, on loopback. Each operation is a function, named as in the header X-Amz-Target:
 * `AWSEvents.PutEvents`.
 */
export async function startFakeAws(operations: Operations): Promise<FakeAws> {
  async function answer(request: IncomingMessage): Promise<unknown> {
    const operation = operations[String(request.headers['x-amz-target'])]
    if (!operation) throw new Error(`nothing answers ${request.headers['x-amz-target']}`)
    return operation(JSON.parse(Buffer.concat(await request.toArray()).toString()))
  }
  const { url: endpoint, stop } = await startHttpServer((request, response) => {
    const send = (status: number, body: unknown) => {
      response.statusCode = status
      response.setHeader('content-type', 'application/x-amz-json-1.1')
      response.end(JSON.stringify(body))
    }
    answer(request).then(
      (body) => send(200, body),
      (thrown) =>
        send(
          400,
          thrown instanceof Error ? { __type: 'ValidationException', message: String(thrown) } : thrown,
        ),
    )
  })
  return { endpoint, access: accessOf(endpoint), stop }
}
