import { CallError, CanceledError, ConnectionError, envelopeOf, TimeoutError } from './errors.ts'
import { isWorthRetrying, nextWait, retryAfter, totalMilliseconds } from './retry.ts'

/** The clock of the client; tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch; monotonic. */
  now(): number
  /** Calls back once after a delay. Returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void
}

export interface Transport {
  fetch: (request: Request) => Promise<Response>
  token: () => string | undefined | Promise<string | undefined>
  attemptMilliseconds: number
  clock: Clock
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random: () => number
}

/** A complete response, or the failure; `retryable` is true if another attempt may succeed. */
type Outcome = { response: Response; retryable: boolean } | { failure: CallError; retryable: true }

export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
}

/**
 * Returns a fetch that retries. Each attempt sends the same key and body, and the returned response is fully read, but for
 * a file to which the service redirects.
 * @throws ConnectionError, TimeoutError when no attempt is left; CanceledError when the request's own signal fires;
 *   CallError when the token function fails
 */
export function retryingFetch(transport: Transport): (request: Request) => Promise<Response> {
  const { clock, random } = transport
  return async (request) => {
    const startedAt = clock.now()
    for (let attempts = 1; ; attempts += 1) {
      const left = totalMilliseconds - (clock.now() - startedAt)
      const outcome = await attempt(request, Math.min(transport.attemptMilliseconds, left), transport)
      const asked = 'response' in outcome ? retryAfter(outcome.response.headers, clock.now()) : undefined
      const progress = { attempts, elapsed: clock.now() - startedAt, retryAfter: asked }
      const wait = outcome.retryable ? nextWait(progress, random()) : undefined
      if (wait !== undefined) await sleep(wait, request, clock)
      else if ('response' in outcome) return outcome.response
      else throw outcome.failure
    }
  }
}

async function attempt(request: Request, milliseconds: number, transport: Transport): Promise<Outcome> {
  const timeout = new AbortController()
  const cancelTimer = transport.clock.after(milliseconds, () => timeout.abort())
  const signal = AbortSignal.any([request.signal, timeout.signal])
  try {
    return await Promise.race([sendOnce(request, signal, transport), rejectionBy(signal)])
  } catch (thrown) {
    if (request.signal.aborted) throw canceled(request)
    const key = keyOf(request)
    if (timeout.signal.aborted)
      return { failure: new TimeoutError('no answer came in time', key, { cause: thrown }), retryable: true }
    const lost = new ConnectionError('the connection gave no answer', key, { cause: thrown })
    if (isReset(thrown)) return { failure: lost, retryable: true }
    throw isNetworkError(thrown) ? lost : new CallError('an attempt failed', key, { cause: thrown })
  } finally {
    cancelTimer()
  }
}

async function sendOnce(request: Request, signal: AbortSignal, transport: Transport): Promise<Outcome> {
  const token = await transport.token()
  const headers = new Headers(request.headers)
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`)
  const { response, isFile } = await send(new Request(request.clone(), { headers, signal }), transport.fetch)
  return isFile && response.ok
    ? { response: asItArrives(response, request), retryable: false }
    : readWhole(response)
}

/**
 * Returns a file whose reader waits for each part: a large one may take longer than all attempts. The signal of the caller ends it.
 * The stream holds the request, without which fetch forgets the caller's signal at the next garbage collection.
 */
function asItArrives(response: Response, request: Request): Response {
  const reader = response.body?.getReader()
  if (!reader) return response
  const { signal } = request
  signal.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true })
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      const part = await reader.read().catch((cause) => {
        if (!signal.aborted) throw new ConnectionError('the connection broke', keyOf(request), { cause })
      })
      if (signal.aborted || !part) throw canceled(request)
      if (part.done) controller.close()
      else controller.enqueue(part.value)
    },
    cancel: (reason: unknown) => reader.cancel(reason),
  }
  const { status, statusText, headers } = response
  // No part is read ahead, so the reader sees at once that the signal fired.
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), { status, statusText, headers })
}

/**
 * Sends a request. A large export redirects to the link of a file at another origin, where fetch leaves out a token, but
 * not an API key, whatever header has it. So the link is then fetched without headers. Browsers hide the address of a
 * redirect, so there fetch follows it.
 */
async function send(request: Request, fetch: Transport['fetch']) {
  const hasOnlyToken = [...request.headers.keys()].every((name) => name === 'authorization')
  if (request.method !== 'GET' || hasOnlyToken) return following(request)
  const response = await fetch(new Request(request, { redirect: 'manual' }))
  if (response.type === 'opaqueredirect') return following(request)
  const address = response.headers.get('Location')
  const isRedirect = response.status >= 300 && response.status < 400
  if (!isRedirect || address === null) return { response, isFile: false }
  await response.body?.cancel()
  const link = new Request(new URL(address, request.url), { signal: request.signal })
  return { response: await fetch(link), isFile: true }

  async function following(one: Request) {
    const response = await fetch(one)
    return { response, isFile: response.redirected }
  }
}

/** Rejects when the signal fires. The token function does not see the signal, and may never end. */
function rejectionBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** Reads the body within the attempt, so that a truncated response counts as a failed one. */
async function readWhole(response: Response): Promise<Outcome> {
  const bytes = await response.arrayBuffer()
  const { status, statusText, headers } = response
  const whole = new Response(bytes.byteLength > 0 ? bytes : null, { status, statusText, headers })
  const envelope = status < 400 ? undefined : envelopeOf(parsed(bytes))
  return { response: whole, retryable: isWorthRetrying(status, envelope?.retryable) }
}

function parsed(bytes: ArrayBuffer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** Error codes of Node for a broken or timed-out connection. A wrong or refusing address is permanent. */
const resets = [
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]

/** Browsers report no error code, so there every network error may be a reset. */
function isReset(thrown: unknown): boolean {
  if (!isNetworkError(thrown)) return false
  const { code } = (thrown.cause ?? {}) as { code?: string }
  return code === undefined || resets.includes(code)
}

/** Compares names, because fetch may belong to another realm. */
function isNetworkError(thrown: unknown): thrown is TypeError {
  return (thrown as Error | undefined)?.name === 'TypeError'
}

function keyOf(request: Request): string | null {
  return request.headers.get('Idempotency-Key')
}

function canceled(request: Request): CanceledError {
  return new CanceledError('the signal of the caller ended the call', keyOf(request), {
    cause: request.signal.reason,
  })
}

function sleep(milliseconds: number, request: Request, clock: Clock): Promise<void> {
  const { signal } = request
  return new Promise((resolve, reject) => {
    const stop = () => {
      cancelTimer()
      reject(canceled(request))
    }
    const cancelTimer = clock.after(milliseconds, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
