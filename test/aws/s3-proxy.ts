import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { startHttpServer } from '#test/support/http-server.ts'

/** The fault of one call. */
type Fault =
  /** S3 responds that it is overloaded. The call has no effect. */
  | 'overloaded'
  /** S3 denies access. The call has no effect. */
  | 'forbidden'
  /** The connection is reset. The call has no effect. */
  | 'cut'
  /** The call has no effect and no response. */
  | 'hang'

interface S3Call {
  readonly operation: string
  /** The length of the body in bytes. */
  readonly bytes: number
  readonly headers: IncomingMessage['headers']
}

export interface S3Proxy {
  readonly endpoint: string
  /** The calls since `reset`, oldest first. */
  readonly calls: readonly S3Call[]
  /** The bytes that S3 accepted since `reset`. */
  readonly taken: () => number
  /** Returns the fault of a call; undefined for none. */
  readonly inject: (faultOf: (call: S3Call) => Fault | undefined) => void
  readonly reset: () => void
  readonly stop: () => Promise<void>
}

/** Starts a proxy for the S3 at `target`, on a free port if none is named. Without faults it forwards everything unchanged. */
export async function startS3Proxy(target: string, port = 0): Promise<S3Proxy> {
  let calls: S3Call[] = []
  let taken = 0
  let faultOf: (call: S3Call) => Fault | undefined = () => undefined

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray())
    const call = { operation: operationOf(incoming), bytes: body.length, headers: incoming.headers }
    calls.push(call)
    const fault = faultOf(call)
    if (fault === 'hang') return
    if (fault === 'cut') incoming.socket.destroy()
    else if (fault) outgoing.writeHead(statusOf[fault]).end()
    else {
      const { method = 'GET', headers, url = '/' } = incoming
      const sent = request(new URL(url, target), { method, headers }).end(body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      if ((answer.statusCode ?? 500) < 300) taken += body.length
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    }
  }

  const { url, stop } = await startHttpServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => incoming.socket.destroy())
  }, port)

  return {
    endpoint: url,
    get calls() {
      return calls
    },
    taken: () => taken,
    inject(given) {
      faultOf = given
    },
    reset() {
      calls = []
      taken = 0
      faultOf = () => undefined
    },
    stop,
  }
}

const statusOf = { overloaded: 503, forbidden: 403 }

/** The name of the operation in the documentation of S3. */
function operationOf({ method, url = '' }: IncomingMessage): string {
  const { searchParams } = new URL(url, 'http://s3')
  if (method === 'POST')
    return searchParams.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload'
  if (method === 'PUT') return searchParams.has('partNumber') ? 'UploadPart' : 'PutObject'
  return method === 'DELETE' ? 'AbortMultipartUpload' : 'GetObject'
}
