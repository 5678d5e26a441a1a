import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHttpServer } from '../http-server.ts'
import type { PaidRefund } from './refund-ledger.ts'
import { stripeApi } from './stripe-api.ts'
import {
  type Answer,
  type Call,
  callOf,
  errorAnswer,
  headersOf,
  readCall,
  sendAnswer,
} from './stripe-wire.ts'

/** The fault of a request. */
export type Fault =
  | {
      /** Before the request is executed, which then never happens, or after it. */
      when: 'before' | 'after'
      /** No response until the caller gives up; a reset connection; or this response. */
      how: 'lose' | 'reset' | Answer
    }
  /** A refund reserves its key and is executed once this resolves. */
  | { until: Promise<unknown> }

export interface FakePaymentProvider {
  /** Without a trailing slash. */
  readonly endpoint: string
  /** All received requests, oldest first. */
  readonly calls: readonly Call[]
  /** The refunds that were actually paid, oldest first. */
  refunds(): PaidRefund[]
  /** Called for each request; may be replaced at any time. */
  faults: (call: Call) => Fault | undefined
  /** Called when a request gets no response until its caller gives up; may be replaced at any time. */
  whileSilent: () => void
  /** Expires all idempotency keys, as Stripe does after a day. */
  forgetKeys(): void
  /** Sends a request without a connection. Its caller gives up at once if there is no response. */
  fetch(url: string | URL | Request, init?: RequestInit): Promise<Response>
  stop(): Promise<void>
}

const maxWaitMilliseconds = 30_000
const workMilliseconds = 5

/**
 * Fakes Stripe's API for refunds and charges on loopback, with all state in memory. Every charge ch_… exists in every
 * account acct_…, with 1000 euros captured. Names have effects: ch_slow_… delays the first response for a key until it
 * is too late, ch_declined_… is rejected, ch_down_… fails twice for a key, refunds of ch_pending_… stay pending
 * until POST /charges/ID/pay, and a bank returns those of ch_returned_….
 * Events go to the webhook endpoints that were created.
 * @param options.port a free one if absent
 */
export async function startPaymentProvider({ port = 0 } = {}): Promise<FakePaymentProvider> {
  const api = stripeApi()
  const calls: Call[] = []
  let received = 0
  const { url: endpoint, stop: close } = await startHttpServer((request, response) => {
    // Another name of this address, or a web page that calls.
    if (
      request.headers.host !== `127.0.0.1:${request.socket.localPort}` ||
      request.headers.origin !== undefined
    )
      return void response.writeHead(403).end()
    received += 1
    serve(request, response, received).catch((thrown) => {
      // A fault that throws is a mistake in a test, so its caller gets a response that nobody retries.
      response.writeHead(400, { 'Content-Type': 'application/json' }).end(bodyOf(thrown))
    })
  }, port)

  async function serve(request: IncomingMessage, response: ServerResponse, number: number): Promise<void> {
    const call = await readCall(request, number)
    if (!call) return void request.destroy()
    const outcome = await outcomeOf(call, () => sleep(workMilliseconds))
    if (outcome === 'reset') {
      response.socket?.resetAndDestroy()
    } else if (outcome === 'lose') {
      await callerIsGone(response)
      response.destroy()
    } else {
      if (outcome.late) await callerIsGone(response)
      sendAnswer(response, call, outcome)
    }
  }

  /** @param work makes duplicates overlap: the second request with a key arrives while the first is in progress */
  async function outcomeOf(call: Call, work: () => Promise<unknown>): Promise<'lose' | 'reset' | Answer> {
    calls.push(call)
    const fault = fake.faults(call)
    const loss = fault !== undefined && 'how' in fault ? fault : undefined
    if (loss?.when === 'before') return loss.how
    const until = fault !== undefined && 'until' in fault ? fault.until : undefined
    const answer = await api.answerTo(call, () => until ?? work())
    return loss ? loss.how : answer
  }

  async function callerIsGone(response: ServerResponse): Promise<void> {
    if (response.destroyed) return
    const signal = AbortSignal.timeout(maxWaitMilliseconds)
    const gone = once(response, 'close', { signal }).catch(() => {})
    fake.whileSilent()
    await gone
  }

  const fake: FakePaymentProvider = {
    endpoint,
    calls,
    refunds: api.paid,
    forgetKeys: api.forgetKeys,
    faults: () => undefined,
    whileSilent: () => {},
    async fetch(input, { method = 'GET', headers = {}, body = '' } = {}) {
      received += 1
      const sent = { method, url: String(input), headers: Object.fromEntries(new Headers(headers)) }
      const call = callOf(sent, String(body), received)
      const outcome = await outcomeOf(call, () => new Promise(setImmediate))
      if (outcome === 'reset') throw new TypeError('fetch failed')
      if (outcome === 'lose' || outcome.late) throw new DOMException('Nobody responds.', 'AbortError')
      const { status } = outcome
      return new Response(JSON.stringify(outcome.body), { status, headers: headersOf(call, outcome) })
    },
    stop() {
      api.stop()
      return close()
    },
  }
  return fake
}

function bodyOf(thrown: unknown): string {
  return JSON.stringify(errorAnswer(400, { message: `The fake failed: ${thrown}` }).body)
}
