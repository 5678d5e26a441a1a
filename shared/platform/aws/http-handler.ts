import type { IncomingHttpHeaders } from 'node:http'
import { lazy } from '../base/cached-load.ts'

/** The time limit of opening a connection, in milliseconds. */
const connectMilliseconds = 1000

/** A signed request of an SDK client. */
interface ServiceRequest {
  protocol: string
  hostname: string
  port?: number
  method: string
  path: string
  headers: Record<string, string>
  body?: string | Uint8Array
  /** The time limit of this request. Defaults to that of the handler. */
  milliseconds?: number
}

interface ServiceResponse {
  statusCode: number
  headers: IncomingHttpHeaders
  body: Uint8Array
}

/**
 * Returns a request handler for SDK clients, for requests without a query and bodies that fit into memory. It costs
 * less than the SDK's own, and a timer limits each request instead of an AbortSignal.
 * @param milliseconds the time limit of a request, from its start to the last byte of its response
 * @param keepAlive whether connections are kept. Lambda drops those that are idle, which fails the next request: a client
 *   that does not retry cannot keep them.
 */
export function httpHandler(milliseconds: number, { keepAlive = true } = {}) {
  const [http, https] = [
    lazy(() => connections('http', keepAlive)),
    lazy(() => connections('https', keepAlive)),
  ]
  return {
    async handle(sent: ServiceRequest, { abortSignal: signal }: { abortSignal?: AbortSignal } = {}) {
      const { protocol, hostname: host, port, method, path, headers, body } = sent
      const { open, agent } = protocol === 'https:' ? https() : http()
      const { promise, resolve, reject } = Promise.withResolvers<ServiceResponse>()
      const request = open({ host, port, method, path, headers, agent, ...(signal && { signal }) })
      const stop = () => request.destroy(timeoutError())
      const timer = setTimeout(stop, sent.milliseconds ?? milliseconds)
      request.on('close', () => clearTimeout(timer)).on('error', reject)
      request.on('socket', (socket) => {
        if (!socket.connecting) return
        const connecting = setTimeout(stop, connectMilliseconds)
        const clear = () => clearTimeout(connecting)
        socket.once('connect', clear)
        request.once('close', clear)
      })
      request.on('response', (message) => {
        const { statusCode = 0, headers } = message
        const chunks: Uint8Array[] = []
        message.on('data', (chunk) => chunks.push(chunk)).on('error', reject)
        message.on('end', () => resolve({ statusCode, headers, body: Buffer.concat(chunks) }))
      })
      request.end(body)
      return { response: await promise }
    },
    destroy() {
      http().agent.destroy()
      https().agent.destroy()
    },
  }
}

/** Opens requests. Only the module of the protocol in use is loaded: that of TLS is large. */
function connections(protocol: 'http' | 'https', keepAlive: boolean) {
  const { Agent, request } = process.getBuiltinModule(`node:${protocol}`)
  return { open: request, agent: new Agent({ keepAlive, maxSockets: 50 }) }
}

/** SDK clients retry errors with this name. */
function timeoutError(): Error {
  return Object.assign(new Error('the service did not respond in time'), { name: 'TimeoutError' })
}
