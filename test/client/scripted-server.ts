import { startHttpServer } from '#test/support/http-server.ts'
import type { TestTime } from './test-time.ts'

/** The server's handling of one request. */
export type Step = {
  /** The delay before it, in milliseconds of the test clock. */
  takes?: number
} & (
  | { status: number; headers?: Record<string, string>; body?: unknown }
  /** A file whose second part comes later. The connection breaks if there is none. */
  | { first: string; second: Promise<string> }
  /** The connection is reset before the response or in the middle of its body. */
  | { cut: 'at once' | 'half way' }
  /** No response until the client gives up. */
  | { hangs: true }
)

interface Received {
  method: string
  url: string
  key: string | undefined
  authorization: string | undefined
  api_key: string | undefined
  body: string
}

export interface ScriptedServer {
  base_url: string
  received: Received[]
  /** Clears the received requests and sets one step for each request. The last one repeats. */
  play(steps: Step[], time: TestTime): void
  stop(): Promise<void>
}

/** Starts a scripted server on loopback. */
export async function scriptedServer(): Promise<ScriptedServer> {
  const received: Received[] = []
  let script: Step[] = []
  let time: TestTime
  const { url: base_url, stop } = await startHttpServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    const key = headers['idempotency-key'] as string | undefined
    const api_key = headers['x-api-key'] as string | undefined
    received.push({ method, url, key, authorization: headers.authorization, api_key, body })
    const step = script[Math.min(received.length, script.length) - 1]
    if (!step) throw new Error('the script has no step')
    time.pass(step.takes ?? 0)
    if ('hangs' in step) return time.expire()
    if ('first' in step) {
      response.writeHead(200, { 'Content-Type': 'text/csv' }).write(step.first)
      const end = (rest: string) => response.end(rest)
      return void step.second.then(end, () => request.socket.destroy())
    }
    if ('status' in step) {
      const text = step.body === undefined ? undefined : JSON.stringify(step.body)
      response.writeHead(step.status, { 'Content-Type': 'application/json', ...step.headers }).end(text)
      return
    }
    if (step.cut === 'half way') {
      response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': '100' })
      await new Promise((written) => response.write('{"id":', written))
    }
    request.socket.destroy()
  })
  return {
    base_url,
    received,
    play(steps, at) {
      received.length = 0
      script = steps
      time = at
    },
    stop,
  }
}
